/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of ART's methods (Android's runtime), which describes them for debuggers in two lists:
 * - __jit_debug_descriptor has the JIT code, an ELF file in memory for each method or for many.
 * - __dex_debug_descriptor has the DEX files, in one of which an interpreter's frame has its place.
 * Layouts of Android 8 to 14 from runtime/jit/debugger_interface.cc and libunwindstack; those of 15
 * and 16 are taken to be the same and were not seen. Other layouts give no names.
 *
 * The lists and files are the process's and not trusted: number, sizes, reads of a stack and time
 * are bounded. Used on the symbolizer's thread only.
 */
#ifndef JANK_SYMBOL_LANGUAGES_ART_H
#define JANK_SYMBOL_LANGUAGES_ART_H

#include "files/bucket.h"
#include "files/file.h"
#include "symbol/elf/symtab.h"
#include "symbol/languages/dex.h"
#include "symbol/languages/language.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ART_PAGE	4096u
#define ART_ENTRIES_MAX 8192u
#define ART_NAME_MAX	512
#define ART_SYMFILE_MAX (1u << 20)
#define ART_BYTES_MAX	(8u << 20)   /* of all symbols */
#define ART_FRAMES_MAX	(256u << 10) /* bytes of a file's unwind tables */
#define ART_CFI_MAX	64u	     /* files whose tables are open */
#define ART_READS_FIRST 512u	     /* of the first stack: some 40 ms */
#define ART_READS	96u	     /* of a later one */
#define ART_CHECKS	512u	     /* reads of entries that are known, a stack */
#define ART_FULL_STACKS 64u	     /* at a limit, between two looks for removed entries */

#define ART_DEX_CHAIN	  64u	     /* files behind each other in one mapping */
#define ART_DEX_WINDOWS	  4096u	     /* reads of a DEX file's classes */
#define ART_NAME_WINDOWS  64u	     /* reads to name one frame */
#define ART_DEX_BYTES_MAX (4u << 20) /* of all indexes */
#define ART_DEX_NS_MAX	  300000000u /* for reading DEX files at once; and for each second: */
#define ART_DEX_NS_PER_S  50000000u
#define ART_DEX_ID	  24 /* bytes of a DEX file's checksum and signature */

