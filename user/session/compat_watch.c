/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracepoints of all system calls are attached while 32-bit programs exist, since every system
 * call of the machine pays for them.
 */
#include "session/compat_watch.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "options/filter.h"
#include "probes/loader.h"
#include "procfs/procinfo.h"
#include "session/process_table.h"

#define LOOK_EVERY_NS NS_PER_SEC
#define LOOK_SHARE    500 /* at most one part in this many of our CPU time */
#define EMPTY_LOOKS   3

static void report_unseen(const struct compat_watch *watch, uint32_t pid, int why)
{
	const char *reason = strerror(why);

	if (loader__wait_probe(watch->loader) == WAIT_UPROBES)
		reason = COMPAT_NO_UPROBES "; --backend kernel sees them";
	else if (why == ENOTSUP)
		reason = "this kernel has no raw_syscalls; see `jankbpf doctor`";
	log__warn("process %u runs a 32-bit program now: its waits and blocks are lost: %s", pid,
		  reason);
}

/* Attaches the probes. The log gets one line about such programs, with success or failure. */
static void attach(struct compat_watch *watch, uint32_t pid)
{
	uint64_t begin = clock__mono_ns();
	int res = loader__see_compat(watch->loader, true);

	watch->attached = !res;
	if (res && !watch->reported)
		report_unseen(watch, pid, -res);
	else if (!res && !watch->reported)
		log__info("process %u runs a 32-bit program: its waits are seen through "
			  "raw_syscalls, which every system call of the machine passes",
			  pid);
	watch->reported = true;
	if (!res)
		log__verbose("raw_syscalls attached for process %u in %llu us", pid,
			     (clock__mono_ns() - begin) / NS_PER_US);
}

/*
 * True if the process has traced threads, or would have. Threads that the filters once admitted
 * stay traced.
 */
static bool is_wanted(struct compat_watch *watch, pid_t pid)
{
	return process_table__find(watch->processes, pid) || filter__admits(watch->filter, pid);
}

static bool on_compat(void *ctx, pid_t pid)
{
	struct compat_watch *watch = ctx;

	watch->some = true;
	if (is_wanted(watch, pid))
		watch->last = pid;
	return watch->last;
}

/* Look at all processes only when the known one is gone. */
static void look(struct compat_watch *watch)
{
	if (watch->last && is_wanted(watch, watch->last) && compat32__process(watch->last))
		return;
	watch->some = false;
	watch->last = 0;
	compat32__each(on_compat, watch);
}

/*
 * With -a. A look may miss a process, if the parent of that process ends during the look. Where one
 * such program ran, another is likely to follow. So the probes are detached only after EMPTY_LOOKS
 * empty looks.
 */
static void update(struct compat_watch *watch)
{
	watch->empty_cnt = watch->last ? 0 : watch->empty_cnt + 1;
	if (watch->last && !watch->attached)
		attach(watch, watch->last);
	if (!watch->attached || watch->empty_cnt < EMPTY_LOOKS)
		return;
	loader__see_compat(watch->loader, false);
	watch->attached = false;
	log__verbose("no 32-bit program is left to trace");
}

void compat_watch__look(struct compat_watch *watch)
{
	uint64_t now = clock__mono_ns(), begin = clock__thread_ns();
	uint64_t every = watch->cost_ns * LOOK_SHARE;
	bool first = !watch->look_ns;

	if (!watch->filter->all || loader__wait_probe(watch->loader) != WAIT_SYSCALL_TRACEPOINTS)
		return;
	if (!first && ((!watch->some && !watch->attached) ||
		       now - watch->look_ns < (every > LOOK_EVERY_NS ? every : LOOK_EVERY_NS)))
		return;
	look(watch);
	update(watch);
	watch->look_ns = clock__mono_ns();
	watch->cost_ns = clock__thread_ns() - begin;
}

void compat_watch__on_exec(struct compat_watch *watch, uint32_t pid)
{
	if (loader__wait_probe(watch->loader) == WAIT_RAW_SYSCALLS || watch->attached)
		return;
	watch->some = true;
	if (watch->filter->all && !is_wanted(watch, pid))
		return;
	watch->last = pid;
	watch->empty_cnt = 0;
	attach(watch, pid);
}
