/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What simjank can do in one dispatch. simjank_table.h has the list. */
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
	CLASS_LONE,  /* not in `all`, because it changes the other scenarios; otherwise the same */
	CLASS_HANG,  /* too long for a mix: only by its name */
	CLASS_QUIET, /* no jank: only by its name */
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

/* NULL if there is none of that name. The name need not be terminated. */
const struct scenario *scenario__find(const char *name, size_t len);

#ifdef __cplusplus
}
#endif
#endif
