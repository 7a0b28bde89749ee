/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of JIT code: the pieces of code, and the two files in which a JIT compiler describes them.
 */
#ifndef JANK_SYMBOL_LANGUAGES_JIT_H
#define JANK_SYMBOL_LANGUAGES_JIT_H

#include "base/clock.h"
#include "symbol/elf/symtab.h"
#include "symbol/names/proc_maps.h"
#include <sys/types.h>
#include <time.h>

/*
 * --- map from an address to the piece of JIT code that lies there now, for code that is written,
 * moved and overwritten. Pieces are added in order of time; a later piece replaces all pieces that
 * it overlaps. The map is a treap with random priorities, so add and find take O(log n) steps in
 * any order, also for a hostile program. 24 bytes per piece, at most CODE_MAP_MAX pieces. One
 * thread only.
 */

#define CODE_MAP_MAX (256u << 10)

struct code_piece {
	struct symbol sym;
	uint32_t left, right; /* indices; 0: none */
};

struct code_map {
	struct code_piece *pieces; /* index 0 is not used */
	uint32_t cnt, cap;	   /* slots that are in use or were freed */
	uint32_t root, free; /* roots of the tree by address, and of the tree of freed pieces */
	uint64_t seed;
	uint64_t steps; /* number of visited pieces, for tests */
};

void code_map__init(struct code_map *map);
void code_map__free(struct code_map *map);

/*
 * Adds a piece. 0, -ENOMEM, or -E2BIG when the map holds CODE_MAP_MAX pieces. Ignores a piece of
 * size 0.
 */
int code_map__put(struct code_map *map, uint64_t addr, uint32_t size, uint32_t name);

/* Returns the piece that holds addr, or NULL. Valid until the next code_map__put. */
const struct symbol *code_map__find(struct code_map *map, uint64_t addr);

size_t code_map__bytes(const struct code_map *map);

/* --- reader of /tmp/perf-PID.map, where a JIT compiler writes the names of its code. */

struct perfmap {
	struct symtab tab; /* the names stay in the file */
	int fd;		   /* -1: not found yet */
	uint64_t off;	   /* read up to here */
	uint64_t last;	   /* hash of the last bytes before off */
	uint64_t mtime_ns;
	uint64_t next_ns;    /* do not read or search again before this time */
	uint64_t refused;    /* inode of the last file that was refused; 0: none */
	uint32_t generation; /* changes with each change of the table; 0: no table yet */
	bool full;	     /* stop reading: the file is too large */
	bool behind;	     /* CPU time limit reached: more to read now */
};

void perfmap__init(struct perfmap *map);
void perfmap__free(struct perfmap *map);

/*
 * Finds the map below `root` (/proc/PID/root) of a process with the pid nspid in its namespace, and
 * reads what was added. The file is not trusted: only a regular file of that user is read, and no
 * symbolic link is followed. Reads 64 MiB at most, for 50 ms of CPU time in one call. Cheap to call
 * often. On an error the table does not change.
 */
void perfmap__update(struct perfmap *map, const char *root, uint32_t nspid, uid_t uid);

/*
 * --- reader of jit-PID.dump, where a JIT compiler describes its code for perf: names, moves,
 * source lines. The compiler maps the file as executable, so that readers find it in the process's
 * mappings.
 */

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
	int fd;	    /* -1: not found yet */
	char *name; /* for messages; or NULL */
	dev_t dev;  /* of the file */
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
 * process's user. name: for the message about another owner.
 */
void jitdump__open(struct jitdump *dump, int fd, uid_t uid, const char *name);

/*
 * Reads what was added to the file, for at most JITDUMP_CPU_NS of the thread's CPU time. Later
 * calls read the rest. Cheap to call often. On an error the table does not change.
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
