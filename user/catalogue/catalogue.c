/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lookups in the catalogue. A row with the only pattern "*" comes after rows that name their files.
 */
#include "catalogue/catalogue.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalogue/catalogue_data.h"
#include "files/file.h"
#include "symbol/elf/elffunc.h"

static int load_file(struct catalogue *cat, const char *path, struct err *err)
{
	struct strbuf text = STRBUF_INIT;
	int code = file__read(path, CATALOGUE_FILE_SZ, &text);

	if (code)
		err__set_exit(err, JANK_EXIT_USAGE, -code, "--loop-file %s: %s", path,
			      code == -EFBIG ? "longer than 256 KiB" : strerror(-code));
	else
		code = catalogue_file__load(cat, path, strbuf__str(&text), text.len, false, err);
	strbuf__free(&text);
	return code;
}

static const struct catalogue_row *row_of_id(const struct catalogue *cat, const char *id)
{
	for (size_t i = 0; i < cat->row_cnt; i++) {
		if (!strcmp(cat->rows[i]->id, id))
			return cat->rows[i];
	}
	return NULL;
}

static int check_over(const struct catalogue *cat, struct err *err)
{
	for (size_t i = 0; i < cat->row_cnt; i++) {
		const struct catalogue_row *row = cat->rows[i];

		if (row->over && (!row_of_id(cat, row->over) || !strcmp(row->over, row->id)))
			return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
					     "%s:%u: over = %s: there is no other row [%s]",
					     row->file, row->line, row->over, row->over);
	}
	return 0;
}

int catalogue__open(const char *const *files, size_t cnt, struct catalogue **ret, struct err *err)
{
	struct catalogue *cat = calloc(1, sizeof(*cat));
	int code = 0;

	if (!cat)
		return err__set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < cnt && !code; i++)
		code = load_file(cat, files[i], err);
	for (size_t i = 0; i < catalogue_embedded_cnt && !code; i++) {
		const struct catalogue_embedded *file = &catalogue_embedded_files[i];

		code = catalogue_file__load(cat, file->name, (const char *)file->text, file->size,
					    true, err);
	}
	code = code ?: check_over(cat, err);
	if (code) {
		catalogue__close(cat);
		return code;
	}
	*ret = cat;
	return 0;
}

static void free_enum(struct catalogue_enum *names)
{
	for (size_t i = 0; i < names->cnt; i++)
		free(names->names[i].name);
	free(names->names);
	free(names->name);
	free(names);
}

void catalogue__close(struct catalogue *cat)
{
	if (!cat)
		return;
	for (unsigned i = 0; i < cat->mark_cnt; i++)
		free(cat->marks[i].symbol);
	for (size_t i = 0; i < cat->row_cnt; i++)
		catalogue_row__free(cat->rows[i]);
	for (size_t i = 0; i < cat->enum_cnt; i++)
		free_enum(cat->enums[i]);
	for (size_t i = 0; i < cat->file_cnt; i++)
		free(cat->files[i]);
	free(cat);
}

size_t catalogue__row_cnt(const struct catalogue *cat)
{
	return cat->row_cnt;
}

const struct catalogue_row *catalogue__row(const struct catalogue *cat, size_t i)
{
	return cat->rows[i];
}

const struct catalogue_row *catalogue__named(const struct catalogue *cat, const char *name,
					     size_t *at)
{
	while (*at < cat->row_cnt) {
		const struct catalogue_row *row = cat->rows[(*at)++];

		if (!strcmp(row->id, name) || !strcmp(row->name, name))
			return row;
	}
	return NULL;
}

size_t catalogue__mark_cnt(const struct catalogue *cat)
{
	return cat->mark_cnt;
}

const struct catalogue_mark *catalogue__mark(const struct catalogue *cat, size_t i)
{
	return &cat->marks[i];
}

enum match { NO_MATCH, MATCH_ANY, MATCH_NAMED };

static bool has_section(const struct catalogue_file *file, const char *section)
{
	if (file->has_section)
		return file->has_section(file->ctx, section);
	return file->elf && elffunc__has_section(file->elf, section);
}

static enum match match_library(const struct catalogue_library *library,
				const struct catalogue_file *file)
{
	if (library->is_exe && !file->is_exe)
		return NO_MATCH;
	if (library->is_section)
		return has_section(file, library->glob) ? MATCH_NAMED : NO_MATCH;
	if (!strcmp(library->glob, "*"))
		return MATCH_ANY;
	return fnmatch(library->glob, text__base_name(file->path), 0) ? NO_MATCH : MATCH_NAMED;
}

