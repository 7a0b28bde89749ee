/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fixture's cgroups and their settings. Version 1, in which a single thread can be in a cgroup.
 */
#ifndef SIMJANK_CGROUP_H
#define SIMJANK_CGROUP_H

#include <stdbool.h>

#include "simjank_fixture.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_CONTROLLERS                                                                         \
	{                                                                                          \
		"blkio", "cpu", "memory"                                                           \
	}

/* Makes the fixture's cgroup of this controller. Returns 0 or -errno. */
int cgroup__make(const struct fixture *stage, const char *controller);

/* Opens a file of it for writing. Returns a descriptor or -errno. */
int cgroup__open_file(const struct fixture *stage, const char *controller, const char *file);

/* Writes a file of it. Returns 0 or -errno. */
int cgroup__write(const struct fixture *stage, const char *controller, const char *file,
		  const char *text);

/*
 * Moves the calling thread out of any cgroup of this controller: a real-time thread may need that.
 */
void cgroup__leave(const char *controller);

/*
 * Moves a thread to the cgroup whose CPU quota cgroup__set_quota sets: a tenth of a CPU, or none.
 */
int cgroup__make_quota(struct fixture *stage);
/* For processes that compete for a CPU: groups get equal shares, however many tasks they have. */
int cgroup__enter_quota(const struct fixture *stage);
void cgroup__set_quota(struct fixture *stage, bool on);

#endif
