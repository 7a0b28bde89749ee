/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of loop files. They are INI files, parsed by libinih. The line reader sees each line first
 * and rejects what libinih would accept: long lines (it would cut them), empty sections and
 * repeated sections.
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue/catalogue_data.h"

#include "loops_embedded.inc" /* catalogue_embedded_files, by tools/loops/table */

const size_t catalogue_embedded_cnt =
	sizeof(catalogue_embedded_files) / sizeof(*catalogue_embedded_files);

#define SECTION_MAX 40 /* inih cuts longer ones at 50 */

struct loading {
	struct catalogue *cat;
	const char *name; /* of the file */
	bool is_builtin;
	const char *at, *end; /* text not yet read */
	unsigned line;
	bool is_indented;
	unsigned section_line; /* line of a section without a key so far; else 0 */
	size_t first_row, first_enum;
	struct catalogue_row *row; /* the row of the current section */
	struct catalogue_enum *names;
	const struct catalogue_key *key; /* the key that an indented line continues */
	struct err *err;
	int code; /* of the first error */
};

static int fault(struct loading *l, unsigned line, int code, const char *message)
{
	if (!l->code)
		l->code = err__set_exit(l->err, JANK_EXIT_USAGE, code, "%s:%u: %s", l->name, line,
					message);
	return l->code;
}

static int no_memory(struct loading *l)
{
	if (!l->code)
		l->code = err__set(l->err, ENOMEM, "out of memory");
	return l->code;
}

/* Checks a line for errors that inih does not report, and notes section headers. */
static void look_at(struct loading *l, const char *line, size_t len)
{
	const char *first = line;

	while (first < line + len && isspace((unsigned char)*first))
		first++;
	l->is_indented = first > line;
	if (memchr(line, 0, len))
		fault(l, l->line, EINVAL, "a zero byte: this is no text");
	if (l->is_indented || first == line + len || *first != '[')
		return;
	if (!memchr(first, ']', len))
		fault(l, l->line, EINVAL, "a [SECTION] without its ]");
	if (l->section_line)
		fault(l, l->section_line, EINVAL, "a section without any key");
	l->section_line = l->line;
}

/* Like fgets. */
static char *read_line(char *buf, int size, void *stream)
{
	struct loading *l = stream;
	size_t len = (size_t)(l->end - l->at);
	const char *newline = memchr(l->at, '\n', len);

	if (!len || l->code)
		return NULL;
	if (newline)
		len = (size_t)(newline - l->at) + 1;
	l->line++;
	if (len > (size_t)size - 3) {
		fault(l, l->line, EINVAL,
		      "the line is too long: go on in an indented line behind it");
		return NULL;
	}
	memcpy(buf, l->at, len);
	buf[len] = 0;
	l->at += len;
	look_at(l, buf, len);
	return buf;
}

static void drop_row(struct loading *l, struct catalogue_row *row)
{
	struct catalogue *cat = l->cat;

	for (unsigned i = 0; i < row->mark_cnt; i++)
		free(cat->marks[--cat->mark_cnt].symbol);
	cat->row_cnt--;
	catalogue_row__free(row);
}

static const char *lacks(const struct catalogue_row *row)
{
	if (!row->library_cnt)
		return "the row lacks library =";
	if (!(row->waits & ~(1u << JANK_LOOP_PARK)) && !row->threads.cnt)
		return "the row lacks wait =";
	if (row->through.cnt && !row->parks.cnt)
		return "through = is of parks, but the row lacks park =";
	if (row->calls.cnt && !row->runs.cnt)
		return "call = is of a loop's functions, but the row lacks run =";
	return NULL;
}

static bool is_taken(const struct loading *l, const char *id)
{
	for (size_t i = 0; i < l->first_row; i++) {
		if (!strcmp(l->cat->rows[i]->id, id))
			return true;
	}
	return false;
}

static int default_texts(struct catalogue_row *row)
{
	row->name = row->name ?: strdup(row->id);
	row->about = row->about ?: strdup("");
	row->note = row->note ?: strdup("");
	return row->name && row->about && row->note ? 0 : -ENOMEM;
}

