/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The catalogue while it is being filled: for catalogue*.c only. */
#ifndef JANK_CATALOGUE_CATALOGUE_DATA_H
#define JANK_CATALOGUE_CATALOGUE_DATA_H

#include "catalogue/catalogue.h"
#include <stddef.h>

#define CATALOGUE_ENUM_MAX     64
#define CATALOGUE_FILE_MAX     64
#define CATALOGUE_FILE_SZ      (256u << 10)
#define CATALOGUE_NAMES_MAX    4096 /* of one enum */
#define CATALOGUE_PATTERNS_MAX 64   /* each, for libraries and callers of one row */

struct catalogue {
	struct catalogue_row *rows[CATALOGUE_ROW_MAX];
	struct catalogue_enum *enums[CATALOGUE_ENUM_MAX];
	char *files[CATALOGUE_FILE_MAX];
	struct catalogue_mark marks[JANK_MARK_MAX];
	size_t row_cnt, enum_cnt, file_cnt;
	unsigned mark_cnt;
};

/* Adds the rows of a loop file's text. Skips built-in rows with an id that is already taken. */
int catalogue_file__load(struct catalogue *cat, const char *name, const char *text, size_t len,
			 bool is_builtin, struct err *err);

void catalogue_row__free(struct catalogue_row *row); /* accepts NULL */

/*
 * Setter of one key of a row (`more`: an indented line below it). 0, -ENOMEM, or -EINVAL with a
 * message that does not name file and line.
 */
struct catalogue_key {
	const char *name;
	int (*set)(struct catalogue *cat, struct catalogue_row *row, const char *value, bool more,
		   const struct catalogue_key *key, size_t first_enum, struct err *err);
	size_t offset; /* of the row's member that set_text fills */
};

extern const struct catalogue_key catalogue_keys[];
extern const size_t catalogue_key_cnt;

/* A file of loops/, compiled into the program (mk/loops.mk). */
struct catalogue_embedded {
	const char *name; /* "loops/qt.loop" */
	const unsigned char *text;
	size_t size;
};

extern const struct catalogue_embedded catalogue_embedded_files[];
extern const size_t catalogue_embedded_cnt;

/*
 * --- Parser of the expressions in a loop file that say what to read at a mark, e.g. "enum(qevent,
 * u16 *(arg1 + 8))". The result is the probe's read and the display form. Grammar ('*' reads the
 * value at an address):
 *
 *   view   = number | symbol(value) | class(value) | text(address) | text16(address)
 *          | enum(NAME, number) | clock_ms(number)
 *   number = [u8|u16|u32|u64|s8|s16|s32|s64] value
 *   value  = argN | *address
 *   address = value [+|- OFFSET]…, with brackets where needed
 */

/* The lists of names that enum() may take. */
struct mark_enums {
	struct catalogue_enum *const *items;
	size_t cnt;
};

/*
 * Parses one view. Sets spec and field except field->role. 0, or -EINVAL with a message that quotes
 * the position.
 */
int mark_expr__view(const char *text, const struct mark_enums *enums, struct jank_mark_field *spec,
		    struct catalogue_field *field, struct err *err);

/* Parses "number == number" into two fields with number views. */
int mark_expr__check(const char *text, struct jank_mark_field spec[2],
		     struct catalogue_field field[2], struct err *err);

#endif
