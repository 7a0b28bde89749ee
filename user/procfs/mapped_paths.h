/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Paths of mapped files that were found before: a page fault is known by its file's number alone, and whose maps would
 * tell the path may have ended when its last block is looked at. From one thread only.
 */
#ifndef JANK_PROCFS_MAPPED_PATHS_H
#define JANK_PROCFS_MAPPED_PATHS_H

#include "procfs/filepath.h"
#include <stdint.h>

/* Keeps a copy for a minute, as long as fewer than 16 others come. */
void mapped_paths__put(uint32_t pid, const struct file_number *number, const char *path,
		       uint64_t now_ns);

/* NULL: it isn't kept. Lasts until the next put. */
const char *mapped_paths__get(uint32_t pid, const struct file_number *number, uint64_t now_ns);

#endif
