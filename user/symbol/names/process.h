/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of one traced process: its mappings, the symbols of its JIT compiler, and a cache of
 * addresses already resolved.
 */
#ifndef JANK_SYMBOL_NAMES_PROCESS_H
#define JANK_SYMBOL_NAMES_PROCESS_H

#include "symbol/elf/debugfile.h"
#include "symbol/languages/jit.h"
#include "symbol/modules/module.h"
#include "symbol/names/cache.h"
#include "symbol/names/proc_maps.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_process;
struct jvm_exits;

struct copy_event;

/* Environment shared by all processes of the symbolizer. */
struct process_env {
	uint16_t machine;		/* EM_* of 64-bit threads; 0: this machine's */
	uint64_t pc_mask;		/* bits of its code addresses; 0: this machine's */
	const struct copy_event *other; /* see symbolizer_opts */
	char *proc, *debug_dir;
	struct modules modules;
	struct fetch *fetch; /* NULL: no debuginfod servers */
	uint64_t leased_cnt; /* files not opened because another process holds a lease on them */
	uint64_t cut_cnt;    /* frames without a name, as that would have taken too long */
	char *leased;	     /* path of the first such file, or NULL */
};

struct process {
	UT_hash_handle hh;
	uint32_t pid;
	uint32_t living;     /* thread through which /proc shows the process's memory */
	uint32_t nspid;	     /* pid inside its own namespace */
	uint64_t start_time; /* identifies it among processes with the same pid; 0: unknown */
	uid_t uid;
	struct proc_maps maps;
	struct cache cache;
	struct perfmap jit;
	struct calls *calls; /* return addresses in code without a file, or NULL; see tables.h */
	struct jitdump dump;
	bool is_java;		     /* HotSpot's libjvm.so is mapped */
	struct jvm_exits *java_ways; /* or NULL */
	uint64_t next_refresh_ns;    /* a missing address causes no refresh before this time */
	struct heap_process *heap;   /* of a language with frames in the heap (heap.h), or NULL */
	bool heap_known;	     /* `heap` is current for these maps */
	struct language_process *language; /* of languages on the native stack; or NULL */
	bool language_unknown;		   /* a runtime has a layout that is not known: counted */
};

struct process *process__new(uint32_t pid);
void process__free(struct process_env *env, struct process *process); /* accepts NULL */

/*
 * Reads the mappings again and opens the files that are new. must_be_same: refuse another process
 * with the same pid. Returns 0 or -errno (-ESRCH: it has ended); on failure nothing changes.
 */
int process__refresh(struct process_env *env, struct process *process, bool must_be_same);

/* Adds a file that the process has just mapped, and opens it. Returns 0 or -errno. */
int process__mapped(struct process_env *env, struct process *process,
		    const struct mapping *mapping);

/* Builds the tables of a mapping if needed; this may replace its module. */
void process__load(struct process_env *env, const struct process *process, struct mapped *mapped);

/* Opens the file of a mapping again. -ESTALE: it is another file by now; or -errno. */
int process__open(struct process_env *env, const struct process *process,
		  const struct mapped *mapped);

/* Places of the debug file of a mapped file. root: PATH_MAX bytes, borrowed by the result. */
struct debugfile_places process__places(const struct process_env *env,
					const struct process *process, const struct mapped *mapped,
					char *root);

/*
 * Opens the file of a region as an ELF file for fn; if fn returns -ENODATA, then its debug file.
 * *ret_bias: what to add to linked addresses. Returns fn's result, or -errno.
 */
struct elf;
typedef int (*process_elf_fn)(void *ctx, const struct elf *elf);
int process__read_elf(struct process_env *env, const struct process *process,
		      const struct region *region, process_elf_fn fn, void *ctx,
		      uint64_t *ret_bias);

void process__update_jit(const struct process_env *env, struct process *process);

/*
 * Is some output of its JIT compiler unread, because it was too much at once or too much in total?
 */
bool process__jit_is_partial(const struct process *process);

/* A number that changes whenever the information from a JIT compiler changes. */
uint32_t process__jit_generation(const struct process *process);

size_t process__bytes(const struct process *process);

#endif
