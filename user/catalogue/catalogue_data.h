/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The catalogue while it is being filled: for catalogue*.c only. */
#ifndef JANK_CATALOGUE_CATALOGUE_DATA_H
#define JANK_CATALOGUE_CATALOGUE_DATA_H

#include "catalogue/catalogue.h"

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
void catalogue_enum__free(struct catalogue_enum *names);

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

#endif
