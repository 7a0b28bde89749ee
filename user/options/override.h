/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * [override NAME] of an agent's configuration: other limits for some processes. The first one that
 * matches applies, in the order of the file.
 */
#ifndef JANK_OPTIONS_OVERRIDE_H
#define JANK_OPTIONS_OVERRIDE_H

#include "base/strbuf.h"
#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options;

#define OVERRIDE_MAX	  64
#define OVERRIDE_NAME_MAX 32

enum override_match {
	OVERRIDE_UNIT,
	OVERRIDE_CGROUP,
	OVERRIDE_PROCESS,
	OVERRIDE_LOOP,
	OVERRIDE_MATCH_CNT
};

struct override {
	char name[OVERRIDE_NAME_MAX + 1];
	const char *globs[OVERRIDE_MATCH_CNT]; /* NULL: any; borrowed from the options' texts */
	bool hang_implied; /* has_hang, because its threshold is longer than the others' hang */
	bool has_threshold, has_hang, has_fps, has_records_per_signature, unwatched;
	uint64_t threshold_ns, hang_ns; /* hang 0: none */
	unsigned fps, records_per_signature;
	struct strbuf text; /* its lines of the file, for a comparison and --check-config */
	unsigned line;
	unsigned given; /* bits of its value keys, while it is read */
};

/* What is known of a process or of its loop. NULL: not known, which only "*" matches. */
struct override_facts {
	const char *of[OVERRIDE_MATCH_CNT];
};

/* NULL: none applies. Any thread, as the next two. */
const struct override *override__find(const struct options *opts,
				      const struct override_facts *facts);

/*
 * The least threshold of the process's loops, in ns, for the probes, which do not know the names of
 * loops; facts->of[OVERRIDE_LOOP] is not used. UINT64_MAX: it is not watched.
 */
uint64_t override__least_threshold(const struct options *opts, const struct override_facts *facts);

/* Over all processes: when stacks are wanted, and when hangs are looked for (0: never). */
uint64_t override__least_of_all(const struct options *opts);
uint64_t override__least_hang(const struct options *opts);

/* A hang is never shorter than a block: gives overrides with a longer threshold such a hang. */
void override__imply_hangs(struct options *opts);

/*
 * The limits at which a hang is reported, over all processes: each hang, and Android's limits above
 * the least; ascending, then UINT64_MAX. False: there are too many.
 */
bool override__hang_limits(const struct options *opts, uint64_t ret[JANK_HANG_LIMITS]);

/* Adds the sections as they stand in the file. */
void override__print(const struct options *opts, struct strbuf *ret);

#endif
