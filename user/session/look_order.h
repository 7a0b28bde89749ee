/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order in which processes are looked at, where there is room for some only. */
#ifndef JANK_SESSION_LOOK_ORDER_H
#define JANK_SESSION_LOOK_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOOK_ORDER_MAX 8192 /* processes; more are left out */

/* All zero: empty. */
struct look_order {
	struct look_order_entry *entries;
	size_t cnt, room;
};

struct look_order_entry {
	uint32_t pid;
	char state;	 /* of its main thread, as in /proc/PID/stat */
	uint64_t ran_ns; /* when that was last on a CPU; 0: not known */
};

/* 0, -ENOSPC or -ENOMEM. */
int look_order__add(struct look_order *order, const struct look_order_entry *entry);
/* State D first, then what sleeps, then the others; of each those first that ran longest ago. */
void look_order__sort(struct look_order *order);
void look_order__free(struct look_order *order);

/*
 * When the main thread was last accounted for on a CPU, by a clock of the kernel's scheduler; some
 * seconds off. 0: not known (no CONFIG_SCHED_DEBUG). Any thread.
 */
uint64_t look_order__ran_ns(uint32_t pid);

#endif
