/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable file mappings of a /proc/PID/maps, which can hold 100,000 lines, with any bytes in
 * its paths.
 */
#ifndef JANK_PROCFS_MAPS_LINES_H
#define JANK_PROCFS_MAPS_LINES_H

#include <stdint.h>

struct proc_maps_line {
	char *path; /* decoded, " (deleted)" removed; lasts until the callback returns */
	uint64_t start, end, offset, dev, inode;
};

/*
 * Calls fn for each, until one returns other than 0, which is returned; else 0, or -errno (-ESRCH:
 * there is no such process).
 */
int maps_lines__each(const char *maps_path, int (*fn)(void *ctx, const struct proc_maps_line *line),
		     void *ctx);

/* The same for every file mapping, executable or not: all lines have to be scanned. */
int maps_lines__each_file(const char *maps_path,
			  int (*fn)(void *ctx, const struct proc_maps_line *line), void *ctx);

/*
 * A path as /proc shows it, in place: a newline is written \012 there, a word follows a deleted
 * one.
 */
void maps_lines__decode_path(char *path);

#endif
