/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JANK_SYMBOL_NAMES_MAPPING_H
#define JANK_SYMBOL_NAMES_MAPPING_H

#include <stdint.h>

/* A file that was mapped executable. */
struct mapping {
	uint64_t start, end, offset; /* addresses in memory, offset in the file */
	uint64_t dev, inode;	     /* as in /proc/PID/maps */
	uint64_t t_ns;		     /* CLOCK_MONOTONIC */
	const char *path;	     /* as the process sees it, without " (deleted)" */
};

#endif