static enum match match_file(const struct catalogue_row *row, const struct catalogue_file *file)
{
	enum match best = NO_MATCH;

	for (size_t i = 0; i < row->library_cnt && best != MATCH_NAMED; i++) {
		enum match match = match_library(&row->libraries[i], file);

		best = match > best ? match : best;
	}
	return best;
}

size_t catalogue__rows_of_file(const struct catalogue *cat, const struct catalogue_file *file,
			       const struct catalogue_row **ret, size_t max)
{
	size_t cnt = 0;

	for (enum match match = MATCH_NAMED; match > NO_MATCH; match--) {
		for (size_t i = 0; i < cat->row_cnt && cnt < max; i++) {
			if (match_file(cat->rows[i], file) == match)
				ret[cnt++] = cat->rows[i];
		}
	}
	return cnt;
}

static bool has_section_pattern(const struct catalogue_row *row)
{
	for (size_t i = 0; i < row->library_cnt; i++) {
		if (row->libraries[i].is_section)
			return true;
	}
	return false;
}

bool catalogue__has_probes(const struct catalogue *cat, const struct catalogue_file *file)
{
	for (size_t i = 0; i < cat->row_cnt; i++) {
		const struct catalogue_row *row = cat->rows[i];

		if (!row->mark_cnt && !row->wait_symbol && !row->wait_address)
			continue;
		if (match_file(row, file) || (!file->elf && has_section_pattern(row)))
			return true;
	}
	return false;
}

bool catalogue__polls(const struct catalogue *cat, const struct catalogue_file *file)
{
	for (size_t i = 0; i < cat->row_cnt; i++) {
		if (cat->rows[i]->waits & 1u << JANK_LOOP_POLL &&
		    match_file(cat->rows[i], file) == MATCH_NAMED)
			return true;
	}
	return false;
}

static bool has_function(const struct catalogue_functions *list, const char *function)
{
	for (size_t i = 0; i < list->cnt && function; i++) {
		if (!fnmatch(list->globs[i], function, 0))
			return true;
	}
	return false;
}

/*
 * Matches a row with the frames from the first one on. The first frame must lie in the row's file;
 * one of the row's callers must follow before control leaves that file.
 */
static enum match match_frames(const struct catalogue_row *row,
			       const struct catalogue_frame *frames, size_t cnt)
{
	enum match match = match_file(row, &frames[0].file);

	if (!match || !row->callers.cnt)
		return match;
	for (size_t i = 0; i < cnt && match_file(row, &frames[i].file); i++) {
		if (has_function(&row->callers, frames[i].function))
			return match;
	}
	return NO_MATCH;
}

static const struct catalogue_row *row_of_frames(const struct catalogue *cat, uint32_t loop,
						 const struct catalogue_row *below,
						 const struct catalogue_frame *frames, size_t cnt)
{
	const struct catalogue_row *any = NULL;

	for (size_t i = 0; i < cat->row_cnt; i++) {
		const struct catalogue_row *row = cat->rows[i];
		enum match match;

		if (!(row->waits & 1u << loop) ||
		    (below && (!row->over || strcmp(row->over, below->id))))
			continue;
		match = match_frames(row, frames, cnt);
		if (match == MATCH_NAMED)
			return row;
		if (match == MATCH_ANY && !any)
			any = row;
	}
	return any;
}

/* Files that wrap the system call and have no loop of their own. */
static bool is_libc(const struct catalogue_file *file)
{
	static const char *const globs[] = { "libc.so*", "libc-*.so",	"libpthread*.so*",
					     "ld-*.so*", "libc.musl-*", "[[]vdso[]]" };

	for (size_t i = 0; i < sizeof(globs) / sizeof(*globs); i++) {
		if (!file->is_exe && !fnmatch(globs[i], text__base_name(file->path), 0))
			return true;
	}
	return false;
}

const struct catalogue_row *catalogue__row_of_wait(const struct catalogue *cat, uint32_t loop,
						   const struct catalogue_frame *frames, size_t cnt)
{
	const struct catalogue_row *row, *over;

	while (cnt && is_libc(&frames->file)) {
		frames++;
		cnt--;
	}
	row = cnt ? row_of_frames(cat, loop, NULL, frames, cnt) : NULL;
	for (; row && cnt; frames++, cnt--) {
		over = row_of_frames(cat, loop, row, frames, cnt);
		row = over ?: row;
	}
	return row;
}

bool catalogue__has_handlers(const struct catalogue *cat, const struct catalogue_file *file)
{
	for (size_t i = 0; i < cat->row_cnt; i++)
		if (cat->rows[i]->runs.cnt && match_file(cat->rows[i], file))
			return true;
	return false;
}

