/* SPDX-License-Identifier: GPL-2.0 */
/* Looks each mark up in the process's files, as it would be for a probe. */
#include "session/found_marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "symbol/elf/archive.h"
#include "symbol/elf/elffunc.h"
#include "symbol/elf/mapped_file.h"
#include "uprobes/mark_sites.h"

#define ROW_MAX 8

struct marks {
	const struct catalogue *cat;
	const struct catalogue_row *row;
	struct mark_site best[JANK_MARK_MAX]; /* by the row's own number: there, or why not */
	const char *in[JANK_MARK_MAX];	      /* the file that has it; NULL: none was looked at */
	bool looked;
};

static void take(struct marks *marks, const struct mark_site *site, const char *path)
{
	unsigned i = site->mark - marks->row->mark_first;

	if (site->row != marks->row || site->mark == MARK_SITE_WAIT || i >= marks->row->mark_cnt)
		return;
	if (marks->in[i] && marks->best[i].absence == MARK_THERE)
		return;
	marks->best[i] = *site;
	marks->in[i] = path;
}

static void search(struct marks *marks, const struct catalogue_file *file)
{
	struct mark_site *sites;
	size_t cnt;

	if (mark_sites__find(marks->cat, file, &sites, &cnt))
		return;
	marks->looked = true;
	for (size_t i = 0; i < cnt; i++)
		take(marks, &sites[i], file->path);
	free(sites);
}

static bool is_of_row(const struct marks *marks, const struct catalogue_file *file)
{
	const struct catalogue_row *rows[ROW_MAX];
	size_t cnt = catalogue__rows_of_file(marks->cat, file, rows, ROW_MAX);

	for (size_t i = 0; i < cnt; i++)
		if (rows[i] == marks->row)
			return true;
	return false;
}

static void look_into(struct marks *marks, uint32_t pid, const struct mapped *mapped,
		      struct catalogue_file *file)
{
	uint64_t size = mapped->archive ? mapped->size : UINT64_MAX;
	struct elffunc elf;
	struct stat st;
	int fd;

	if (!is_of_row(marks, file))
		return;
	fd = mapped_file__open("/proc", pid, mapped, &st);
	if (fd < 0 || elffunc__open_within(fd, mapped->begin, size, &elf))
		return;
	file->elf = &elf;
	search(marks, file);
	elffunc__close(&elf);
}

static void add_fields(struct strbuf *sb, const struct catalogue_mark *mark)
{
	for (uint32_t i = 0; i < mark->spec.field_cnt; i++)
		if (mark->fields[i].role != ROLE_CHECK)
			strbuf__addf(sb, "%s%s", sb->len ? ", " : "",
				     catalogue_role__key(mark->fields[i].role));
}

static void print_mark(const struct marks *marks, unsigned i)
{
	const struct catalogue_mark *mark = catalogue__mark(marks->cat, marks->row->mark_first + i);
	struct strbuf fields = STRBUF_INIT, file = STRBUF_INIT;
	bool there = marks->in[i] && marks->best[i].absence == MARK_THERE;

	add_fields(&fields, mark);
	printf("        %-28s ", mark->symbol ? mark->symbol : "(by its address)");
	if (there) {
		text__add_clean(&file, marks->in[i]);
		printf("%s%sin %s\n", strbuf__str(&fields), fields.len ? ", " : "",
		       strbuf__str(&file));
	} else {
		printf("not probed: %s\n", marks->in[i] ? mark_absence__text(marks->best[i].absence)
							: "no file that it maps has it");
	}
	strbuf__free(&fields);
	strbuf__free(&file);
}

static void print_sum(const struct marks *marks)
{
	const struct catalogue_row *row = marks->row;
	unsigned there = 0;

	for (unsigned i = 0; i < row->mark_cnt; i++)
		there += marks->in[i] && marks->best[i].absence == MARK_THERE;
	if (!row->mark_cnt)
		printf("      messages: a block is a turn of the loop; what was ready is told by "
		       "epoll alone\n");
	else if (!there)
		printf("      messages: none of %u functions can be probed (%s); a block is a "
		       "turn\n",
		       row->mark_cnt,
		       marks->looked ? mark_absence__text(marks->best[0].absence)
				     : "no file that it maps has them");
	else
		printf("      messages: by %u of %u functions\n", there, row->mark_cnt);
}

void found_marks__print(const struct catalogue *cat, const struct catalogue_row *row, uint32_t pid,
			const char *exe, bool verbose)
{
	struct marks *marks = calloc(1, sizeof(*marks));
	struct maps maps = {}, none = {};
	struct mapped *mapped, *next;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	if (!marks || maps__read(&maps, path))
		goto out;
	marks->cat = cat;
	marks->row = row;
	archive__split("/proc", pid, &none, &maps);
	HASH_ITER (hh, maps.mapped, mapped, next) {
		struct catalogue_file file = { .path = mapped->path };

		file.is_exe = exe && !strcmp(exe, mapped->path);
		if (mapped->kind == MAPPED_FILE)
			look_into(marks, pid, mapped, &file);
	}
	print_sum(marks);
	for (unsigned i = 0; verbose && i < row->mark_cnt; i++)
		print_mark(marks, i);
out:
	maps__free(&maps);
	free(marks);
}
