/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slow disk: a cgroup whose threads may read and write so many bytes a second only, while it is
 * switched on.
 */
#ifndef SIMJANK_SLOW_H
#define SIMJANK_SLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "simjank_fixture.h"

/* The cgroup; and the file that is on that disk, 16 MiB, and its mapping. -errno. */
int slow__open(struct fixture *stage);

/* The calling thread uses it as a slow one from now on. -errno. */
int slow__enter(const struct fixture *stage);

void slow__set(struct fixture *stage, bool on);

/* What a partner of the handlers does until end_ns: write and fsync. */
void work_fsync(struct fixture *stage, uint64_t end_ns);

#endif
