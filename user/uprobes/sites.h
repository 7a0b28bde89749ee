/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Picks the instruction of a function to probe: the cheapest one that every call executes exactly
 * once, with the needed registers still intact.
 */
#ifndef JANK_UPROBES_SITES_H
#define JANK_UPROBES_SITES_H

#include "base/code/insn.h"
#include "uprobes/targets.h"
#include <stddef.h>
#include <stdint.h>

#define SITES_CODE_MAX 4096 /* bytes of one function that are examined */

struct site_pick {
	enum site_kind kind;
	enum site_cost cost;
	uint32_t offset; /* from the function's beginning */
};

/*
 * Sites of an epoll wait function: one SITE_WAIT_BEGIN, and a SITE_WAIT_END behind each system call
 * with an epoll wait's number. A function without system calls gets them behind each call that
 * passes such a number (glibc from 2.41: __syscall_cancel; musl: __syscall_cp). Returns how many; 0
 * when there is no such place or one has no safe site: half of a wait is worse than none.
 */
size_t sites__wait(const struct insn_arch *arch, const uint8_t *code, size_t len,
		   struct site_pick *ret, size_t max);

/* SITE_LOOPER at a function's entry, first argument intact. Returns 1 or 0. */
size_t sites__entry(const struct insn_arch *arch, const uint8_t *code, size_t len,
		    struct site_pick *ret);

/*
 * SITE_MARK at a function's entry, the arguments in `args` (bit n: argument n) intact. Returns 1 or
 * 0.
 */
size_t sites__mark(const struct insn_arch *arch, const uint8_t *code, size_t len, unsigned args,
		   struct site_pick *ret);

/*
 * Functions that this one calls or jumps to, relative to its beginning. Returns how many, at most
 * max.
 */
size_t sites__callees(const struct insn_arch *arch, const uint8_t *code, size_t len, int64_t *ret,
		      size_t max);

#endif
