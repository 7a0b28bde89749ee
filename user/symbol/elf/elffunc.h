/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the placing of a probe needs from an ELF file: the addresses of named functions, and their
 * code. Only 64-bit programs and libraries, of this machine's byte order.
 *
 * In the tracer another process parses the file (elffunc__use). The tracer itself reads only code,
 * at the file offsets that this process proposes.
 */
#ifndef JANK_SYMBOL_ELF_ELFFUNC_H
#define JANK_SYMBOL_ELF_ELFFUNC_H

#include "files/zip.h"
#include "symbol/elf/elf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELFFUNC_NAMES_MAX 64

/* A function; value 0: not found. */
struct elffunc_place {
	uint64_t value; /* address as linked */
	uint64_t size;	/* bytes; 0: unknown */
};

struct elffunc {
	int fd;	     /* owned, or -1: in memory */
	void *mem;   /* owned, or NULL */
	bool remote; /* elf has only the machine, the executable segments and the build id */
	struct elf elf;
};

/*
 * The parser in another process. Between open and close it keeps one file, for one thread. fd: of
 * the file, borrowed. The functions return what those below return; -EIO: there is no answer.
 */
struct elffunc_ops {
	/* Sets machine, loads and build_id. */
	int (*open)(void *ctx, int fd, uint64_t base, uint64_t size, struct elf *ret);
	int (*find)(void *ctx, bool each, const char *const *names, size_t cnt,
		    struct elffunc_place *ret);
	bool (*has_section)(void *ctx, const char *name);
	void (*close)(void *ctx);
	int (*entry)(void *ctx, int fd, uint64_t offset, struct zip_entry *ret);
	int (*package)(void *ctx, int fd, struct package *ret);
};

/* From now on that process parses. NULL: this one. Call it before other threads use a file. */
void elffunc__use(const struct elffunc_ops *ops, void *ctx);

/* Another process for the calling thread alone: it does not wait for files of other threads. */
void elffunc__use_here(const struct elffunc_ops *ops, void *ctx);

/* zip_entry__at: the library in an APK that holds the byte at offset. */
int elffunc__entry(int fd, uint64_t offset, struct zip_entry *ret);

/* package__of_file: the package that an executable or an APK comes from. */
int elffunc__package(int fd, struct package *ret);

/* Takes over fd, also on failure. Returns 0, -ENOEXEC or -ENOMEM. */
int elffunc__open(int fd, struct elffunc *ret);
/*
 * The same for an ELF file inside another file: a library in an APK. size: at most; 0 or
 * UINT64_MAX: up to the end of the file.
 */
int elffunc__open_within(int fd, uint64_t base, uint64_t size, struct elffunc *ret);
void elffunc__close(struct elffunc *elf);

/*
 * Looks up defined functions in .dynsym; when none of them is there, in .symtab. cnt is at most
 * ELFFUNC_NAMES_MAX; ret[i] belongs to names[i]. Returns the number found, or -errno.
 */
int elffunc__find(const struct elffunc *elf, const char *const *names, size_t cnt,
		  struct elffunc_place *ret);

/*
 * The same, but decides for each name alone: first .dynsym, then .symtab, then the small ELF file
 * in .gnu_debugdata, which has the symbols that were stripped.
 */
int elffunc__find_each(const struct elffunc *elf, const char *const *names, size_t cnt,
		       struct elffunc_place *ret);

bool elffunc__has_section(const struct elffunc *elf, const char *name);

/*
 * Opens the small ELF file in .gnu_debugdata. It has the symbols that were stripped from this file,
 * but not the code. Returns 0, -ENOENT, -ENOEXEC, -EFBIG or -errno.
 */
int elffunc__open_debugdata(const struct elffunc *elf, struct elffunc *ret);

/*
 * Reads code at an address as linked, from executable segments only: at most len bytes, fewer at
 * the end of a segment. *ret_offset is the offset in the file. Returns the number of bytes, or
 * -errno.
 */
int elffunc__code(const struct elffunc *elf, uint64_t value, uint8_t *buf, size_t len,
		  uint64_t *ret_offset);

#endif
