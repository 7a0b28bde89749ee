/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A limit on the whole program's memory, and swap for it. Each function returns 0 or -errno. */
#ifndef SIMJANK_MEMORY_H
#define SIMJANK_MEMORY_H

#include "simjank_fixture.h"

int memory__enter(
	struct fixture *stage); /* moves the program into a cgroup, before it uses memory */
int memory__open_swap(struct fixture *stage); /* and makes memory to be swapped out */
int memory__limit(struct fixture *stage); /* last: sets the limit to little more than is in use */

#endif
