/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refusals of a command line: what is wrong with it, what was probably meant, where to read on. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "options/command_table.h"
#include "options/options_parse.h"

/* Adds where to read on: after a command its own help. */
static void add_advice(const struct parse *p, struct strbuf *sb)
{
	if (p->meant[0])
		strbuf__addf(sb, "; did you mean '%s'? See", p->meant);
	else
		strbuf__adds(sb, "; see");
	if (p->named && p->opts->command != CMD_HELP)
		strbuf__addf(sb, " jankbpf %s --help", command__row(p->opts->command)->name);
	else
		strbuf__adds(sb, " jankbpf --help");
}

int parse__refuse(struct parse *p, const char *fmt, ...)
{
	struct strbuf sb = STRBUF_INIT, clean = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf__vaddf(&sb, fmt, ap);
	va_end(ap);
	add_advice(p, &sb);
	text__add_clean(&clean, strbuf__str(&sb));
	p->code = err__set_exit(p->err, JANK_EXIT_USAGE, EINVAL, "%s", strbuf__str(&clean));
	strbuf__free(&sb);
	strbuf__free(&clean);
	return p->code;
}

void parse__set_meant(struct parse *p, const char *before, const struct nearest *near)
{
	p->meant[0] = '\0';
	if (near->best)
		snprintf(p->meant, sizeof(p->meant), "%s%.*s", before, (int)near->best_len,
			 near->best);
}

const struct option_row *parse__find_key(const struct parse *p, int key)
{
	const struct option_row *ret = NULL;

	for (size_t i = 0; i < option_row_cnt; i++) {
		const struct option_row *row = &option_rows[i];

		if (!row->name || row->key != key)
			continue;
		if (!ret || row->commands & (1u << p->opts->command))
			ret = row;
	}
	return ret;
}

/* --- what argp refuses: it only returns where it stopped */

/* Keeps the long option that is nearest to the word, among those of a command that is known. */
static void guess_long(struct parse *p, const char *word, size_t len)
{
	struct nearest near;

	nearest__init(&near, word, len);
	for (size_t i = 0; i < option_row_cnt; i++)
		if (option_rows[i].name &&
		    (!p->named || option_rows[i].commands & (1u << p->opts->command)))
			nearest__offer(&near, option_rows[i].name, strlen(option_rows[i].name));
	parse__set_meant(p, "--", &near);
}

/* "-json" may be meant as --json. */
static void explain_short(struct parse *p, const char *letters)
{
	const char *word = letters;

	for (; *letters; letters++) {
		const struct option_row *row = parse__find_key(p, (unsigned char)*letters);

		if (!row) {
			if (strlen(word) > 2)
				guess_long(p, word, strcspn(word, "="));
			parse__refuse(p, "unknown option '-%c'", *letters);
			return;
		}
		if (row->arg) {
			parse__refuse(p, "-%c needs its %s", *letters, row->arg);
			return;
		}
	}
}

/*
 * Counts the rows that start with the len bytes at name; an exact match counts alone. Returns their
 * names and the last row.
 */
static int match_long(const char *name, size_t len, struct strbuf *names,
		      const struct option_row **ret)
{
	int cnt = 0;

	for (const struct option_row *row = option_rows; row < option_rows + option_row_cnt;
	     row++) {
		if (!row->name || strncmp(row->name, name, len))
			continue;
		*ret = row;
		if (!row->name[len])
			return 1;
		strbuf__addf(names, "%s--%s", cnt++ ? " or " : "", row->name);
	}
	return cnt;
}

static void explain_long(struct parse *p, const char *name)
{
	struct strbuf names = STRBUF_INIT;
	size_t len = strcspn(name, "=");
	const struct option_row *row = NULL;
	int cnt = match_long(name, len, &names, &row), shown = len > 60 ? 60 : (int)len;

	if (!cnt) {
		guess_long(p, name, len);
		parse__refuse(p, "unknown option '--%.*s'", shown, name);
	} else if (cnt > 1)
		parse__refuse(p, "'--%.*s' may be %s", shown, name, strbuf__str(&names));
	else if (row->arg)
		parse__refuse(p, "--%s needs its %s", row->name, row->arg);
	else
		parse__refuse(p, "--%s takes no argument", row->name);
	strbuf__free(&names);
}

void parse__explain(struct parse *p, const char *word)
{
	if (!strncmp(word, "--", 2))
		explain_long(p, word + 2);
	else
		explain_short(p, word + 1);
}
