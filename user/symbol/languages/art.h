/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of ART's methods (Android's runtime): names of JIT code, which ART describes for debuggers
 * by the list of __jit_debug_descriptor, an ELF file in memory for each method or for many. Layouts
 * of Android 8 to 14 from runtime/jit/debugger_interface.cc and libunwindstack; those of 15 and 16
 * are taken to be the same and were not seen. Other layouts give no names.
 *
 * The lists and files are the process's and not trusted: number, sizes and reads of a stack are
 * bounded. Used on the symbolizer's thread only.
 */
#ifndef JANK_SYMBOL_LANGUAGES_ART_H
#define JANK_SYMBOL_LANGUAGES_ART_H

#include "symbol/elf/symtab.h"
#include "symbol/languages/language.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ART_PAGE	4096u
#define ART_ENTRIES_MAX 8192u
#define ART_SYMFILE_MAX (1u << 20)
#define ART_BYTES_MAX	(8u << 20) /* of all symbols */
#define ART_READS_FIRST 512u	   /* of the first stack: some 40 ms */
#define ART_READS	96u	   /* of a later one */

/* What libart.so tells. */
struct art_file {
	uint64_t jit;	 /* address of __jit_debug_descriptor */
	bool is64, wide; /* wide: 64-bit numbers are aligned, as everywhere but on x86-32 */
	bool tagged;	 /* the top byte of a pointer is not part of the address: arm64 */
};

/* The forms of an entry. */
enum art_version {
	ART_OLD,      /* Android 8: no time, no lock */
	ART_ANDROID1, /* 9 and 10: a time; one lock for the list */
	ART_ANDROID2, /* from 11 on: a lock for each entry, too */
};

struct art_entry {
	uint64_t at, next, symfile, size, ts_ns;
	uint32_t lock; /* odd: it is being changed, or free */
	uint64_t key;  /* hash of all but next */
};

struct art_head {
	enum art_version version;
	uint64_t first, ts_ns;
	uint32_t lock; /* odd: the list is being changed */
};

struct art;

/* The list of a descriptor. */
struct art_list {
	uint64_t descriptor;
	struct art_head head; /* as of the last complete walk */
	bool complete;	      /* all entries behind a known one are known */
	uint64_t resume;      /* an entry at which the last walk ended early; 0: none */
	uint64_t *keys;	      /* of known entries: a hash table */
	size_t cnt, cap;
};

/* A file of symbols. */
struct art_symfile {
	uint64_t ts_ns, begin, end;
	struct symtab tab;
};

/* A process. */
struct art {
	const struct art_file *file;
	struct language_reader *reader;
	uint64_t stack_ns; /* the stack that is being read */
	bool walked;	   /* the list, for that stack */
	unsigned reads_left;
	uint64_t page_at; /* of the page that was read last; 1: none */
	uint8_t page[ART_PAGE];
	struct art_list jit;
	struct art_symfile *files;
	size_t file_cnt, file_cap, bytes;
};

/* --- art_list.c */

/* Reads memory; through `page` if it is within one. Returns false when it is not present. */
bool art__read(struct art *art, uint64_t addr, void *buf, size_t len);
bool art__read_fresh(struct art *art, uint64_t addr, void *buf, size_t len);

bool art_head__read(struct art *art, uint64_t descriptor, struct art_head *ret);
bool art_entry__read(struct art *art, enum art_version version, uint64_t at, bool fresh,
		     struct art_entry *ret);

/*
 * Calls take with each entry that is not known yet; false from it: try again with a later stack.
 * Entries of which the symbols do not matter any more stay known.
 */
typedef bool (*art_take_fn)(struct art *art, const struct art_head *head,
			    const struct art_entry *entry);
void art_list__walk(struct art *art, struct art_list *list, art_take_fn take);

/* --- art_jit.c */

bool art_jit__take(struct art *art, const struct art_head *head, const struct art_entry *entry);

/* Reads the functions of an ELF file into tab. 0 or -errno. is64: what it must be. */
int art_symfile__parse(const void *bytes, size_t size, bool is64, struct symtab *tab,
		       size_t *ret_unpacked);

/*
 * The method at an address at a time (CLOCK_MONOTONIC): of the symbols that were there then, the
 * latest. NULL: none, or several without a time. The symbol is valid until the next walk.
 */
const struct symbol *art_jit__find(const struct art *art, uint64_t pc, uint64_t t_ns,
				   const struct art_symfile **ret_file);

#endif
