/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /tmp/perf-PID.map: the names that a JIT compiler gives its code. */
#ifndef JANK_SYMBOL_INTERPRETERS_PERFMAP_H
#define JANK_SYMBOL_INTERPRETERS_PERFMAP_H

#include "symbol/elf/symtab.h"
#include <sys/types.h>
#include <time.h>

struct perfmap {
	struct symtab tab; /* its names stay in the file */
	int fd;		   /* -1: none was found yet */
	uint64_t off;	   /* read up to here */
	uint64_t last;	   /* hash of what is before that */
	uint64_t mtime_ns;
	uint64_t next_ns;    /* not read again, nor looked for, before */
	uint32_t generation; /* changes whenever the table does; 0: none yet */
	bool full;	     /* nothing more is read: it is too large */
	bool behind;	     /* the time was up: there is more to read now */
	uint64_t until_ns;   /* of this thread's CPU time; looked at every so many lines */
	unsigned line_cnt;
};

void perfmap__init(struct perfmap *map);
void perfmap__free(struct perfmap *map);

/*
 * Looks for the map of a process that calls itself nspid below `root` (/proc/PID/root) and reads
 * what was added to it. It is hostile: only a regular file of that user or root counts. Cheap to
 * call often; what cannot be read leaves the table as it was.
 */
void perfmap__update(struct perfmap *map, const char *root, uint32_t nspid, uid_t uid);

#endif
