/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that a process maps executable and that may hold the functions to probe. */
#ifndef JANK_UPROBES_MAPPED_FILES_H
#define JANK_UPROBES_MAPPED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CANDIDATES_LIKELY_MAX 64
#define CANDIDATES_OTHER_MAX  64

struct candidate {
	char *path; /* as in maps, " (deleted)" removed */
	uint64_t start, end, offset, dev, inode;
	bool is_exe;
	bool likely; /* by its name: targets__fits */
};

struct target_wants;

struct mapped_files {
	struct candidate *items; /* the likely ones first */
	size_t cnt, likely_cnt;
};

/* Reads /proc/PID/maps: each file once, more than the limits above are passed over. 0 or -errno
 * (-ESRCH: there is no such process). Free ret in both cases. */
int mapped_files__read(pid_t pid, const struct target_wants *wants, struct mapped_files *ret);
int mapped_files__read_file(const char *maps_path, pid_t pid, const struct target_wants *wants,
			    struct mapped_files *ret);
void mapped_files__free(struct mapped_files *candidates);

/* Opens the very file for reading: by /proc/PID/map_files, else by its path in the process's mount
 * namespace if that is still the same file. Returns a descriptor and fills open_path, or -errno. */
int candidate__open(const struct candidate *candidate, pid_t pid, char *open_path, size_t size);

/*
 * Which file it is to a uprobe, that is, which inode below all overlays: containers of one image
 * map the same inode through mounts of their own, each with another device number.
 */

/* Compared as bytes. */
struct file_key {
	uint64_t kind, a, b;
};

/* From what a mapping tells; false: only the open file tells. */
bool file_key__of_mapping(uint64_t dev, uint64_t inode, struct file_key *ret);

/* From the open file. 0 or -errno. */
int file_key__of_fd(int fd, struct file_key *ret);

/*
 * The same file without the overlay through which fd was opened, which is closed; or fd, where
 * there is none or it can't be had. A uprobe attached through an overlay keeps it mounted, although
 * its container may be gone.
 */
int file_key__below(int fd);

#endif
