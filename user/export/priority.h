/* SPDX-License-Identifier: GPL-2.0 */
/* A task's priority and policy, as the exports write them. */
#ifndef JANK_EXPORT_PRIORITY_H
#define JANK_EXPORT_PRIORITY_H

#include "base/strbuf.h"
#include <stdint.h>

/* "nice -5", "real-time 50", "deadline", by the number on the wire (JANK_PRIO_OFFSET); nothing where it isn't known. */
void priority__add(struct strbuf *sb, uint16_t prio);

/* Nice 0, which goes without saying, or not known. */
bool priority__is_usual(uint16_t prio);

/* "normal", "fifo", "rr", … of a SCHED_*; NULL for one that we don't know. */
const char *policy__name(uint16_t policy);

#endif
