/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of the executable file mappings in /proc/PID/maps, which may have 100,000 lines and paths
 * of any bytes.
 */
#ifndef JANK_PROCFS_MAPS_LINES_H
#define JANK_PROCFS_MAPS_LINES_H

#include <stdint.h>

struct proc_maps_line {
	char *path; /* decoded, " (deleted)" removed; valid until the callback returns */
	uint64_t start, end, offset, dev, inode;
};

/*
 * Calls fn for each mapping until fn returns a value other than 0, and returns that value; else 0,
 * or -errno (-ESRCH: no such process).
 */
int maps_lines__each(const char *maps_path, int (*fn)(void *ctx, const struct proc_maps_line *line),
		     void *ctx);

/* Like maps_lines__each, for every file mapping, executable or not: it scans all lines. */
int maps_lines__each_file(const char *maps_path,
			  int (*fn)(void *ctx, const struct proc_maps_line *line), void *ctx);

/*
 * Decodes a path from /proc in place: \012 becomes a newline, and the " (deleted)" suffix is
 * removed.
 */
void maps_lines__decode_path(char *path);

#endif
