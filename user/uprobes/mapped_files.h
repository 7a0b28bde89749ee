/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that a process maps executable and that may contain functions to probe. */
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
	bool likely; /* by its name: target_wants__fits */
};

struct target_wants;

/*
 * Whether a file with that name (the last part of its path) may have sites, so that it is worth
 * opening.
 */
bool target_wants__fits(const struct target_wants *wants, const char *name, bool is_exe);

/* Its two halves: a C library's or the Looper's name, and a file that the catalogue's rows name. */
bool library_name__has_waits(const char *name);
bool target_wants__marks(const struct target_wants *wants, const char *name, bool is_exe);

struct mapped_files {
	struct candidate *items; /* the likely ones first */
	size_t cnt, likely_cnt;
};

/*
 * Reads /proc/PID/maps. Lists each file once; skips files beyond the limits above. Free ret in both
 * cases. Returns 0 or -errno (-ESRCH: no such process).
 */
int mapped_files__read(pid_t pid, const struct target_wants *wants, struct mapped_files *ret);
int mapped_files__read_file(const char *maps_path, pid_t pid, const struct target_wants *wants,
			    struct mapped_files *ret);
void mapped_files__free(struct mapped_files *candidates);

/*
 * Opens exactly the mapped file for reading: by /proc/PID/map_files, or else by its path in the
 * mount namespace of the process if that is still the same file. Fills open_path. Returns a
 * descriptor that the caller owns, or -errno.
 */
int candidate__open(const struct candidate *candidate, pid_t pid, char *open_path, size_t size);

/*
 * --- identity of a file for a uprobe: the inode below all overlays
 *
 * Containers of one image map the same inode through mounts of their own, each with another device
 * number.
 */

/* Compared as bytes. */
struct file_key {
	uint64_t kind, a, b;
};

/* The key from a mapping's numbers. False: the open file is needed. */
bool file_key__of_mapping(uint64_t dev, uint64_t inode, struct file_key *ret);

/* The key from the open file. 0 or -errno. */
int file_key__of_fd(int fd, struct file_key *ret);

/*
 * Opens the same file below the overlay of fd and closes fd. Returns fd itself when there is no
 * overlay or the file cannot be opened. A uprobe attached through an overlay keeps it mounted, even
 * after its container has ended.
 */
int file_key__below(int fd);

#endif
