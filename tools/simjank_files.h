/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stage's files and its memory. */
#ifndef SIMJANK_FILES_H
#define SIMJANK_FILES_H

#include <stddef.h>

#include "simjank_fixture.h"

/*
 * A file in the stage's directory, filled and on its storage, and an object of the cast by that
 * name (static). Its descriptor or -errno.
 */
int file__make(struct fixture *stage, const char *name, int flags, size_t size);

/* STAGE_COLD_SZ of it, to be read page by page, and none in memory. -errno. */
int file__map(int fd, volatile char **map);

/* What the scenarios of storage need. Each -errno. */
int files__open_buffer(struct fixture *stage);
int files__open_disk(struct fixture *stage);
int files__open_reader(struct fixture *stage);
int files__open_cold(struct fixture *stage);
int files__open_lock(struct fixture *stage);
int files__open_missing(struct fixture *stage);

#endif
