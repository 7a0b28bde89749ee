/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which file it is to a uprobe, that is, which inode below all overlays: containers of one image map the same
 * inode through mounts of their own, each with another device number.
 */
#ifndef JANK_UPROBES_FILE_KEY_H
#define JANK_UPROBES_FILE_KEY_H

#include <stdbool.h>
#include <stdint.h>

/* Compared as bytes. */
struct file_key {
	uint64_t kind, a, b;
};

/* From what a mapping tells; false: only the open file tells. */
bool file_key__of_mapping(uint64_t dev, uint64_t inode, struct file_key *ret);

/* From the open file. 0 or -errno. */
int file_key__of_fd(int fd, struct file_key *ret);

/*
 * The same file without the overlay through which fd was opened, which is closed; or fd, where there is none
 * or it can't be had. A uprobe attached through an overlay keeps it mounted, although its container may be
 * gone.
 */
int file_key__below(int fd);

#endif
