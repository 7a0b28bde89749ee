/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fixture's files and its memory. */
#ifndef SIMJANK_FILES_H
#define SIMJANK_FILES_H

#include <stddef.h>

#include "simjank_fixture.h"

/*
 * Makes a file in the fixture's directory, filled and written to its storage, and an actor object
 * of that (static) name. Returns its descriptor or -errno.
 */
int file__make(struct fixture *stage, const char *name, int flags, size_t size);

/*
 * STAGE_COLD_SZ bytes of it, to be read page by page, with no page in memory. Returns 0 or -errno.
 */
int file__map(int fd, volatile char **map);

/* What the storage scenarios need. Each returns 0 or -errno. */
int files__open_buffer(struct fixture *stage);
int files__open_disk(struct fixture *stage);
int files__open_reader(struct fixture *stage);
int files__open_cold(struct fixture *stage);
int files__open_lock(struct fixture *stage);
int files__open_missing(struct fixture *stage);

#endif
