/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slow disk: a cgroup with a limit on the bytes per second that its threads may read and write,
 * while it is switched on.
 */
#ifndef SIMJANK_SLOW_H
#define SIMJANK_SLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "simjank_fixture.h"

/* Makes the cgroup, the file on that disk, 16 MiB, and its mapping. Returns 0 or -errno. */
int slow__open(struct fixture *stage);

/* From now on the disk is slow for the calling thread. Returns 0 or -errno. */
int slow__enter(const struct fixture *stage);

void slow__set(struct fixture *stage, bool on);

/* What a partner of the handlers does until end_ns: write and fsync. */
void work_fsync(struct fixture *stage, uint64_t end_ns);

#endif
