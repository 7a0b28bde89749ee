/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes of -a, and with -f the children of traced processes. A process is found by the first
 * record of one of its threads, watched by a pidfd, and dropped when it ends. A pidfd costs 3 us
 * once and nothing afterwards; polling would cost every second.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "files/proc.h"
#include "procfs/procinfo.h"
#include "session/session_parts.h"

/* True if the session traces processes without a given pid. */
static bool finds(const struct session *s)
{
	return s->opts->filter.all || s->opts->follow;
}

/*
 * Reads a new process. One that ended before it was read has only its comm; its end is found by
 * session__sweep.
 */
static int describe(struct session *s, struct process_entry *process, const struct jank_rec *hdr,
		    const char *comm)
{
	struct err err = {};
	int res = process_table__read(&s->processes, process, hdr->ts_ns, &err);

	if (res == -ENOMEM)
		return res;
	if (!res)
		return machine__add_process(s->machine.machine, process->pid);
	log__debug("%s", err.msg);
	session__unwatch_end(s, process);
	process->ended = true;
	return process_entry__set_name(process, comm);
}

/* Returns the comm from a record of a looping thread, else NULL. */
static const char *looping_comm(const struct event *event)
{
	switch (event->kind) {
	case JANK_REC_LOOP:
		return event->loop.comm;
	case JANK_REC_BLOCK:
	case JANK_REC_HANG:
		return event->block.comm;
	}
	return NULL;
}

static void add_process(struct session *s, const struct jank_rec *hdr, const char *comm)
{
	struct process_entry *process = process_table__add(&s->processes, hdr->tgid);
	int res = -ENOMEM;

	if (process) {
		process->found = true;
		session__watch_end(s, process);
		res = describe(s, process, hdr, comm);
	}
	if (res)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
}

void session__on_process(struct session *s, const struct event *event)
{
	const char *comm = looping_comm(event);
	struct process_entry *process;

	if (!finds(s) || !comm)
		return;
	process = process_table__find(&s->processes, event->hdr.tgid);
	if (process && event->kind == JANK_REC_LOOP && process->found &&
	    process_entry__has_ended(process)) {
		session__on_exit(s, process); /* the pid may belong to another process now */
		process = NULL;
	}
	if (!process)
		add_process(s, &event->hdr, comm);
}

/* --- main threads of -a, at any wait */

/* Of the intake thread's time: for a part of a look, and for one at the start. */
#define MAINS_LOOK_NS  (5 * NS_PER_MS)
#define MAINS_START_NS (25 * NS_PER_MS)
#define ASKED_MAX      32 /* per second: each costs 1 ms */

static bool admit_main(void *ctx, uint32_t pid)
{
	const struct item item = { .kind = ITEM_MAIN, .pid = pid };
	struct session *s = ctx;

	return queue__put(s->queue, &item) == QUEUE_ROOM;
}

/* If the process is also traced, its pidfd reports the end. */
static bool drop_main(void *ctx, uint32_t pid)
{
	struct session *s = ctx;

	return process_table__find(&s->processes, pid) ||
	       process_table__send_exit(&s->processes, pid);
}

void session__open_mains(struct session *s)
{
	const struct mains_opts opts = {
		.filter = &s->selection.filter,
		.admit = admit_main,
		.drop = drop_main,
		.ctx = s,
	};
	bool wanted =
		!s->selection.filter.loops || s->selection.filter.loops & 1u << JANK_LOOP_PARK;

	if (!s->opts->filter.all || !wanted || !loader__meets_threads(s->loader))
		return;
	s->discovery.mains = mains__new(&opts);
	if (!s->discovery.mains)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
}

bool session__look_for_mains(struct session *s, bool first)
{
	uint64_t max_ns = first ? MAINS_START_NS : MAINS_LOOK_NS;
	int res = s->discovery.mains ? mains__look(s->discovery.mains, first, max_ns) : 0;

	if (res < 0)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	return res > 0;
}

bool session__on_asking(struct session *s, const struct jank_rec_wait *rec)
{
	struct discovery *discovery = &s->discovery;
	uint64_t now_ns = clock__mono_ns();

	if (!discovery->mains || process_table__find(&s->processes, rec->hdr.tgid))
		return true;
	if (now_ns - discovery->period_ns > NS_PER_SEC) {
		discovery->period_ns = now_ns;
		discovery->asked_cnt = 0;
	}
	if (discovery->asked_cnt >= ASKED_MAX)
		return false;
	discovery->asked_cnt++;
	add_process(s, &rec->hdr, rec->comm);
	return true;
}

void session__on_starting(struct session *s, uint32_t pid, const char *comm)
{
	const struct jank_rec hdr = { .tgid = pid, .tid = pid, .ts_ns = clock__mono_ns() };

	if (finds(s) && !process_table__find(&s->processes, pid) && proc__exists(pid))
		add_process(s, &hdr, comm);
}

static void add_child(void *ctx, pid_t pid)
{
	session__on_starting(ctx, pid, "?");
}

/*
 * Children that wait neither in epoll nor in poll are examined once the sink thread knows them
 * (parks.h).
 */
void session__on_children(struct session *s)
{
	if (s->opts->follow)
		loader__each_admitted(s->loader, add_child, s);
}

/* Covers processes without a pidfd: they ended before it was opened, or no descriptor was left. */
void session__sweep(struct session *s)
{
	struct process_entry *process, *next;

	process_table__report_pending(&s->processes);
	process_table__announce_due(&s->processes);
	if (!finds(s))
		return;
	if (s->opts->follow)
		loader__sweep(s->loader);
	ring__drain(s->ring);
	HASH_ITER (hh, s->processes.entries, process, next)
		if (process->pidfd < 0 && process->found && process_entry__has_ended(process))
			session__on_exit(s, process);
}

/* Makes one pass: admits each process with a traced parent. Returns the number of new ones. */
static size_t follow_children(struct session *s)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t cnt = 0;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = strtoul(entry->d_name, NULL, 10);
		struct proc_info info;
		char state;
		int res;

		if (!pid || procinfo__read_stat(pid, &info, &state) || state == 'Z' ||
		    loader__admits(s->loader, pid) || !loader__admits(s->loader, info.parent_pid))
			continue;
		res = loader__admit(s->loader, pid);
		cnt += !res;
		if (res)
			losses__add(&s->losses, JANK_LOST_NO_THREAD, 1);
	}
	if (proc)
		closedir(proc);
	return cnt;
}

void session__follow(struct session *s)
{
	if (!s->opts->follow)
		return;
	/* Repeat: a grandchild may be listed before its parent, or be forked meanwhile. */
	while (follow_children(s))
		;
}
