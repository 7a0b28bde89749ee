/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a process can have its marks on. Each message then costs a trap, 1 to 3 us: nothing for a
 * window's hundreds a second, a tenth and more of a server that handles ten thousands. Such a one
 * has them off, until something was slow: then for some seconds, a tenth of the time at most.
 */
#ifndef JANK_SESSION_MARK_DUTY_H
#define JANK_SESSION_MARK_DUTY_H

#include <stdbool.h>
#include <stdint.h>

struct mark_duty {
	uint64_t looked_ns, dispatch_cnt; /* as of the last look */
	uint64_t rate;			  /* dispatches a second up to it */
	uint64_t on_ns, off_ns;		  /* since when; on_ns 0: not for something slow */
	bool off;
	bool slow; /* something was, since they went off */
};

/*
 * dispatch_cnt: the process's so far, as of now_ns. Counts what is at least a second behind the
 * last look. Returns whether the marks are to be on.
 */
bool mark_duty__look(struct mark_duty *duty, uint64_t now_ns, uint64_t dispatch_cnt);

/* A dispatch was a block, or hangs. */
void mark_duty__slow(struct mark_duty *duty);

#endif
