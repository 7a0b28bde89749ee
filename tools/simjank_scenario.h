/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What simjank can do in one dispatch: simjank_table.h says what there is. */
#ifndef SIMJANK_SCENARIO_H
#define SIMJANK_SCENARIO_H

#include <stddef.h>
#include <stdint.h>

#include "simjank_table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fixture;

/* Both ends are possible. */
struct range {
	uint64_t min_ns, max_ns;
};

enum scenario_class {
	CLASS_JANK,  /* part of `all`; --length sets its length */
	CLASS_LONE,  /* not of `all`, since it changes what the others are; else likewise */
	CLASS_HANG,  /* too long for a mix: by its name only */
	CLASS_QUIET, /* no jank: by its name only */
};

#define SIMJANK_X_ID(name, ...) SCENARIO_##name,
enum scenario_id { SIMJANK_SCENARIOS(SIMJANK_X_ID) SCENARIO_CNT };
#undef SIMJANK_X_ID

/* See BLAME in simjank_table.h. */
struct blame {
	const char *kind, *what, *chain, *preemptors, *object;
};

struct scenario {
	const char *name;
	enum scenario_class type;
	const char *cpu_kind, *off_kind;
	const char *handler, *inner;
	struct range length;
	unsigned needs;
	struct blame blame;
	const char *help;
	void (*handle)(struct fixture *stage, uint64_t end_ns); /* returns at about end_ns */
};

extern const struct scenario scenarios[SCENARIO_CNT];

/* NULL when there is none of that name; the name need not be terminated. */
const struct scenario *scenario__find(const char *name, size_t len);

#ifdef __cplusplus
}
#endif
#endif
