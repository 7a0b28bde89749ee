/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of HotSpot's frames: method, source file and line, from a process's memory. A frame of the
 * interpreter has its method below the frame pointer. The address of compiled code leads to the
 * code (nmethod), and that to its method and those inlined into it. None of these objects moves,
 * but code and classes may be unloaded, so each one is checked. Used on the symbolizer's thread
 * only.
 */
#ifndef JANK_SYMBOL_LANGUAGES_HOTSPOT_H
#define JANK_SYMBOL_LANGUAGES_HOTSPOT_H

#include "symbol/languages/frame_places.h"
#include "symbol/languages/hotspot_layout.h"
#include "symbol/languages/language.h"
#include "symbol/languages/target_memory.h"
#include <stdbool.h>
#include <stdint.h>

#define HS_HEAP_MAX  8 /* JDK 25 has up to 4 */
#define HS_KNOWN_CNT 1024

/* A part of the code cache, in segments: a byte each tells how far back their block begins. */
struct hs_heap {
	uint64_t low, high;
	uint64_t segments; /* address of the bytes */
	uint32_t shift;	   /* log2 of a segment's size */
};

/* A process. */
struct hotspot {
	const struct hs_layout *layout;
	struct language_reader *reader;
	uint64_t bias;		  /* of libjvm.so */
	int64_t at[HS_FIELD_CNT]; /* as in the layout, but for members: their offsets */
	struct hs_heap heaps[HS_HEAP_MAX];
	uint32_t heap_cnt; /* 0: not known yet */
	uint64_t interpreter, interpreter_end;
	uint64_t known[HS_KNOWN_CNT]; /* blocks of code, by the hash of an address there */
};

/* --- hotspot_memory.c: without memory (see reader->later) a value is 0 */

bool hs__read(struct hotspot *hs, uint64_t addr, void *buf, size_t len);
uint64_t hs__word(struct hotspot *hs, uint64_t addr);
/* Asks for memory in the same round as what is read next. */
void hs__ask(struct hotspot *hs, uint64_t addr, uint64_t len);
/* A member, as an unsigned number. */
uint64_t hs__get(struct hotspot *hs, uint64_t object, enum hs_field field);

/* Reads where code is, once. Returns false when it is not known yet. */
bool hs__load(struct hotspot *hs);

/* --- hotspot_code.c: compiled code */

struct hs_code {
	uint64_t begin, end; /* of the instructions */
	uint64_t blob;	     /* CodeBlob */
	uint64_t method;     /* Method */
	uint64_t pcs, pcs_end, scopes, scopes_end, metadata;
	uint32_t metadata_cnt, id; /* id: number of the compilation */
};

enum hs_code_kind {
	HS_CODE_NONE,
	HS_CODE_STUB,	/* HotSpot's own */
	HS_CODE_METHOD, /* ret is filled */
};

/* The code at an address. */
enum hs_code_kind hs_code__find(struct hotspot *hs, uint64_t pc, struct hs_code *ret);

/* --- hotspot_scopes.c: methods at a place in compiled code */

/* A method, and its bytecode index: one of two, equal when it is certain; below 0: not known. */
struct hs_scope {
	uint64_t method;
	int32_t bci, other;
};

#define HS_DEPTH_MAX 32

/*
 * The methods at an address in code, innermost first: ret has room for HS_DEPTH_MAX. Where the code
 * has no entry for the address, only what the entries around it agree on. Returns their number, at
 * least 1.
 */
uint32_t hs_scopes__find(struct hotspot *hs, const struct hs_code *code, uint64_t pc, bool exact,
			 struct hs_scope *ret);

/* --- hotspot_method.c */

struct hs_method {
	uint64_t method, constant; /* Method, ConstMethod */
	uint64_t pool;		   /* ConstantPool */
	uint64_t code;		   /* address of the bytecode */
	uint32_t code_size, size;  /* size: of the ConstMethod */
	uint32_t name;		   /* index in the pool */
	bool native, has_lines;
};

#define HS_NAME_MAX 512
#define HS_FILE_MAX 256

/*
 * Reads a method. Returns false when it is none, or not known yet. Only hs_method__name checks
 * that it belongs to a class.
 */
bool hs_method__read(struct hotspot *hs, uint64_t method, struct hs_method *ret);

/*
 * Copies "package.Class.method" (HS_NAME_MAX bytes) and the source file's name ("": none,
 * HS_FILE_MAX bytes). Returns false when it is none.
 */
bool hs_method__name(struct hotspot *hs, const struct hs_method *method, char *name, char *file);

/* The line of a bytecode index; 0: not known. */
uint32_t hs_method__line(struct hotspot *hs, const struct hs_method *method, int32_t bci);

/* --- hotspot_numbers.c: streams of compressed numbers. No memory of a process is read. */

/*
 * UNSIGNED5: up to five bytes of base 64, the lowest first; all but the last are 192 and above.
 * excluded: 1 since JDK 20, where bytes are one more, so that none is 0; else 0.
 */
struct hs_numbers {
	const uint8_t *at, *end;
	uint8_t excluded;
	bool broken; /* beyond the end, or a byte that cannot be */
};

uint32_t hs_numbers__next(struct hs_numbers *numbers);

/* The line of a bytecode index in a table of lines; 0: not known. */
uint32_t hs_lines__find(const uint8_t *table, size_t len, uint8_t excluded, uint32_t bci);

static inline uint8_t hs__excluded(const struct hotspot *hs)
{
	return hs->layout->major >= 20;
}

#endif
