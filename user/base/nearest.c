/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nearest known word: three rows of the matrix of distances. */
#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define ROW_SZ (NEAREST_LEN_MAX + 1)

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned min = a < b ? a : b;

	return min < c ? min : c;
}

/* before[0] is the row of a's first i - 1 characters, before[1] that of i - 2. */
static void fill_row(unsigned *row, unsigned (*before)[ROW_SZ], const char *a, size_t i,
		     const char *b, size_t b_len)
{
	row[0] = i;
	for (size_t k = 1; k <= b_len; k++) {
		row[k] = least(before[0][k] + 1, row[k - 1] + 1,
			       before[0][k - 1] + !same(a[i - 1], b[k - 1]));
		if (i > 1 && k > 1 && same(a[i - 1], b[k - 2]) && same(a[i - 2], b[k - 1]) &&
		    before[1][k - 2] + 1 < row[k])
			row[k] = before[1][k - 2] + 1;
	}
}

static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned before[2][ROW_SZ] = {}, row[ROW_SZ];

	for (size_t k = 0; k <= b_len; k++)
		before[0][k] = k;
	for (size_t i = 1; i <= a_len; i++) {
		fill_row(row, before, a, i, b, b_len);
		memcpy(before[1], before[0], sizeof(row));
		memcpy(before[0], row, (b_len + 1) * sizeof(*row));
	}
	return before[0][b_len];
}

void nearest__init(struct nearest *near, const char *word, size_t len)
{
	*near = (struct nearest){ .word = word, .len = len, .distance = len / 3 + 1 };
	if (len > NEAREST_LEN_MAX)
		near->distance = 0;
}

void nearest__offer(struct nearest *near, const char *candidate, size_t len)
{
	unsigned found;

	if (!near->distance || len > NEAREST_LEN_MAX)
		return;
	found = distance(near->word, near->len, candidate, len);
	if (found >= near->distance)
		return;
	near->distance = found;
	near->best = candidate;
	near->best_len = len;
}
