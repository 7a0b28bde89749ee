/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of a process, as the reader of one stack needs it. A reading that lacks a piece notes it
 * and goes on; the reader asks for all noted pieces at once, and starts again. So a stack costs a
 * few requests to the broker, whatever its number of words.
 *
 * The process is not trusted: the pieces that are held at a time and the requests of a stack are
 * bounded, and a piece that is not present is not asked for again. Used on the symbolizer's thread
 * only.
 */
#ifndef JANK_SYMBOL_LANGUAGES_TARGET_MEMORY_H
#define JANK_SYMBOL_LANGUAGES_TARGET_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct target_memory;

/* NULL: out of memory. */
struct target_memory *target_memory__new(void);
void target_memory__free(struct target_memory *mem); /* accepts NULL */

/* Begins a stack. proc (borrowed): "/proc"; pid: a live thread of the process. */
void target_memory__begin(struct target_memory *mem, const char *proc, uint32_t pid);

/* Whether any piece of this stack was present: the process has not ended. */
bool target_memory__has_any(const struct target_memory *mem);

/* Whether a reading found no room for its piece; and makes room by dropping all pieces. */
bool target_memory__is_full(const struct target_memory *mem);
void target_memory__forget(struct target_memory *mem);

/* Reads len bytes; zeroes buf without a result. */
enum target_read {
	TARGET_READ,
	TARGET_LATER, /* after target_memory__fetch, or target_memory__forget if it is full */
	TARGET_NEVER, /* not present */
};
enum target_read target_memory__read(struct target_memory *mem, uint64_t addr, void *buf,
				     size_t len);

/*
 * Asks for the pieces that were lacking. Returns false when none were, or the stack has had its
 * number of requests.
 */
bool target_memory__fetch(struct target_memory *mem);

/*
 * Reads up to TARGET_LARGE bytes at once, without keeping them. Returns false when some are not
 * present.
 */
#define TARGET_LARGE (14u * 4096)
bool target_memory__read_large(const struct target_memory *mem, uint64_t addr, void *buf,
			       size_t len);

/* Bytes of an instance. */
size_t target_memory__bytes(void);

#endif
