/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of jit-PID.dump, where a JIT compiler describes its code for perf: names, moves, source
 * lines. The compiler maps the file as executable, so that readers find it in the process's
 * mappings.
 */
#ifndef JANK_SYMBOL_INTERPRETERS_JITDUMP_H
#define JANK_SYMBOL_INTERPRETERS_JITDUMP_H

#include "base/clock.h"
#include "symbol/interpreters/code_map.h"
#include "symbol/names/proc_maps.h"
#include <sys/types.h>

/* A record of the file with the lines of a piece of code. */
struct jit_lines {
	uint64_t addr, off; /* off: offset of its entries in the file */
	uint32_t size, cnt; /* of the entries: bytes, number */
};

struct jitdump {
	struct code_map code;
	struct names names;	 /* left in the file */
	struct jit_lines *lines; /* sorted by address, then by position in the file */
	size_t line_cnt, line_cap;
	int fd;	   /* -1: not found yet */
	dev_t dev; /* of the file */
	uint64_t inode;
	uint64_t off;	     /* read up to here */
	uint64_t next_ns;    /* do not read again before this time */
	uint32_t generation; /* changes with each change of the table; 0: no table yet */
	bool full;	     /* stop reading: the file is broken or too large */
	bool behind;	     /* CPU time limit reached: more to read now */
};

void jitdump__init(struct jitdump *dump);
void jitdump__free(struct jitdump *dump);

/* Returns true when the name of a mapping is that of a jitdump file. */
bool jitdump__is(const struct mapped *mapped);

/*
 * Switches to another file. Takes ownership of fd. Closes fd unless it is a jitdump file of the
 * process's user or root.
 */
void jitdump__open(struct jitdump *dump, int fd, uid_t uid);

/*
 * Reads what was added to the file, for at most JITDUMP_CPU_NS of the thread's CPU time. Later
 * calls read the rest. Cheap to call often. On an error the table stays as it was.
 */
#define JITDUMP_CPU_NS (50 * NS_PER_MS)
void jitdump__update(struct jitdump *dump);

/*
 * Returns the code at an address, or NULL. jitdump__line returns its line, with the file's name in
 * buf; 0: unknown.
 */
const struct symbol *jitdump__find(struct jitdump *dump, uint64_t addr);
uint32_t jitdump__line(const struct jitdump *dump, const struct symbol *sym, uint64_t addr,
		       char *buf, size_t cap);

size_t jitdump__bytes(const struct jitdump *dump);

#endif
