/* SPDX-License-Identifier: GPL-2.0 */
/* A slow disk: a cgroup whose threads may read and write so many bytes a second only, while it is switched on. */
#ifndef SIMJANK_SLOW_H
#define SIMJANK_SLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "simjank_stage.h"

/* The cgroup; and the file that is on that disk, 16 MiB, and its mapping. -errno. */
int slow__open(struct stage *stage);

/* The calling thread uses it as a slow one from now on. -errno. */
int slow__enter(const struct stage *stage);

void slow__set(struct stage *stage, bool on);

/* What a partner of the handlers does until end_ns: write and fsync. */
void work_fsync(struct stage *stage, uint64_t end_ns);

#endif
