/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Languages whose functions have frames that are not C's. One file a language, and a row of the
 * table in language.c, in one of two families:
 * - frames on the native stack, in code that a runtime makes or brings along (V8). The unwinder
 *   finds these frames; this part reads their functions from the process's memory when a copied
 *   stack is unwound, and their names when the stack is shown.
 * - frames in the heap (CPython): heap.h.
 * Used on the symbolizer's thread only.
 */
#ifndef JANK_SYMBOL_LANGUAGES_LANGUAGE_H
#define JANK_SYMBOL_LANGUAGES_LANGUAGE_H

#include "bpf/jank_abi.h"
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi;
struct cfi_row;
struct elf;
struct frame;
struct heap_language;
struct pool;
struct process;
struct process_env;
struct region;
struct unwound;

#define NATIVE_WORDS 9 /* HotSpot on arm64 has its bytecode in the last one */

/* A frame in code without unwind table, most often of a JIT compiler. */
struct native_frame {
	uint64_t pc;
	uint64_t fp; /* 0: not known, or the words are not; only in code that was made */
	uint64_t words[NATIVE_WORDS]; /* words[i]: at fp - 8 * (i + 1); 0: below the frame */
	uint64_t bytecode; /* register that HotSpot's interpreter uses for it; 0: not known */
	uint64_t method;   /* lowest word of a frame in ART's code, its ArtMethod; 0: not known */
	uint64_t dex;	 /* of ART's interpreters: address of the bytecode, see dex_frame; else 0 */
	uint32_t index;	 /* of its address in struct unwound */
	bool exact;	 /* interrupted there; false: a call returns there */
	bool in_file;	 /* in a file's code, not in code that was made */
	bool dex_begins; /* `dex` is where its method begins, whatever instruction runs */
	bool borrowed;	 /* its caller has the same frame pointer: the words are its caller's */
};

/* --- a language: its reader, of which language.c has a table */

struct target_memory;
struct frame_places;

/* What a reader works with, of one process. Owned by language.c. */
struct language_reader {
	struct target_memory *mem;   /* of the process, for one stack */
	struct frame_places *places; /* where the names go */
	const char *proc;	     /* "/proc", borrowed */
	uint32_t pid;		     /* a live thread of the process */
	uint64_t at_ns;		     /* time of the stack, CLOCK_MONOTONIC; 0: not known */
	bool later;		     /* some memory was not read yet: the result is not final */
	unsigned searches;	     /* of this stack, by a reader that limits them */
	bool cut;		     /* the frame has no name, as that would take too long now */
};

#define FRAME_BY_POINTER 1u /* no size, but a frame pointer */

struct language {
	const char *name; /* of its frames: "javascript" */
	/* begin of the name of a file that may have the runtime, after "lib"; NULL: any file */
	const char *file;
	/*
	 * Looks for the runtime in a file. 0: *ret is what the file tells of it (allocated);
	 * -ENOENT: it has none; -ENOTSUP: a version that is not supported; or -errno.
	 */
	int (*open)(const struct elf *elf, void **ret);
	size_t (*bytes)(const void *state);
	void (*end)(void *state);	  /* frees the state */
	const struct heap_language *heap; /* frames in the heap; NULL: on the native stack */
	bool reads_dex;			  /* native_frame.dex is its own */

	/* --- frames on the native stack */
	/*
	 * The state of a process. file: from open, valid as long as the state; bias: what to add to
	 * the file's addresses. NULL: out of memory, or the process cannot be read.
	 */
	void *(*start)(const void *file, uint64_t bias, struct language_reader *reader);
	/*
	 * Finds the place of a frame in reader->places, or adds it; now or with a later frame.
	 * Returns false when the frame is none of the language, or cannot be read; final unless
	 * reader->later is set.
	 */
	bool (*place)(void *state, const struct native_frame *frame, uint64_t *ret_key);
	/*
	 * The row of the unwind table of code that the runtime made, see cfi__row; NULL: it has
	 * none. Op NULL: the runtime gives no tables. ret_cfi: valid for the next 63 calls.
	 */
	const struct cfi_row *(*row)(void *state, uint64_t pc, bool exact, struct cfi **ret_cfi);
	/*
	 * Bytes from the stack pointer to the caller's, of a frame at a call in code that the
	 * runtime made; 0: not known; or FRAME_BY_POINTER. top: the frame's lowest word.
	 * *ret_saved (ART): the machine's numbers of registers that are below the return address,
	 * the highest one first. Op NULL: the runtime does not tell.
	 */
	uint32_t (*frame_size)(void *state, uint64_t pc, uint64_t top, uint32_t *ret_saved);
};

extern const struct language language_v8;      /* v8_frame.c */
extern const struct language language_hotspot; /* hotspot_frame.c */
extern const struct language language_art;     /* art.c */
extern const struct language language_python;  /* python.c */
extern const struct language language_ruby;    /* ruby.c */

/*
 * The language with frames in the heap whose runtime a file of this name may have ("python3.11",
 * "libpython3.11.so.1.0"); NULL: none.
 */
const struct language *language__in_heap(const char *path);

/* True for a function of such a language that makes a sleep; see struct heap_language. */
bool language__sleeps(const char *function);

/* What a file has of a language's runtime. Owned by the module of the file. */
struct language_file {
	const struct language *language;
	void *content; /* of language->open; NULL: the version is not supported */
};

/* Looks for a runtime in the file of a path. NULL: none that is known. */
struct language_file *language_file__of(const struct elf *elf, const char *path);

/*
 * The file of a process with a runtime of either family; NULL: none. *ret_region: a region of it.
 * Each file is searched once; of those with frames in the heap only files with a name of theirs.
 */
const struct language_file *language__find(struct process_env *env, struct process *process,
					   bool in_heap, const struct region **ret_region);

/* What to add to the addresses of the region's file. 0 or -errno. */
int language__bias(struct process_env *env, struct process *process, const struct region *region,
		   uint64_t *ret);

/* Symbols of a file by name. */
struct language_symbol {
	const char *name;
	Elf64_Sym sym;
};

/* Finds all of them: in .dynsym, which a stripped file keeps, else in .symtab. 0, or -errno. */
int language__symbols(const struct elf *elf, struct language_symbol *symbols, size_t cnt);
void language_file__free(struct language_file *file); /* accepts NULL */

/* The state of a process; NULL until the first frame. */
struct language_process;
void language_process__free(struct language_process *state); /* accepts NULL */
size_t language_process__bytes(const struct language_process *state);

/*
 * Adds the functions of frames, innermost first, to ret->script. A frame that several functions
 * share by inlining has several.
 */
void language__read(struct process_env *env, struct process *process, struct native_frame *frames,
		    size_t cnt, struct unwound *ret);

/*
 * The row of the unwind table for an address in code that a runtime made, as language.row, at the
 * time maps.at_ns. NULL: there is none.
 */
const struct cfi_row *language__row(struct process_env *env, struct process *process, uint64_t pc,
				    bool exact, struct cfi **ret_cfi);

/* As language.frame_size. Reads the process's memory. */
uint32_t language__frame_size(struct process_env *env, struct process *process, uint64_t pc,
			      uint64_t top, uint32_t *ret_saved);

/*
 * Fills a frame for a function that language__read added. Returns false when its name is not known:
 * then the frame has only the language. A name that would have taken too long is counted in env.
 */
bool language__name(struct process_env *env, struct process *process, struct pool *pool,
		    const struct jank_script_frame *from, struct frame *ret);

#endif
