/* SPDX-License-Identifier: GPL-2.0 */
/* The files that a process maps executable and that may hold the functions to probe. */
#ifndef JANK_UPROBES_CANDIDATES_H
#define JANK_UPROBES_CANDIDATES_H

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

struct candidates {
	struct candidate *items; /* the likely ones first */
	size_t cnt, likely_cnt;
};

/* Reads /proc/PID/maps: each file once, more than the limits above are passed over. 0 or -errno
 * (-ESRCH: there is no such process). Free ret in both cases. */
int candidates__read(pid_t pid, const struct target_wants *wants, struct candidates *ret);
int candidates__read_file(const char *maps_path, pid_t pid, const struct target_wants *wants,
			  struct candidates *ret);
void candidates__free(struct candidates *candidates);

/* Opens the very file for reading: by /proc/PID/map_files, else by its path in the process's mount
 * namespace if that is still the same file. Returns a descriptor and fills open_path, or -errno. */
int candidate__open(const struct candidate *candidate, pid_t pid, char *open_path, size_t size);

#endif
