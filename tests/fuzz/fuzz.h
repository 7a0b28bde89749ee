/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mutation without a library: random numbers from a fixed seed (FUZZ_SEED), for a bounded time
 * (FUZZ_SECONDS of CPU, because a long run shares its machine; SIGINT ends it sooner). A failure
 * names its round; the same seed reaches the same round again.
 */
#ifndef JANK_FUZZ_H
#define JANK_FUZZ_H

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fuzz/cost.h"
#include "tests/fuzz/cover.h"
#include "tests/tap.h"

struct fuzz {
	uint64_t state, begin_ns, end_ns, round;
	size_t early; /* edges that were taken in the first tenth of the time */
	struct cost cost;
};

static inline uint64_t fuzz__env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static volatile sig_atomic_t fuzz_interrupted;

static inline void fuzz__interrupt(int sig)
{
	fuzz_interrupted = 1;
}

/* per_byte: the bound on the cost of a round (cost.h). */
static inline struct fuzz fuzz__begin(unsigned per_byte)
{
	uint64_t now = cost__cpu_ns();

	signal(SIGINT, fuzz__interrupt);
	return (struct fuzz){
		.state = fuzz__env("FUZZ_SEED", 1) * 2654435761u + 88172645463325252ull,
		.cost.per_byte = per_byte,
		.begin_ns = now,
		.end_ns = now + fuzz__env("FUZZ_SECONDS", 3) * NS_PER_SEC,
	};
}

/* Is there another round? Its cost counts from here to cost__end. */
static inline bool fuzz__goes_on(struct fuzz *f)
{
	uint64_t now = cost__cpu_ns();

	f->round++;
	if (!f->early && now - f->begin_ns > (f->end_ns - f->begin_ns) / 10)
		f->early = cover__count();
	cost__begin(&f->cost);
	return now < f->end_ns && !fuzz_interrupted && !f->cost.exceeded;
}

/* Prints how far it came, if compiled with coverage (cover.h). */
static inline void fuzz__report(const struct fuzz *f)
{
	if (f->early)
		diag("%llu rounds; %zu edges after a tenth of the time, %zu at the end",
		     (unsigned long long)f->round - 1, f->early, cover__count());
}

/* xorshift64 */
static inline uint64_t fuzz__any(struct fuzz *f)
{
	f->state ^= f->state << 13;
	f->state ^= f->state >> 7;
	f->state ^= f->state << 17;
	return f->state;
}

/* 0 to n - 1 */
static inline size_t fuzz__below(struct fuzz *f, size_t n)
{
	return fuzz__any(f) % n;
}

/* One time in n. */
static inline bool fuzz__chance(struct fuzz *f, size_t n)
{
	return !fuzz__below(f, n);
}

/* A number that programs often handle wrongly. */
static inline uint64_t fuzz__number(struct fuzz *f)
{
	static const uint64_t numbers[] = {
		0,	    1,		2,	   7,	       31,	   32,
		33,	    63,		64,	   65,	       127,	   128,
		255,	    256,	4095,	   65535,      65536,	   INT32_MAX,
		UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX, UINT64_MAX - 7,
	};
	uint64_t number = numbers[fuzz__below(f, sizeof(numbers) / sizeof(numbers[0]))];

	return fuzz__chance(f, 4) ? fuzz__any(f) >> fuzz__below(f, 64) : number;
}

/* Puts a number of a random width at a random place. */
static inline void fuzz__damage(struct fuzz *f, void *bytes, size_t len)
{
	size_t width = (size_t)1 << fuzz__below(f, 4);
	uint64_t number = fuzz__number(f);

	if (fuzz__chance(f, 4))
		((unsigned char *)bytes)[fuzz__below(f, len)] ^= 1 << fuzz__below(f, 8);
	else if (len >= width)
		memcpy((char *)bytes + fuzz__below(f, len / width) * width, &number, width);
}

/*
 * Changes fewer than `max` words of a process's memory to numbers that do most damage as an
 * address, a length or a state: some point into the same memory.
 */
static inline void fuzz__damage_words(struct fuzz *f, uint8_t *bytes, size_t size, unsigned max)
{
	static const uint64_t hostile[] = { 0, 1, 7, 4095, UINT64_MAX, INT64_MAX, 1ull << 47 };

	for (size_t i = fuzz__below(f, max); i; i--) {
		uint64_t value = hostile[fuzz__below(f, 7)];

		if (fuzz__chance(f, 3))
			value = (uint64_t)(bytes + fuzz__below(f, size));
		else if (fuzz__chance(f, 2))
			value = fuzz__any(f);
		memcpy(bytes + fuzz__below(f, size), &value, 8);
	}
}

/* The result: no round has broken a promise. broken: what one has, or NULL. */
static inline void fuzz__ok(const struct fuzz *f, const char *broken)
{
	ok(!broken, "round %llu: %s", (unsigned long long)f->round,
	   broken ? broken : "all promises hold");
}

#endif
