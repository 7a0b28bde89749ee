/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of places in code of a language: of one place, the function there, and those into which it
 * was inlined. A place is found by a key of its language. Bounded: the half that was not asked for
 * lately is dropped. Used on the symbolizer's thread only.
 */
#ifndef JANK_SYMBOL_LANGUAGES_FRAME_PLACES_H
#define JANK_SYMBOL_LANGUAGES_FRAME_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLACE_FUNCTIONS_MAX 16

struct place_function {
	const char *function; /* NULL: its name is not known */
	const char *file;     /* NULL: not known */
	uint32_t line;	      /* 0: not known */
	bool interpreted;     /* of bytecode, not of JIT code */
	bool glue;	      /* the runtime's own code between functions: none of the language */
};

struct frame_place {
	uint32_t cnt;
	struct place_function functions[]; /* innermost first */
};

/* Zeroed: empty. */
struct frame_places {
	struct place_entry *recent, *old; /* by key */
	size_t recent_bytes, old_bytes;
};

/* The place, valid until the next call; NULL: not known. */
const struct frame_place *frame_places__find(struct frame_places *places, uint64_t key);

/* Adds a place that is not known, with copies of its texts. Does nothing when out of memory. */
void frame_places__add(struct frame_places *places, uint64_t key,
		       const struct place_function *functions, uint32_t cnt);

size_t frame_places__bytes(const struct frame_places *places);
void frame_places__free(struct frame_places *places); /* leaves it empty */

#endif
