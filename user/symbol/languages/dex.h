/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of DEX files, the bytecode of Android: standard (035 to 041, with containers) and
 * CompactDex (Android 9 to 13). From the position of an instruction to its method, source file and
 * line. Source: https://source.android.com/docs/core/runtime/dex-format, and ART's libdexfile.
 *
 * The bytes are not trusted: every offset is checked, and counts are bounded by what the format can
 * express. A file costs 8 bytes for each run of methods of one class, at most 512 KiB; names stay
 * where they are. One thread only.
 */
#ifndef JANK_SYMBOL_LANGUAGES_DEX_H
#define JANK_SYMBOL_LANGUAGES_DEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEX_WINDOW    8192
#define DEX_CLASS_MAX 65536u /* a class is a type, and types have 16 bits in method ids */

/*
 * Bytes that files are read from: an image, or the memory of a process. Positions are offsets or
 * addresses. read returns how many bytes it copied, less than len only at an end, or -errno.
 */
struct dex_bytes {
	int64_t (*read)(void *ctx, uint64_t at, void *buf, size_t len);
	void *ctx;
	/* Two, since classes and their methods are read in turns. Set len to 0 to forget one. */
	struct dex_window {
		uint64_t at;
		size_t len;
		uint8_t bytes[DEX_WINDOW];
	} windows[2];
	unsigned recent; /* the window that was used last */
};

struct dex_table {
	uint32_t off, cnt;
};

/* A run of methods of one class, up to the next run. */
struct dex_run {
	uint32_t code; /* offset of the first one's code */
	uint16_t class_def;
	bool shared; /* a single method, whose code methods of other classes have, too */
};

struct dex {
	uint64_t base; /* position of offset 0: the file, or its container */
	uint64_t data; /* position of offset 0 of strings, classes and code */
	uint64_t size; /* from base on, with a shared data section of CompactDex */
	uint64_t next; /* position of the container's next file; 0: none */
	struct dex_table strings, types, methods, classes;
	bool compact;
	uint32_t debug_pos, debug_table, debug_base; /* of CompactDex, see dex_line.c */
	struct dex_run *runs;			     /* by code */
	size_t run_cnt;
};

/* Method of an instruction. */
struct dex_method {
	uint32_t index;	     /* of its method id */
	uint32_t class_def;  /* of its class */
	uint32_t code;	     /* offset of its code */
	uint32_t insns;	     /* offset of its first instruction, as code */
	uint32_t unit_cnt;   /* size of its instructions, in units of two bytes */
	uint32_t unit;	     /* of the instruction */
	uint32_t debug_info; /* offset of its lines; 0: none */
	bool shared;	     /* other methods have the same code: it may be one of those */
};

/*
 * Reads the header of a file at a position. Returns 0, -ENOEXEC: it is none of a known version, or
 * -errno of the read. Free it with dex__free.
 */
int dex__open(struct dex *dex, struct dex_bytes *bytes, uint64_t at);
void dex__free(struct dex *dex); /* leaves it empty */

/*
 * Builds the index, which dex__find needs: reads the classes. A broken class has no methods.
 * Returns 0, -ENOMEM, or -errno of the read.
 */
int dex__index(struct dex *dex, struct dex_bytes *bytes);

/* The method of the instruction at a position. Returns false when none is there. */
bool dex__find(const struct dex *dex, struct dex_bytes *bytes, uint64_t at, struct dex_method *ret);

/* Calls fn with each method that has code, until it returns false. For tests and tools. */
typedef bool (*dex_method_fn)(void *ctx, const struct dex_method *method);
int dex__each(const struct dex *dex, struct dex_bytes *bytes, dex_method_fn fn, void *ctx);

#define DEX_NAME_MAX 512
#define DEX_FILE_MAX 256

/*
 * Copies "package.Class$Inner.method" (DEX_NAME_MAX bytes, cut) in the format's own UTF-8. Returns
 * false when the file has no such name.
 */
bool dex_method__name(const struct dex *dex, struct dex_bytes *bytes,
		      const struct dex_method *method, char *ret);

/* The name of its source file (DEX_FILE_MAX bytes); "" when the class has none. */
void dex_method__file(const struct dex *dex, struct dex_bytes *bytes,
		      const struct dex_method *method, char *ret);

/* The line of method->unit; 0: the method has no lines there. */
uint32_t dex_method__line(const struct dex *dex, struct dex_bytes *bytes,
			  const struct dex_method *method);

/* The types of a method's id, and of the class at method->class_def, by their indexes. */
uint32_t dex_method__type(const struct dex *dex, struct dex_bytes *bytes,
			  const struct dex_method *method);
uint32_t dex_method__class(const struct dex *dex, struct dex_bytes *bytes,
			   const struct dex_method *method);

/* The number of 4 bytes at a position; 0: not there. */
uint32_t dex__word(struct dex_bytes *bytes, uint64_t at);

/* --- for dex_line.c and readers of other parts */

/* A reader of numbers at a position. Beyond the end of the bytes it gives 0 and sets bad. */
struct dex_cursor {
	struct dex_bytes *bytes;
	uint64_t at, end;
	bool bad;
};

struct dex_cursor dex__cursor(const struct dex *dex, struct dex_bytes *bytes, uint64_t data_off);
uint32_t dex_cursor__fixed(struct dex_cursor *cur, unsigned size);
uint32_t dex_cursor__uleb(struct dex_cursor *cur);
int32_t dex_cursor__sleb(struct dex_cursor *cur);

#endif
