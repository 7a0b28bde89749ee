/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which instruction of a function to probe: the cheapest one that every call passes exactly once
 * and at which the registers wanted still hold what they should.
 */
#ifndef JANK_UPROBES_SITES_H
#define JANK_UPROBES_SITES_H

#include "base/code/insn.h"
#include "uprobes/targets.h"
#include <stddef.h>
#include <stdint.h>

#define SITES_CODE_MAX 4096 /* bytes of one function that are looked at */

struct site_pick {
	enum site_kind kind;
	enum site_cost cost;
	uint32_t offset; /* from the function's begin */
};

/*
 * An epoll wait function: one SITE_WAIT_BEGIN and a SITE_WAIT_END behind each system call with an
 * epoll wait's number; where the function makes none itself, behind each call that is handed such a
 * number (glibc from 2.41: __syscall_cancel; musl: __syscall_cp). Returns how many, or 0 when there
 * is no such place or one of them has no safe site: half of a wait is worse than none.
 */
size_t sites__wait(const struct insn_arch *arch, const uint8_t *code, size_t len,
		   struct site_pick *ret, size_t max);

/* A function's entry, its first argument intact: SITE_LOOPER. Returns 1 or 0. */
size_t sites__entry(const struct insn_arch *arch, const uint8_t *code, size_t len,
		    struct site_pick *ret);

/*
 * A function's entry, the arguments of `args` (bit n: argument n) intact: SITE_MARK. Returns 1 or
 * 0.
 */
size_t sites__mark(const struct insn_arch *arch, const uint8_t *code, size_t len, unsigned args,
		   struct site_pick *ret);

/* Functions called or jumped to from this one, from its begin. Returns how many, at most max. */
size_t sites__callees(const struct insn_arch *arch, const uint8_t *code, size_t len, int64_t *ret,
		      size_t max);

#endif
