/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of OTLP (alpha): profiles.c makes them, dictionary.c the tables that they share. */
#ifndef JANK_EXPORT_OTLP_PROFILES_H
#define JANK_EXPORT_OTLP_PROFILES_H

#include "export/otlp/otlp.h"

/* Lines of a location: functions that the compiler put into each other. */
#define OTLP_LINES_MAX 32

/* Tables of the dictionary. Element 0 of each is the zero value; an index of 0 means none. */
enum table {
	TABLE_TEXTS,
	TABLE_FUNCTIONS,
	TABLE_MAPPINGS,
	TABLE_LOCATIONS,
	TABLE_STACKS,
	TABLE_ATTRIBUTES,
	TABLE_CNT
};
_Static_assert(TABLE_CNT <= OTLP_TABLES, "OTLP_TABLES");

struct dictionary {
	struct otlp *o;
	struct list tables[TABLE_CNT];
};

void dictionary__init(struct dictionary *d, struct otlp *o);

/* Indices of entries, which are made when they are new. NULL is the empty text. */
int32_t dictionary__text(struct dictionary *d, const char *text);
int32_t dictionary__attribute(struct dictionary *d, const char *key, const char *value);
/* Innermost frame first. A stack without frames has one location of that name. */
int32_t dictionary__stack(struct dictionary *d, Jankbpf__Frame *const *frames, size_t cnt,
			  const char *name);

/* The message of all tables. */
Otlp__ProfilesDictionary *dictionary__message(struct dictionary *d);

#endif
