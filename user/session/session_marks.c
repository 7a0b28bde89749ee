/* SPDX-License-Identifier: GPL-2.0 */
/* How often each process dispatches decides whether it has its marks on (mark_duty.h). */
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "session/session_parts.h"

static void add_dispatches(void *ctx, uint32_t pid, uint64_t dispatch_cnt)
{
	struct traced *traced = session__traced(ctx, pid);

	if (traced)
		traced->dispatch_cnt += dispatch_cnt;
}

static void put_on(struct session *s, struct traced *traced)
{
	struct err err = {};

	if (loader__add_process(s->loader, traced->pid, &traced->probe_cnt, &err))
		log__verbose("%s", err.msg);
}

static void pace(struct session *s, struct traced *traced, uint64_t now_ns)
{
	bool off = !mark_duty__look(&traced->duty, now_ns, traced->dispatch_cnt);

	if (off == traced->marks_off || loader__pause_marks(s->loader, traced->pid, off))
		return; /* what could not be done now is tried with the next look */
	traced->marks_off = off;
	log__verbose("process %u: %" PRIu64 " dispatches a second, messages are %s", traced->pid,
		     traced->duty.rate, off ? "not probed" : "probed again");
	if (!off)
		put_on(s, traced);
}

void session__pace_marks(struct session *s)
{
	uint64_t now_ns = clock__mono_ns();

	if (s->opts->marks != MARKS_AUTO || !s->catalogue)
		return;
	for (struct traced *traced = s->traced; traced; traced = traced->hh.next)
		traced->dispatch_cnt = 0;
	hists__each(s->living, add_dispatches, s);
	for (struct traced *traced = s->traced; traced; traced = traced->hh.next)
		if (!traced->ended)
			pace(s, traced, now_ns);
}

void session__forget_marks(struct session *s, uint32_t pid)
{
	struct traced *traced = session__traced(s, pid);

	if (!traced || !traced->marks_off)
		return;
	loader__pause_marks(s->loader, pid, false);
	traced->marks_off = false;
	traced->duty = (struct mark_duty){ 0 };
}