static int by_value(const void *a, const void *b)
{
	const struct catalogue_name *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* A section is complete when the next one begins. */
static void end_section(struct loading *l)
{
	struct catalogue_row *row = l->row;

	if (l->names && l->names->cnt)
		qsort(l->names->names, l->names->cnt, sizeof(*l->names->names), by_value);
	l->row = NULL;
	l->names = NULL;
	l->key = NULL;
	if (!row || l->code)
		return;
	if (lacks(row))
		fault(l, row->line, EINVAL, lacks(row));
	else if (l->is_builtin && is_taken(l, row->id))
		drop_row(l, row);
	else if (default_texts(row))
		no_memory(l);
}

static bool is_again(const struct loading *l, const char *section)
{
	const struct catalogue *cat = l->cat;

	for (size_t i = l->first_row; i < cat->row_cnt; i++) {
		if (!strcmp(cat->rows[i]->id, section))
			return true;
	}
	for (size_t i = l->first_enum; i < cat->enum_cnt; i++) {
		if (!strncmp(section, "enum ", 5) && !strcmp(cat->enums[i]->name, section + 5))
			return true;
	}
	return !l->is_builtin && is_taken(l, section);
}

static bool is_word(const char *text)
{
	return *text && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_") == strlen(text);
}

static int begin_enum(struct loading *l, const char *name)
{
	struct catalogue *cat = l->cat;

	if (!is_word(name))
		return fault(l, l->section_line, EINVAL,
			     "an [enum NAME] has a name of a-z, 0-9, - and _");
	if (cat->enum_cnt == CATALOGUE_ENUM_MAX)
		return fault(l, l->section_line, E2BIG, "more than 64 enums");
	l->names = calloc(1, sizeof(*l->names));
	if (!l->names)
		return no_memory(l);
	cat->enums[cat->enum_cnt++] = l->names;
	l->names->name = strdup(name);
	return l->names->name ? 0 : no_memory(l);
}

static int begin_row(struct loading *l, const char *id)
{
	struct catalogue *cat = l->cat;

	if (!is_word(id) || strlen(id) >= 32)
		return fault(
			l, l->section_line, EINVAL,
			"a section is [enum NAME], or [NAME] with at most 31 of a-z, 0-9, - and _");
	if (cat->row_cnt == CATALOGUE_ROW_MAX)
		return fault(l, l->section_line, E2BIG, "more than 128 rows");
	l->row = calloc(1, sizeof(*l->row));
	if (!l->row)
		return no_memory(l);
	cat->rows[cat->row_cnt++] = l->row;
	l->row->file = l->name;
	l->row->line = l->section_line;
	l->row->is_builtin = l->is_builtin;
	l->row->id = strdup(id);
	return l->row->id ? 0 : no_memory(l);
}

static int begin_section(struct loading *l, const char *section)
{
	int code;

	end_section(l);
	if (l->code)
		return l->code;
	if (strlen(section) > SECTION_MAX)
		return fault(l, l->section_line, EINVAL, "the section's name is too long");
	if (is_again(l, section))
		return fault(l, l->section_line, EEXIST, "the section stands here twice");
	if (!strncmp(section, "enum ", 5))
		code = begin_enum(l, section + 5);
	else
		code = begin_row(l, section);
	l->section_line = 0;
	return code;
}

/* "3 = Timer" */
static int add_name(struct loading *l, const char *number, const char *name)
{
	struct catalogue_enum *names = l->names;
	struct catalogue_name *bigger, new;
	char *end;

	errno = 0;
	new.value = strtoll(number, &end, 0);
	if (errno || end == number || *end || l->is_indented || !*name)
		return fault(l, l->line, EINVAL, "an enum's line is NUMBER = NAME");
	if (names->cnt == CATALOGUE_NAMES_MAX)
		return fault(l, l->line, E2BIG, "an enum has at most 4096 names");
	if (!(names->cnt & (names->cnt - 1))) {
		bigger = realloc(names->names, (names->cnt ? 2 * names->cnt : 1) * sizeof(new));
		if (!bigger)
			return no_memory(l);
		names->names = bigger;
	}
	new.name = strdup(name);
	if (!new.name)
		return no_memory(l);
	names->names[names->cnt++] = new;
	return 0;
}

static int set_key(struct loading *l, const char *name, const char *value)
{
	struct err why = { 0 };
	int code;

	if (!l->is_indented)
		l->key = NULL;
	for (size_t i = 0; i < catalogue_key_cnt && !l->is_indented; i++) {
		if (!strcmp(catalogue_keys[i].name, name))
			l->key = &catalogue_keys[i];
	}
	if (!l->key && l->is_indented)
		return fault(l, l->line, EINVAL, "an indented line, but no key above it");
	if (!l->key)
		return fault(l, l->line, EINVAL,
			     "not a key of a row: name, about, note, library, wait, caller, over, "
			     "mark, park, through, run, call, tested, traced");
	code = l->key->set(l->cat, l->row, value, l->is_indented, l->key, l->first_enum, &why);
	if (code == -ENOMEM)
		return no_memory(l);
	return code ? fault(l, l->line, -code, why.msg) : 0;
}

/* inih's handler: returns 1 for success. inih calls it for each line of a multi-line value. */
static int take_line(void *user, const char *section, const char *name, const char *value)
{
	struct loading *l = user;

	if (l->code)
		return 0;
	if (l->section_line && begin_section(l, section))
		return 0;
	if (!l->row && !l->names)
		return !fault(l, l->line, EINVAL, "a [SECTION], not indented, must come first");
	if (l->names)
		return !add_name(l, name, value);
	return !set_key(l, name, value);
}

int catalogue_file__load(struct catalogue *cat, const char *name, const char *text, size_t len,
			 bool is_builtin, struct err *err)
{
	struct loading l = { .cat = cat,
			     .is_builtin = is_builtin,
			     .at = text,
			     .end = text + len,
			     .first_row = cat->row_cnt,
			     .first_enum = cat->enum_cnt,
			     .err = err };
	int line;

	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		l.at += 3; /* a byte-order mark */
	if (cat->file_cnt == CATALOGUE_FILE_MAX)
		return err__set_exit(err, JANK_EXIT_USAGE, E2BIG, "%s: more than 64 loop files",
				     name);
	l.name = cat->files[cat->file_cnt] = strdup(name);
	if (!l.name)
		return no_memory(&l);
	cat->file_cnt++;
	line = ini_parse_stream(read_line, &l, take_line, &l);
	if (line && !l.code)
		fault(&l, (unsigned)line, EINVAL,
		      "neither [SECTION] nor KEY = VALUE nor an indented line below one");
	if (l.section_line)
		fault(&l, l.section_line, EINVAL, "a section without any key");
	end_section(&l);
	return l.code;
}
