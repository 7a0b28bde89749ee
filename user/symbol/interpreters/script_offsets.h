/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where CPython keeps what is read of it, by version, in bytes: 3.11 and 3.12 as their headers have it (64-bit), 3.13
 * as it tells itself, at the begin of _PyRuntime.
 */
#ifndef JANK_SYMBOL_INTERPRETERS_SCRIPT_OFFSETS_H
#define JANK_SYMBOL_INTERPRETERS_SCRIPT_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct script_offsets {
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

/* The bytes of _PyRuntime that script_offsets__read wants. */
#define SCRIPT_OFFSETS_SZ (73 * 8)

/* A version that needs no more than its number. False: it does, or is none of those. */
bool script_offsets__of(uint32_t version, struct script_offsets *ret);

/* Does the version tell its offsets itself? */
bool script_offsets__told(uint32_t version);

/* By what it tells, which may be anything. False: nothing that frames can be read by. */
bool script_offsets__read(const uint8_t told[SCRIPT_OFFSETS_SZ], uint32_t version,
			  struct script_offsets *ret);

/* From where on the probes read of a code object. */
uint32_t script_offsets__code_at(const struct script_offsets *offsets);

#endif
