/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Duty cycle of a process's marks. Each message costs a trap of 1 to 3 us. That is nothing for a
 * window's hundreds a second, but a tenth and more for a server with ten thousands. Such a server
 * has its marks off until a dispatch is slow, then on for some seconds, a tenth of the time at
 * most.
 */
#ifndef JANK_SESSION_MARK_DUTY_H
#define JANK_SESSION_MARK_DUTY_H

#include <stdbool.h>
#include <stdint.h>

struct mark_duty {
	uint64_t looked_ns, dispatch_cnt; /* as of the last look */
	uint64_t rate;			  /* dispatches a second up to the last look */
	uint64_t on_ns, off_ns;		  /* times of the last switch; on_ns 0: no slow dispatch */
	bool off;
	bool slow; /* a dispatch was slow since they went off */
};

/*
 * dispatch_cnt: dispatches of the process up to now_ns. A call less than a second after the last
 * look only returns the current state. Returns whether the marks are to be on.
 */
bool mark_duty__look(struct mark_duty *duty, uint64_t now_ns, uint64_t dispatch_cnt);

/* A dispatch was a block or hangs. */
void mark_duty__slow(struct mark_duty *duty);

#endif
