/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of an interpreter's objects in a process's memory, at any address and length. Never waits
 * for a page.
 */
#ifndef JANK_SYMBOL_INTERPRETERS_INTERP_MEMORY_H
#define JANK_SYMBOL_INTERPRETERS_INTERP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Offsets of CPython's structures, in bytes, by version. For 3.11 and 3.12 from their headers
 * (64-bit); 3.13 gives its offsets itself, at the begin of _PyRuntime.
 */

struct interp_offsets {
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

/* Bytes of _PyRuntime that interp_offsets__read needs. */
#define SCRIPT_OFFSETS_SZ (73 * 8)

/* Gets the offsets of a version with known offsets. Returns false for other versions. */
bool interp_offsets__of(uint32_t version, struct interp_offsets *ret);

/* Returns true when the version gives its offsets itself. */
bool interp_offsets__told(uint32_t version);

/*
 * Parses the offsets that a process gives. They are not trusted. Returns false when frames cannot
 * be read by them.
 */
bool interp_offsets__read(const uint8_t told[SCRIPT_OFFSETS_SZ], uint32_t version,
			  struct interp_offsets *ret);

/* Returns the offset in a code object from which the probes read. */
uint32_t interp_offsets__code_at(const struct interp_offsets *offsets);

/* The process that is read. */
struct interp_memory {
	const char *proc;
	uint32_t pid;
};

/* Like memory__read, but may cross pages. */
int interp_memory__read(const struct interp_memory *mem, uint64_t addr, void *buf, size_t len);

int interp_memory__word(const struct interp_memory *mem, uint64_t addr, uint64_t *ret);

/*
 * Gets a str in UTF-8; the caller frees it. Cut after some thousand characters, or at a NUL. 0 or
 * -errno.
 */
int interp_memory__text(const struct interp_memory *mem, const struct interp_offsets *offsets,
			uint64_t addr, char **ret);

/* Gets a bytes object of at most max bytes; the caller frees it. 0 or -errno. */
int interp_memory__bytes(const struct interp_memory *mem, const struct interp_offsets *offsets,
			 uint64_t addr, size_t max, uint8_t **ret, size_t *ret_size);

#endif
