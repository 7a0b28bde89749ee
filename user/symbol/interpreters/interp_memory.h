/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects of an interpreter in a process's memory, of any place and length; never waits for a page.
 */
#ifndef JANK_SYMBOL_INTERPRETERS_INTERP_MEMORY_H
#define JANK_SYMBOL_INTERPRETERS_INTERP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where CPython keeps what is read of it, by version, in bytes: 3.11 and 3.12 as their headers have
 * it (64-bit), 3.13 as it tells itself, at the begin of _PyRuntime.
 */

struct interp_offsets {
	uint32_t version;	    /* as Py_Version: 0x030b02f0 */
	uint32_t interpreters_head; /* in _PyRuntime */
	uint32_t interp_next, threads_head;
	struct {
		uint32_t next, interp, native_id, frame; /* frame: or what has it, at cframe */
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
	} code; /* units: how many of 2 bytes its bytecode has */
	struct {
		uint32_t length, hash, state, ascii_sz, compact_sz; /* where the text begins */
	} unicode;
	struct {
		uint32_t size, data;
	} bytes;
};

/* The bytes of _PyRuntime that interp_offsets__read wants. */
#define SCRIPT_OFFSETS_SZ (73 * 8)

/* A version that needs no more than its number. False: it does, or is none of those. */
bool interp_offsets__of(uint32_t version, struct interp_offsets *ret);

/* Does the version tell its offsets itself? */
bool interp_offsets__told(uint32_t version);

/* By what it tells, which may be anything. False: nothing that frames can be read by. */
bool interp_offsets__read(const uint8_t told[SCRIPT_OFFSETS_SZ], uint32_t version,
			  struct interp_offsets *ret);

/* From where on the probes read of a code object. */
uint32_t interp_offsets__code_at(const struct interp_offsets *offsets);

/* Whose memory. */
struct interp_memory {
	const char *proc;
	uint32_t pid;
};

/* As memory__read, but across pages. */
int interp_memory__read(const struct interp_memory *mem, uint64_t addr, void *buf, size_t len);

int interp_memory__word(const struct interp_memory *mem, uint64_t addr, uint64_t *ret);

/*
 * A str in UTF-8, owned by the caller; cut after some thousand characters, or before a NUL. 0 or
 * -errno.
 */
int interp_memory__text(const struct interp_memory *mem, const struct interp_offsets *offsets,
			uint64_t addr, char **ret);

/* A bytes object of at most so many; owned by the caller. 0 or -errno. */
int interp_memory__bytes(const struct interp_memory *mem, const struct interp_offsets *offsets,
			 uint64_t addr, size_t max, uint8_t **ret, size_t *ret_size);

#endif
