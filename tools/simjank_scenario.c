/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scenarios of simjank_table.h. simjank_do_*.c have their handlers, by concern. */
#include "simjank_scenario.h"

#include <string.h>

#include "simjank_clock.h"
#include "simjank_handler.h"

#define SIMJANK_X_ROW(name_, class_, cpu_, off_, inner_, min_us, max_us, needs_, blame_, help_)    \
	{ .name = #name_,                                                                          \
	  .type = CLASS_##class_,                                                                  \
	  .cpu_kind = cpu_,                                                                        \
	  .off_kind = off_,                                                                        \
	  .handler = "handle_" #name_,                                                             \
	  .inner = inner_,                                                                         \
	  .length = { (min_us)*NS_PER_US, (max_us)*NS_PER_US },                                    \
	  .needs = needs_,                                                                         \
	  .blame = blame_,                                                                         \
	  .help = help_,                                                                           \
	  .handle = handle_##name_ },
const struct scenario scenarios[SCENARIO_CNT] = { SIMJANK_SCENARIOS(SIMJANK_X_ROW) };

const struct scenario *scenario__find(const char *name, size_t len)
{
	for (size_t i = 0; i < SCENARIO_none; i++)
		if (strlen(scenarios[i].name) == len && !memcmp(scenarios[i].name, name, len))
			return &scenarios[i];
	return NULL;
}
