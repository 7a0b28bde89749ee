/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The marks of a catalogue's row in a process: looked up in its mapped files, as for a probe. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procfs/procinfo.h"
#include "session/loops_report.h"
#include "symbol/elf/elffunc.h"
#include "symbol/elf/mapped_file.h"

#define ROW_MAX 8

struct mark_search {
	const struct catalogue *cat;
	const struct catalogue_row *row;
	struct loop_marks *marks;
};

bool loop_mark__is_there(const struct loop_mark *mark)
{
	return mark->file && mark->absence == MARK_THERE;
}

const char *loop_mark__reason(const struct loop_mark *mark)
{
	return mark->file ? mark_absence__text(mark->absence) : "no file that it maps has it";
}

const char *loop_marks__reason(const struct loop_marks *marks)
{
	return marks->looked ? mark_absence__text(marks->marks[0].absence)
			     : "no file that it maps has them";
}

static void take(struct mark_search *search, const struct mark_site *site, const char *path)
{
	struct loop_mark *mark = search->marks->marks, *end = mark + search->marks->cnt;
	char *file;

	if (site->row != search->row || site->mark == MARK_SITE_WAIT)
		return;
	while (mark < end && mark->mark != catalogue__mark(search->cat, site->mark))
		mark++;
	if (mark == end || loop_mark__is_there(mark))
		return;
	file = strdup(path);
	if (!file)
		return;
	free(mark->file);
	mark->file = file;
	mark->absence = site->absence;
}

static void search_file(struct mark_search *search, const struct catalogue_file *file)
{
	struct mark_site *sites;
	size_t cnt;

	if (mark_sites__find(search->cat, file, &sites, &cnt))
		return;
	search->marks->looked = true;
	for (size_t i = 0; i < cnt; i++)
		take(search, &sites[i], file->path);
	free(sites);
}

static bool is_of_row(const struct mark_search *search, const struct catalogue_file *file)
{
	const struct catalogue_row *rows[ROW_MAX];
	size_t cnt = catalogue__rows_of_file(search->cat, file, rows, ROW_MAX);

	for (size_t i = 0; i < cnt; i++)
		if (rows[i] == search->row)
			return true;
	return false;
}

static void look_into(struct mark_search *search, uint32_t pid, const struct mapped *mapped,
		      struct catalogue_file *file)
{
	uint64_t size = mapped->archive ? mapped->size : UINT64_MAX;
	struct elffunc elf;
	struct stat st;
	int fd;

	if (!is_of_row(search, file))
		return;
	fd = mapped_file__open("/proc", pid, mapped, &st);
	if (fd < 0 || elffunc__open_within(fd, mapped->begin, size, &elf))
		return;
	file->elf = &elf;
	search_file(search, file);
	elffunc__close(&elf);
}

static void search_process(struct mark_search *search, struct proc_maps *maps, uint32_t pid,
			   const char *exe)
{
	struct mapped *mapped, *next;

	HASH_ITER (hh, maps->mapped, mapped, next) {
		struct catalogue_file file = { .path = mapped->path };

		file.is_exe = exe && !strcmp(exe, mapped->path);
		if (mapped->kind == MAPPED_FILE)
			look_into(search, pid, mapped, &file);
	}
}

struct loop_marks *loop_marks__find(const struct catalogue *cat, const struct catalogue_row *row,
				    uint32_t pid, const char *exe)
{
	struct mark_search search = { .cat = cat, .row = row };
	struct proc_maps maps = {}, none = {};
	struct loop_marks *marks;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	marks = calloc(1, sizeof(*marks) + row->mark_cnt * sizeof(*marks->marks));
	if (!marks || proc_maps__read(&maps, path)) {
		free(marks);
		marks = NULL;
		goto out;
	}
	search.marks = marks;
	for (unsigned i = 0; i < row->mark_cnt; i++) {
		const struct catalogue_mark *mark = catalogue__mark(cat, row->mark_first + i);

		if (!mark->is_layout)
			marks->marks[marks->cnt++].mark = mark;
	}
	archive__split("/proc", pid, &none, &maps);
	search_process(&search, &maps, pid, exe);
	for (unsigned i = 0; i < marks->cnt; i++)
		marks->there_cnt += loop_mark__is_there(&marks->marks[i]);
out:
	proc_maps__free(&maps);
	return marks;
}

void loop_marks__free(struct loop_marks *marks)
{
	for (unsigned i = 0; marks && i < marks->cnt; i++)
		free(marks->marks[i].file);
	free(marks);
}
