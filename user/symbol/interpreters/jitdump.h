/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit-PID.dump: what a JIT compiler writes of its code for perf: names, moves, source lines. The
 * compiler maps the file, executable, so that it is found in the process's mappings.
 */
#ifndef JANK_SYMBOL_INTERPRETERS_JITDUMP_H
#define JANK_SYMBOL_INTERPRETERS_JITDUMP_H

#include "base/clock.h"
#include "symbol/interpreters/code_map.h"
#include "symbol/names/proc_maps.h"
#include <sys/types.h>

/* The lines of a piece of code: a record of the file. */
struct jit_lines {
	uint64_t addr, off; /* of its entries in the file */
	uint32_t size, cnt; /* of the entries: bytes, number */
};

struct jitdump {
	struct code_map code;
	struct names names;	 /* they stay in the file */
	struct jit_lines *lines; /* by address, then in the order of the file */
	size_t line_cnt, line_cap;
	int fd;	   /* -1: none was found yet */
	dev_t dev; /* of the file */
	uint64_t inode;
	uint64_t off;	     /* read up to here */
	uint64_t next_ns;    /* not read again before */
	uint32_t generation; /* changes whenever the table does; 0: none yet */
	bool full;	     /* nothing more is read: it is broken, or too large */
	bool behind;	     /* the time was up: there is more to read now */
};

void jitdump__init(struct jitdump *dump);
void jitdump__free(struct jitdump *dump);

/* Is this mapping such a file, by its name? */
bool jitdump__is(const struct mapped *mapped);

/*
 * Reads another file from now on: takes fd, of that file and of the process's user or root; else it
 * is closed.
 */
void jitdump__open(struct jitdump *dump, int fd, uid_t uid);

/*
 * Reads what was added, for JITDUMP_CPU_NS of the thread's CPU time at most: what is left then is
 * read with later updates. Cheap to call often; what cannot be read leaves the table as it was.
 */
#define JITDUMP_CPU_NS (50 * NS_PER_MS)
void jitdump__update(struct jitdump *dump);

/* The code at an address, or NULL. Its line: the file's name into buf; 0: not known. */
const struct symbol *jitdump__find(struct jitdump *dump, uint64_t addr);
uint32_t jitdump__line(const struct jitdump *dump, const struct symbol *sym, uint64_t addr,
		       char *buf, size_t cap);

size_t jitdump__bytes(const struct jitdump *dump);

#endif
