/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader of /tmp/perf-PID.map, where a JIT compiler writes the names of its code. */
#ifndef JANK_SYMBOL_INTERPRETERS_PERFMAP_H
#define JANK_SYMBOL_INTERPRETERS_PERFMAP_H

#include "symbol/elf/symtab.h"
#include <sys/types.h>
#include <time.h>

struct perfmap {
	struct symtab tab; /* the names stay in the file */
	int fd;		   /* -1: not found yet */
	uint64_t off;	   /* read up to here */
	uint64_t last;	   /* hash of the last bytes before off */
	uint64_t mtime_ns;
	uint64_t next_ns;    /* do not read or search again before this time */
	uint32_t generation; /* changes with each change of the table; 0: no table yet */
	bool full;	     /* stop reading: the file is too large */
	bool behind;	     /* CPU time limit reached: more to read now */
	uint64_t until_ns;   /* limit of this thread's CPU time; checked every CLOCK_EVERY lines */
	unsigned line_cnt;
};

void perfmap__init(struct perfmap *map);
void perfmap__free(struct perfmap *map);

/*
 * Finds the map below `root` (/proc/PID/root) of a process with the pid nspid in its namespace, and
 * reads what was added. The file is not trusted: only a regular file of that user or root is read.
 * Cheap to call often. On an error the table stays as it was.
 */
void perfmap__update(struct perfmap *map, const char *root, uint32_t nspid, uid_t uid);

#endif