/* The row that names the function as its loop's, or NULL. *ret_calls: it calls handlers only. */
static const struct catalogue_row *row_of_loop(const struct catalogue *cat,
					       const struct catalogue_frame *frame, bool *ret_calls)
{
	for (size_t i = 0; i < cat->row_cnt && frame->function; i++) {
		const struct catalogue_row *row = cat->rows[i];

		*ret_calls = has_function(&row->calls, frame->function);
		if ((*ret_calls || has_function(&row->runs, frame->function)) &&
		    match_file(row, &frame->file))
			return row;
	}
	return NULL;
}

/* A program may also call such a function outside of its loop, as it starts (Qt's sendEvent). */
static bool is_run(const struct catalogue *cat, const struct catalogue_frame *frames, size_t cnt)
{
	bool calls;

	for (size_t i = 0; i < cnt; i++)
		if (row_of_loop(cat, &frames[i], &calls) && !calls)
			return true;
	return false;
}

size_t catalogue__handler(const struct catalogue *cat, const struct catalogue_frame *frames,
			  size_t cnt, bool may_rest, const struct catalogue_row **ret)
{
	size_t handler = cnt, i = 0;
	bool calls = false;

	*ret = NULL;
	for (; i < cnt && !*ret; i++)
		*ret = row_of_loop(cat, &frames[i], &calls);
	if (!*ret || (may_rest && !calls) || (calls && !is_run(cat, frames + i, cnt - i)))
		return cnt;
	if (calls && i > 1) /* a tail call leaves no frame of the program */
		handler = i - 2;
	for (size_t inner = 0; inner + 1 < i; inner++)
		if (!is_libc(&frames[inner].file) && !match_file(*ret, &frames[inner].file))
			handler = inner;
	return handler;
}

const struct catalogue_row *catalogue__row_of_program(const struct catalogue *cat,
						      const struct catalogue_file *file)
{
	for (size_t i = 0; i < cat->row_cnt; i++)
		if (has_section_pattern(cat->rows[i]) &&
		    match_file(cat->rows[i], file) == MATCH_NAMED)
			return cat->rows[i];
	return NULL;
}

const struct catalogue_row *catalogue__row_of_thread(const struct catalogue *cat, const char *comm)
{
	for (size_t i = 0; i < cat->row_cnt; i++)
		for (size_t j = 0; j < cat->rows[i]->threads.cnt; j++)
			if (!fnmatch(cat->rows[i]->threads.globs[j], comm, 0))
				return cat->rows[i];
	return NULL;
}

bool catalogue_row__parks_anywhere(const struct catalogue_row *row)
{
	for (size_t i = 0; i < row->parks.cnt; i++)
		if (!strcmp(row->parks.globs[i], "*"))
			return true;
	return false;
}

bool catalogue_row__waits_itself(const struct catalogue_row *row)
{
	return row->wait_symbol || row->wait_address;
}

bool catalogue__waits_itself(const struct catalogue *cat)
{
	for (size_t i = 0; i < catalogue__row_cnt(cat); i++)
		if (catalogue_row__waits_itself(catalogue__row(cat, i)))
			return true;
	return false;
}

bool catalogue_row__parks_somewhere(const struct catalogue_row *row)
{
	for (size_t i = 0; i < row->parks.cnt; i++)
		if (strcmp(row->parks.globs[i], "*"))
			return true;
	return false;
}

/* "*" applies to futexes only and needs no function. */
static bool is_park(const struct catalogue_row *row, const char *function)
{
	for (size_t i = 0; i < row->parks.cnt && function; i++)
		if (strcmp(row->parks.globs[i], "*") && !fnmatch(row->parks.globs[i], function, 0))
			return true;
	return false;
}

bool catalogue_row__parks(const struct catalogue_row *row, const struct catalogue_frame *frames,
			  size_t cnt, size_t *ret_frame)
{
	for (*ret_frame = 0; *ret_frame < cnt; ++*ret_frame) {
		const struct catalogue_frame *frame = &frames[*ret_frame];

		if (is_park(row, frame->function))
			return true;
		if (!is_libc(&frame->file) && !has_function(&row->through, frame->function))
			return false;
	}
	return false;
}

const char *catalogue__name_of_wait(const struct catalogue_row *row, uint32_t loop)
{
#define X_KEY(nr, NAME, key) [nr] = key,
	static const char *const keys[] = { JANK_LOOPS(X_KEY) };
#undef X_KEY

	if (row)
		return row->name;
	return loop < sizeof(keys) / sizeof(*keys) && keys[loop] ? keys[loop] : "loop";
}
