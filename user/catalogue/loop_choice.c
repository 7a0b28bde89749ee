/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choice of loops by names of waits and of the catalogue's rows. */
#include "catalogue/catalogue.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "files/proc.h"

#define X_KEY(nr, NAME, key) [nr] = key,
static const char *const wait_keys[] = { JANK_LOOPS(X_KEY) };
#undef X_KEY
#define WAIT_CNT (sizeof(wait_keys) / sizeof(*wait_keys))

static uint32_t wait_named(const char *name)
{
	for (size_t i = 0; i < WAIT_CNT; i++)
		if (wait_keys[i] && !strcmp(wait_keys[i], name))
			return 1u << i;
	return 0;
}

static void add_name(struct strbuf *names, const char *name)
{
	size_t len = strlen(name);

	/* Several rows may share a name. */
	for (const char *at = strbuf__str(names); (at = strstr(at, name)); at += len)
		if ((at == names->data || at[-1] == ' ') && (!at[len] || at[len] == ','))
			return;
	strbuf__addf(names, "%s%s", names->len ? ", " : "", name);
}

static void offer(struct strbuf *names, struct nearest *near, const char *name)
{
	add_name(names, name);
	nearest__offer(near, name, strlen(name));
}

static int refuse(const struct catalogue *cat, const char *name, struct err *err)
{
	struct strbuf names = STRBUF_INIT, shown = STRBUF_INIT, meant = STRBUF_INIT;
	struct nearest near;

	text__add_clean(&shown, name);
	nearest__init(&near, name, strlen(name));
	for (size_t i = 0; i < WAIT_CNT; i++)
		if (wait_keys[i])
			offer(&names, &near, wait_keys[i]);
	for (size_t i = 0; i < catalogue__row_cnt(cat); i++)
		offer(&names, &near, catalogue__row(cat, i)->name);
	/* Before the list: the message's end may be cut. */
	if (near.best)
		strbuf__addf(&meant, "did you mean '%s'? There", near.best);
	err__set_exit(err, JANK_EXIT_USAGE, EINVAL, "--loop '%.40s': %s are %s",
		      strbuf__str(&shown), near.best ? strbuf__str(&meant) : "there",
		      strbuf__str(&names));
	strbuf__free(&meant);
	strbuf__free(&names);
	strbuf__free(&shown);
	return -EINVAL;
}

static bool add_rows(struct loop_choice *choice, const struct catalogue *cat, const char *name)
{
	const struct catalogue_row *row;
	size_t at = 0, before = choice->row_cnt;

	while (choice->row_cnt < CATALOGUE_ROW_MAX && (row = catalogue__named(cat, name, &at)))
		choice->rows[choice->row_cnt++] = row;
	return choice->row_cnt > before;
}

int loop_choice__init(struct loop_choice *ret, const struct catalogue *cat, char *const *names,
		      size_t cnt, struct err *err)
{
	*ret = (struct loop_choice){ .any = !cnt };
	for (size_t i = 0; i < cnt; i++) {
		uint32_t wait = wait_named(names[i]);

		ret->waits |= wait;
		if (!add_rows(ret, cat, names[i]) && !wait)
			return refuse(cat, names[i], err);
	}
	return 0;
}

uint32_t loop_choice__waits(const struct loop_choice *choice)
{
	uint32_t ret = choice->waits;

	for (size_t i = 0; i < choice->row_cnt; i++)
		ret |= choice->rows[i]->waits;
	return ret;
}

bool loop_choice__takes(const struct loop_choice *choice, const struct catalogue_row *row,
			uint32_t loop)
{
	if (choice->any)
		return !row || !row->is_off;
	for (size_t i = 0; i < choice->row_cnt; i++)
		if (choice->rows[i] == row)
			return true;
	return loop < 32 && choice->waits & 1u << loop;
}

/* --- pollers: a process's mappings are read once, when it polls for the first time */

#define ROWS_MAX 16

static int polls(void *ctx, const struct proc_maps_line *line)
{
	const struct catalogue *cat = ctx;
	const struct catalogue_file file = { .path = line->path };
	const struct catalogue_row *rows[ROWS_MAX];
	size_t cnt = catalogue__rows_of_file(cat, &file, rows, ROWS_MAX);

	for (size_t i = 0; i < cnt; i++)
		if (rows[i]->waits & 1u << JANK_LOOP_POLL)
			return 1;
	return 0;
}

bool pollers__is_one(const struct catalogue *cat, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	return maps_lines__each(path, polls, (void *)cat) == 1;
}
