/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The edges of the program's graph that a round took. The compiler adds a call at each block of
 * code if told to (-fsanitize-coverage=trace-pc, as `make fuzz` does). Without that all counts are
 * 0.
 */
#ifndef JANK_FUZZ_COVER_H
#define JANK_FUZZ_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define COVER_SZ (1u << 15)

static struct {
	uint8_t taken[COVER_SZ]; /* how often in this round, up to 255 */
	uint8_t known[COVER_SZ]; /* how often in any round: a bit for each power of two */
	uintptr_t before;
	size_t edges;	/* with something in known */
	uint64_t steps; /* blocks of code that were run since the start */
} cover;

void __sanitizer_cov_trace_pc(void);

/* Relative to an address of the program, which is loaded somewhere else each time. */
__attribute__((no_sanitize("address", "undefined"), no_sanitize_coverage)) void
__sanitizer_cov_trace_pc(void)
{
	uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)__sanitizer_cov_trace_pc;

	cover.taken[(at ^ cover.before) % COVER_SZ] +=
		cover.taken[(at ^ cover.before) % COVER_SZ] != 255;
	cover.before = at >> 1;
	cover.steps++;
}

__attribute__((no_sanitize_coverage)) static inline void cover__begin(void)
{
	memset(cover.taken, 0, sizeof(cover.taken));
	cover.before = 0;
}

__attribute__((no_sanitize_coverage)) static inline bool cover__take(size_t i)
{
	uint8_t bit = 1 << (31 - __builtin_clz(cover.taken[i]));

	if (cover.known[i] & bit)
		return false;
	cover.edges += !cover.known[i];
	cover.known[i] |= bit;
	return true;
}

/* For a test without rounds: how many edges were taken since the start. */
__attribute__((no_sanitize_coverage)) static inline size_t cover__count(void)
{
	size_t cnt = 0;

	for (size_t i = 0; i < COVER_SZ; i++)
		cnt += cover.taken[i] != 0;
	return cnt;
}

/* Did the round reach an edge that none before did, or much more often? */
__attribute__((no_sanitize_coverage)) static inline bool cover__end(void)
{
	bool ret = false;

	for (size_t i = 0; i < COVER_SZ; i += 8) {
		uint64_t word;

		memcpy(&word, cover.taken + i, sizeof(word));
		for (size_t j = i; word && j < i + 8; j++)
			if (cover.taken[j])
				ret |= cover__take(j);
	}
	return ret;
}

#endif
