/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython 3.11 to 3.13, a language with frames in the heap. A list of threads must hold states that
 * point to the interpreter. Code objects must have the type that the file defines. Instructions
 * must lie inside their code object.
 */
#ifndef JANK_SYMBOL_LANGUAGES_PYTHON_H
#define JANK_SYMBOL_LANGUAGES_PYTHON_H

#include "symbol/languages/heap.h"

/*
 * --- offsets of CPython's structures, in bytes, by version. For 3.11 and 3.12 from their headers
 * (64-bit); 3.13 gives its offsets itself, at the begin of _PyRuntime.
 */

struct python_offsets {
	uint32_t version;	    /* like Py_Version: 0x030b02f0 */
	uint32_t interpreters_head; /* in _PyRuntime */
	uint32_t interp_next, threads_head;
	struct {
		/* frame: of the current frame, or of a structure that holds it at cframe */
		uint32_t next, interp, native_id, frame;
		uint32_t cframe;
		bool direct;
	} tstate;
	struct {
		uint32_t code, previous, instr, mark_at;
		uint8_t mark;
		bool shim; /* see struct jank_script_where */
	} frame;
	struct {
		uint32_t units, filename, name, qualname, linetable, first_line, bytecode;
	} code; /* units: the number of 2-byte units of the bytecode */
	struct {
		/* the text begins at ascii_sz or compact_sz */
		uint32_t length, hash, state, ascii_sz, compact_sz;
	} unicode;
	struct {
		uint32_t size, data;
	} bytes;
};

/* Bytes of _PyRuntime that python_offsets__read needs. */
#define SCRIPT_OFFSETS_SZ (73 * 8)

/* Gets the offsets of a version with known offsets. Returns false for other versions. */
bool python_offsets__of(uint32_t version, struct python_offsets *ret);

/* Returns true when the version gives its offsets itself. */
bool python_offsets__told(uint32_t version);

/*
 * Parses the offsets that a process gives. They are not trusted. Returns false when frames cannot
 * be read by them.
 */
bool python_offsets__read(const uint8_t told[SCRIPT_OFFSETS_SZ], uint32_t version,
			  struct python_offsets *ret);

/* Returns the offset in a code object from which the probes read. */
uint32_t python_offsets__code_at(const struct python_offsets *offsets);

/* --- objects */

/*
 * Gets a str in UTF-8; the caller frees it. Cut after some thousand characters, or at a NUL. 0 or
 * -errno.
 */
int python__text(const struct heap_memory *mem, const struct python_offsets *offsets, uint64_t addr,
		 char **ret);

/* Gets a bytes object of at most max bytes; the caller frees it. 0 or -errno. */
int python__bytes(const struct heap_memory *mem, const struct python_offsets *offsets,
		  uint64_t addr, size_t max, uint8_t **ret, size_t *ret_size);

/* --- the interpreter of a process */

struct python_code;

struct python {
	uint64_t runtime, code_type; /* addresses */
	struct python_offsets offsets;
	struct python_code *codes; /* by address */
	size_t code_bytes;
};

/*
 * python_code.c: returns the code object at an address, from memory or from the cache. NULL: it is
 * not known. Owned by `python`.
 */
struct python_code {
	UT_hash_handle hh;
	uint64_t address;
	uint64_t stamp;	     /* hash of the fields that identify the code object */
	uint64_t checked_ns; /* time of the last check that it is unchanged */
	uint64_t bytecode, units;
	char *function, *file;
	uint8_t *lines;
	size_t lines_size;
	uint32_t first_line;
	uint32_t check; /* jank_script_frame's */
	bool known, app;
};
const struct python_code *python_code__get(struct python *python, const struct heap_memory *mem,
					   uint64_t address);
uint32_t python_code__line(const struct python_code *code, uint64_t instr);
void python_code__forget_all(struct python *python);

/*
 * Reads the location table of a code object, since CPython 3.11 (Objects/locations.md): the line of
 * the instruction at `unit` (in units of 2 bytes from the begin of the bytecode). 0: the
 * instruction has no line, or the table is not valid.
 */
uint32_t python_line__at(const uint8_t *table, size_t size, uint32_t first_line, uint64_t unit);

/* What a file tells (language->open). */
struct python_file {
	uint64_t runtime;   /* address of _PyRuntime, as linked */
	uint64_t code_type; /* address of PyCode_Type */
	uint32_t version;   /* value of Py_Version, which there is since 3.11 */
};

#endif
