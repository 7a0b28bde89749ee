/* SPDX-License-Identifier: GPL-2.0 */
/* Objects of an interpreter in a process's memory, of any place and length; never waits for a page. */
#ifndef JANK_SYMBOL_INTERPRETERS_SCRIPT_MEMORY_H
#define JANK_SYMBOL_INTERPRETERS_SCRIPT_MEMORY_H

#include "symbol/interpreters/script_offsets.h"

/* Whose memory. */
struct script_memory {
	const char *proc;
	uint32_t pid;
};

/* As memory__read, but across pages. */
int script_memory__read(const struct script_memory *mem, uint64_t addr, void *buf, size_t len);

int script_memory__word(const struct script_memory *mem, uint64_t addr, uint64_t *ret);

/* A str in UTF-8, owned by the caller; cut after some thousand characters, or before a NUL. 0 or -errno. */
int script_memory__text(const struct script_memory *mem, const struct script_offsets *offsets,
			uint64_t addr, char **ret);

/* A bytes object of at most so many; owned by the caller. 0 or -errno. */
int script_memory__bytes(const struct script_memory *mem, const struct script_offsets *offsets,
			 uint64_t addr, size_t max, uint8_t **ret, size_t *ret_size);

#endif
