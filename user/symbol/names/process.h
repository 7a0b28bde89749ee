/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of one traced process: its mappings, its JIT compiler's names, addresses named
 * so far. */
#ifndef JANK_SYMBOL_NAMES_PROCESS_H
#define JANK_SYMBOL_NAMES_PROCESS_H

#include "symbol/interpreters/jitdump.h"
#include "symbol/interpreters/perfmap.h"
#include "symbol/modules/module.h"
#include "symbol/names/proc_maps.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses already named: of one process, or of the kernel. */

/* A function that was inlined at an address. */
struct cached_inlined {
	const char *function, *file;
	uint32_t line;
};

struct cached {
	uint64_t key;	      /* cache__key */
	uint64_t base;	      /* the address minus its frame's offset */
	const char *function; /* strings are the pool's */
	const char *module;
	const char *build_id;
	const char *file;     /* of the function itself, not of what was inlined there */
	const char *language; /* static */
	const struct cached_inlined *inlined; /* innermost first; the pool's */
	uint32_t inlined_cnt, line;
	uint32_t generation; /* of the perf map, when jit */
	bool used, app;
	bool cut; /* the look-up of its name or line took too long */
	bool jit; /* a perf map's: stands only while that does not change */
};

struct cache {
	struct cached *slots; /* open addressing */
	size_t slot_cnt, cnt;
};

/* An address and whether it is looked up as it is, or as a return address. */
uint64_t cache__key(uint64_t addr, bool exact);

/* The entry of key, or NULL. */
struct cached *cache__find(struct cache *cache, uint64_t key);

/* Adds a copy (of a key that is not there), or nothing when out of memory: it is only a cache. A
 * full one is emptied first. */
void cache__add(struct cache *cache, const struct cached *entry);

void cache__clear(struct cache *cache); /* frees its memory; usable afterwards */
size_t cache__bytes(const struct cache *cache);

struct interp;
struct jvm_exits;

/* Of the whole symbolizer. */
struct process_env {
	char *proc, *debug_dir;
	struct modules modules;
	struct fetch *fetch; /* NULL: no servers to ask */
	uint64_t leased_cnt; /* files not opened: another process holds a lease on them */
	char *leased;	     /* the first one's path, or NULL */
};

struct process {
	UT_hash_handle hh;
	uint32_t pid;
	uint32_t living;     /* the thread by which /proc tells of its memory */
	uint32_t nspid;	     /* what it calls itself */
	uint64_t start_time; /* tells it from a later process of the same pid; 0: unknown */
	uid_t uid;
	struct proc_maps maps;
	struct cache cache;
	struct perfmap jit;
	struct calls *calls; /* return addresses in code of no file, or NULL; see tables.h */
	struct jitdump dump;
	bool is_java;		     /* HotSpot's libjvm.so is mapped */
	struct jvm_exits *java_ways; /* or NULL */
	uint64_t next_refresh_ns;    /* none for a missing address before */
	struct interp *script;	     /* an interpreter that it runs, or NULL; see interp__of */
	bool script_known;	     /* whether it does, by these maps */
};

struct process *process__new(uint32_t pid);
void process__free(struct process_env *env, struct process *process); /* accepts NULL */

/*
 * Reads the mappings again and opens files that are new among them. must_be_same: refuse another
 * process of the same pid. 0 or -errno (-ESRCH: it is gone); on failure everything stays as it was.
 */
int process__refresh(struct process_env *env, struct process *process, bool must_be_same);

/* It has mapped a file since: the file is opened, while it can be. 0 or -errno. */
int process__mapped(struct process_env *env, struct process *process,
		    const struct mapping *mapping);

/* Sees to it that a mapping's tables are built; its module may be another afterwards. */
void process__load(struct process_env *env, const struct process *process, struct mapped *mapped);

/* Opens the mapping's file again; -ESTALE: it is another one by now, or -errno. */
int process__open(struct process_env *env, const struct process *process,
		  const struct mapped *mapped);

void process__update_jit(const struct process_env *env, struct process *process);

/* Is there more in what its JIT compiler wrote than was read: too much at once, or at all? */
bool process__jit_is_partial(const struct process *process);

/* Changes whenever what a JIT compiler tells does. */
uint32_t process__jit_generation(const struct process *process);

size_t process__bytes(const struct process *process);

#endif
