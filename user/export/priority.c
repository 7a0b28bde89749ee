/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's scale of priorities in the words of chrt(1) and nice(1). */
#include "export/priority.h"

#include "bpf/jank_abi.h"

#define DEADLINE (JANK_PRIO_OFFSET - 1)
#define REAL_TIME_MAX                                                                              \
	(JANK_PRIO_OFFSET + 99) /* the kernel counts it down from 99, which is the lowest */
#define NICE_0	 (JANK_PRIO_OFFSET + 120)
#define NICE_MAX (NICE_0 + 19)

void priority__add(struct strbuf *sb, uint16_t prio)
{
	if (prio < DEADLINE || prio > NICE_MAX)
		return;
	if (prio == DEADLINE)
		strbuf__adds(sb, "deadline");
	else if (prio <= REAL_TIME_MAX)
		strbuf__addf(sb, "real-time %d", REAL_TIME_MAX - prio);
	else
		strbuf__addf(sb, "nice %d", prio - NICE_0);
}

bool priority__is_usual(uint16_t prio)
{
	return prio < DEADLINE || prio > NICE_MAX || prio == NICE_0;
}

const char *policy__name(uint16_t policy)
{
	static const char *const names[] = { "normal", "fifo", "rr",	   "batch",
					     NULL,     "idle", "deadline", "ext" };

	return policy < sizeof(names) / sizeof(*names) ? names[policy] : NULL;
}
