/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A limit on the whole program's memory, and swap to which it goes. Each returns 0 or -errno. */
#ifndef SIMJANK_MEMORY_H
#define SIMJANK_MEMORY_H

#include "simjank_fixture.h"

int memory__enter(struct fixture *stage);     /* into a cgroup, before memory is taken */
int memory__open_swap(struct fixture *stage); /* and memory to be swapped out */
int memory__limit(struct fixture *stage);     /* the last of all: to little more than is in use */

#endif
