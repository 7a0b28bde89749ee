/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blocks made by hand, and the verdict's sentence about them: for the tests of the sentences for
 * each kind of fault.
 */
#ifndef JANK_SENTENCE_FIXTURE_H
#define JANK_SENTENCE_FIXTURE_H

#include "tests/tap.h"
#include "tests/unit/verdict_fixture.h"

/* Blames and frees the block. */
static inline void sentence__says(struct block *block, const char *want, const char *name)
{
	blame__block(block);
	is_str(block->cause.summary, want, "%s", name);
	block__free(block);
}

#define SENTENCE_SEEN_MAX 4

/* The samples of a block: some ticks on the CPU, or a span off it. */
struct sentence_seen {
	unsigned ticks, ms;
	uint32_t state;
	const char *syscall, *stack[6]; /* as STACK, with NULL after the last */
};

#define TICKS(cnt, ...)                                                                            \
	{                                                                                          \
		.ticks = (cnt), .stack = { __VA_ARGS__ }                                           \
	}
#define SPAN(NAME, length_ms, call, ...)                                                           \
	{                                                                                          \
		.ms = (length_ms), .state = JANK_STATE_##NAME, .syscall = (call), .stack = {       \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/* A block of 200 ms, and its sentence. */
struct sentence_case {
	const char *name, *want;
	unsigned running_ms;
	struct facts facts;
	Jankbpf__Scheduling scheduling; /* nothing that a block would own */
	struct sentence_seen seen[SENTENCE_SEEN_MAX];
};

static inline void sentence__add(struct block *block, const struct sentence_seen *seen)
{
	if (seen->ms)
		verdict__sample(block, seen->state, seen->ms * MS, seen->syscall, seen->stack);
	for (unsigned i = 0; i < seen->ticks; i++)
		verdict__sample(block, JANK_STATE_RUNNING, 0, seen->syscall, seen->stack);
}

static inline void sentence__check(const struct sentence_case *cases, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		struct block *block = verdict__block();

		block->state_ns[JANK_STATE_RUNNING] = cases[i].running_ms * MS;
		block->facts = cases[i].facts;
		if (block->facts.known) {
			const ProtobufCMessage base = block->live->scheduling->base;

			*block->live->scheduling = cases[i].scheduling;
			block->live->scheduling->base = base;
		}
		for (size_t j = 0; j < SENTENCE_SEEN_MAX; j++)
			sentence__add(block, &cases[i].seen[j]);
		sentence__says(block, cases[i].want, cases[i].name);
	}
}

#define SENTENCE_CHECK(cases) sentence__check((cases), sizeof(cases) / sizeof((cases)[0]))

#endif
