/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stage's cgroups (version 1, where one thread alone can be in one) and what they are set to. */
#ifndef SIMJANK_CGROUP_H
#define SIMJANK_CGROUP_H

#include <stdbool.h>

#include "simjank_fixture.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_CONTROLLERS                                                                         \
	{                                                                                          \
		"blkio", "cpu", "memory"                                                           \
	}

/* Makes the stage's cgroup of this controller. -errno. */
int cgroup__make(const struct fixture *stage, const char *controller);

/* Opens a file of it for writing. A descriptor or -errno. */
int cgroup__open_file(const struct fixture *stage, const char *controller, const char *file);

/* Writes a file of it. -errno. */
int cgroup__write(const struct fixture *stage, const char *controller, const char *file,
		  const char *text);

/* The calling thread leaves any cgroup of this controller: a real-time one may need to. */
void cgroup__leave(const char *controller);

/* The cgroup whose CPU quota cgroup__set_quota sets: a tenth of a CPU, or none. */
int cgroup__make_quota(struct fixture *stage);
/* By those that compete for a CPU: groups get equal parts of it, however many are in them. */
int cgroup__enter_quota(const struct fixture *stage);
void cgroup__set_quota(struct fixture *stage, bool on);

#endif
