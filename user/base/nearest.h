/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Search for the known word that a mistyped one probably means. Distance: insertions, deletions,
 * replacements and swaps of neighbours (restricted Damerau-Levenshtein); upper and lower case are
 * equal. A word is near within a third of the mistyped word's length. Of equally near words the
 * first one wins. No allocation; any thread.
 */
#ifndef JANK_BASE_NEAREST_H
#define JANK_BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_LEN_MAX 31 /* longer words are near to nothing */

struct nearest {
	const char *word;
	size_t len;
	const char *best; /* a candidate; NULL: none is near */
	size_t best_len;
	unsigned distance; /* of best; without one: the first distance that is too far */
};

/* The word is borrowed until the last nearest__offer. */
void nearest__init(struct nearest *near, const char *word, size_t len);

/* Takes the candidate as best if it is nearer than the best so far. */
void nearest__offer(struct nearest *near, const char *candidate, size_t len);

#endif
