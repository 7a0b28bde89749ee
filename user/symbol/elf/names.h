/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a table's names are: an arena of its own, or left in the file.
 *
 * Big programs have many megabytes of names, of which a trace shows a few hundred: those are read
 * when asked for, through a descriptor kept open, so that a file deleted meanwhile still has them.
 */
#ifndef JANK_SYMBOL_ELF_NAMES_H
#define JANK_SYMBOL_ELF_NAMES_H

#include "symbol/elf/image.h"

#define NAME_MAX_LEN	4096	    /* longer ones are cut */
#define NAMES_ARENA_MAX (32u << 20) /* of a table; what comes later has no name */

struct names {
	struct image img;
	uint64_t off, size; /* the strings' part of the image */
	char end;	    /* what ends a string, besides NUL */
	bool owns_fd;
	char *arena; /* owned; img points to it then */
	size_t cap;
};

void names__init(struct names *names); /* an empty arena */
void names__free(struct names *names); /* leaves it empty */

/* Borrows part of an image, until names__keep or names__free. */
void names__borrow(struct names *names, const struct image *img, uint64_t off, uint64_t size,
		   char end);

/* Makes borrowed names independent: copies small ones and those in memory, duplicates the
 * descriptor of others. */
int names__keep(struct names *names);

/* Appends to the arena. Returns the offset, or -ENOMEM, or -E2BIG. */
int64_t names__add(struct names *names, const char *str, size_t len);

void names__shrink(struct names *names); /* gives the arena's unused memory back */

/* Reads the name at off into buf (cap bytes with the NUL); a longer one is cut. Its length, 0
 * when there is none. */
size_t names__get(const struct names *names, uint64_t off, char *buf, size_t cap);

size_t names__bytes(const struct names *names);

#endif