/* What libart.so tells. */
struct art_file {
	uint64_t jit;	 /* address of __jit_debug_descriptor */
	uint64_t dex;	 /* address of __dex_debug_descriptor; 0: none, before Android 9 */
	bool is64, wide; /* wide: 64-bit numbers are aligned, as everywhere but on x86-32 */
	bool tagged;	 /* the top byte of a pointer is not part of the address: arm64 */
	uint8_t link;	 /* bit of the return address in a mask of saved registers */
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

struct art_known {
	uint64_t key; /* of the entry; 0: no entry */
	uint64_t at;
};

/* The list of a descriptor. */
struct art_list {
	uint64_t descriptor;
	struct art_head head;	 /* as of the last complete walk */
	bool complete;		 /* all entries behind a known one are known */
	bool current;		 /* as of the last walk: what is known was not replaced by then */
	uint32_t lock;		 /* of the descriptor at the last walk */
	uint64_t resume;	 /* an entry at which the last walk ended early; 0: none */
	struct art_known *known; /* a hash table */
	size_t cnt, cap;
	bool full;	   /* at a limit: an entry was not taken */
	unsigned full_cnt; /* stacks since then */
	uint64_t swept;	   /* where the last look for removed ones ran out of reads; 0: nowhere */
};

/* A file of symbols and unwind tables. */
struct art_symfile {
	uint64_t ts_ns, begin, end;
	uint64_t at, key; /* of its entry */
	enum art_version version;
	uint32_t listed; /* `lock` of the list when its entry was last seen there */
	struct symtab tab;
	uint16_t machine;
	bool eh;
	void *frames; /* .debug_frame, or .eh_frame (eh); NULL: none */
	size_t frames_sz;
	struct cfi *cfi; /* NULL: not needed yet, or not lately */
	uint64_t cfi_used;
};

/* What is mapped around an address. */
struct art_source {
	uint64_t start, end, offset; /* all 0: not known */
	uint64_t dev, inode;	     /* inode 0: memory without a file */
};

enum art_dex_state {
	ART_DEX_NEW,
	ART_DEX_READY,
	ART_DEX_BAD,  /* not readable, or of an unknown version */
	ART_DEX_GONE, /* something else is at its place */
};

/* A DEX file in the process's memory. */
struct art_dex {
	struct art_entry
		entry; /* symfile: its begin; at 0: found in the mappings, not in the list */
	enum art_dex_state state;
	enum art_version version; /* of the entry */
	struct dex dex;		  /* READY: with an index; positions are addresses */
	struct art_source source;
	uint8_t id[ART_DEX_ID]; /* all 0: never READY */
	uint32_t listed;	/* `lock` of the list when it was last seen there */
	uint64_t used;		/* tick of its last use */
};

/* An ArtMethod. No gaps: it is hashed as it is. */
struct art_method {
	uint64_t at, entry; /* entry: where its code begins */
	uint32_t class;	    /* address */
	uint32_t index;	    /* of its method id */
	uint32_t code_sz;
	uint32_t frame_sz; /* bytes up to the caller's stack pointer; 0: not known */
	uint32_t saved;	   /* registers below the return address, the highest one first */
	uint32_t size;	   /* of the ArtMethod */
};

/* A process. */
struct art {
	const struct art_file *file;
	struct language_reader *reader;
	uint64_t stack_ns; /* the stack that is being read */
	bool walked;	   /* the list, for that stack */
	unsigned reads_left;
	unsigned checks_left; /* reads of entries that are known, for that stack */
	uint64_t page_at;     /* of the page that was read last; 1: none */
	uint8_t page[ART_PAGE];
	struct art_list jit;
	struct art_symfile *files;
	size_t file_cnt, file_cap, bytes, cfi_cnt;
	uint64_t cfi_tick;
	/* DEX files */
	uint64_t dex_stack_ns; /* the stack for which their list was walked */
	bool dex_walked;
	struct art_list dex_list;
	struct art_dex *dexes;
	size_t dex_cnt, dex_cap, dex_bytes;
	uint64_t dex_tick;
	struct bucket dex_time;
	bool dex_unknown;	  /* counted: bytecode in no file */
	struct dex_bytes windows; /* on the file that is being read: */
	struct art_source source;
	struct image image; /* size 0: its memory is read */
	unsigned windows_left;
	char path[128]; /* of `source`, for messages */
};

/* --- art_list.c */

/* Reads memory; through `page` if it is within one. Returns false when it is not present. */
bool art__read(struct art *art, uint64_t addr, void *buf, size_t len);
bool art__read_fresh(struct art *art, uint64_t addr, void *buf, size_t len);

bool art_head__read(struct art *art, uint64_t descriptor, struct art_head *ret);
bool art_entry__read(struct art *art, enum art_version version, uint64_t at, bool fresh,
		     struct art_entry *ret);

/* Returns true when the list still has the entry as it was: what was read for it is its own. */
bool art_entry__stands(struct art *art, const struct art_list *list, const struct art_head *head,
		       const struct art_entry *entry);

/*
 * Calls take with each entry that is not known yet; false from it: try again with a later stack.
 * Entries of which the symbols do not matter any more stay known.
 */
typedef bool (*art_take_fn)(struct art *art, const struct art_head *head,
			    const struct art_entry *entry);
void art_list__walk(struct art *art, struct art_list *list, art_take_fn take);

/* Is the entry known? False when art_list__walk found that the list no longer has it. */
bool art_list__knows(const struct art_list *list, uint64_t key);

/*
 * At a limit, forgets the entries that the list no longer has: an app that compiles for days has
 * had more of them than there is room for. Call it before art_list__walk. Returns true when some
 * were forgotten: then free what was read for them.
 */
bool art_list__forget(struct art *art, struct art_list *list);

/* --- art_jit.c */

bool art_jit__take(struct art *art, const struct art_head *head, const struct art_entry *entry);

/* Frees the files of entries that are no longer known. */
void art_jit__drop(struct art *art);

/* Reads functions and tables of an ELF file. 0 or -errno; free it then, too. is64: what it is. */
int art_symfile__parse(const void *bytes, size_t size, bool is64, struct art_symfile *ret,
		       size_t *ret_unpacked);
void art_symfile__free(struct art_symfile *file);

/*
 * The method at an address at a time (CLOCK_MONOTONIC): of the symbols that were there then, the
 * latest. NULL: none, or several without a time; or the list no longer has it, so that another one
 * may have come and gone since. The symbol is valid until the next walk.
 */
const struct symbol *art_jit__find(struct art *art, uint64_t pc, uint64_t t_ns,
				   struct art_symfile **ret_file);

/* The unwind tables of a file; NULL: it has none. Valid for the next ART_CFI_MAX calls. */
struct cfi *art_jit__cfi(struct art *art, struct art_symfile *file);

/* --- art_source.c: the bytes of a DEX file: of the file that is mapped there, else of memory */

/*
 * Opens what is mapped at an address. known: of an earlier call, or NULL. Then art->windows reads
 * it by addresses of the process. Returns false when nothing is mapped there. Close it in any case.
 */
bool art_source__open(struct art *art, uint64_t addr, const struct art_source *known);
void art_source__close(struct art *art);

/*
 * Finds the header of the DEX file with the bytecode at an address, in the mapping that is open: at
 * its begin, in a stored entry of an archive, or behind other ones. 0: there is none.
 */
uint64_t art_source__header(struct art *art, uint64_t addr);

/* --- art_dex.c */

/*
 * The place of an interpreter's frame, by its bytecode. Always has a key; the place has no name
 * when its method is not known for certain.
 */
void art_dex__place(struct art *art, const struct native_frame *frame, uint64_t *ret_key);
void art_dex__free(struct art *art);

/*
 * Opens the known file of the stack's time that begins at an address, for reads through
 * art->windows. NULL: there is none; or reader->cut: not yet. Call art_source__close in any case.
 */
struct art_dex *art_dex__open(struct art *art, uint64_t begin);

/* Whether what was read since is the file's own. False also when that is not known. */
bool art_dex__stands(struct art *art, struct art_dex *dex);
size_t art_dex__bytes(const struct art *art);

/* --- art_method.c: compiled methods by their ArtMethod */

/* Reads the ArtMethod at an address if its code contains pc. reader->later: not yet. */
bool art_method__read(struct art *art, uint64_t at, uint64_t pc, struct art_method *ret);

/* As language.place, by frame->method. */
bool art_method__place(struct art *art, const struct native_frame *frame, uint64_t *ret_key);

#endif
