/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Picks the instruction of a function to probe: the cheapest one that every call executes exactly
 * once, with the needed registers still intact.
 */
#ifndef JANK_UPROBES_SITES_H
#define JANK_UPROBES_SITES_H

#include "base/code/insn.h"
#include "catalogue/catalogue.h"
#include "symbol/elf/elffunc.h"
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

/* --- sites of the catalogue's marks and custom waits in a file: symbol → code → site */

/* Why a mark has no site. */
enum mark_absence {
	MARK_THERE,
	MARK_NO_SYMBOL, /* the file has no such symbol: stripped, or another version */
	MARK_NO_CODE,	/* the symbol leads to no code */
	MARK_NO_SITE,	/* no instruction with intact arguments can be probed */
	MARK_TAKEN,	/* an earlier mark, usually of a user's row, has this site */
};

struct mark_site {
	const struct catalogue_row *row;
	unsigned mark; /* index in the catalogue's marks; MARK_SITE_WAIT: the row's wait */
	enum mark_absence absence; /* the fields below are valid only with MARK_THERE */
	enum site_cost cost;
	uint64_t address;     /* of the function, as linked */
	uint64_t file_offset; /* offset for the uprobe of perf_event_open */
};

#define MARK_SITE_WAIT UINT32_MAX

/*
 * All marks and custom waits of the rows that name the file, found or not, in the order of the
 * rows. file->elf must be open. *ret is malloc'ed, owned by the caller. Returns 0, -ENOMEM, or
 * -errno when the file cannot be parsed.
 */
int mark_sites__find(const struct catalogue *cat, const struct catalogue_file *file,
		     struct mark_site **ret, size_t *ret_cnt);

/* Text for users: "the file has no such symbol" … */
const char *mark_absence__text(enum mark_absence absence);

#endif
