/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes of -a, and with -f the children of traced processes. A process is found by the first
 * record of one of its threads, watched by a pidfd, and forgotten when it ends. A pidfd costs 3 us
 * once and nothing afterwards; polling would cost every second.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "procfs/procinfo.h"
#include "session/session_parts.h"

/* True if the session traces processes without a given pid. */
static bool meets(const struct session *s)
{
	return s->opts->filter.all || s->opts->follow;
}

static bool has_ended(const struct traced *traced)
{
	struct pollfd pfd = { .fd = traced->pidfd, .events = POLLIN };

	if (traced->pidfd >= 0)
		return poll(&pfd, 1, 0) > 0;
	return traced->ended || (kill(traced->pid, 0) && errno == ESRCH);
}

static void close_pidfd(struct session *s, struct traced *traced)
{
	if (traced->pidfd < 0)
		return;
	event_loop__remove(s->watch, traced->pidfd);
	close(traced->pidfd);
	traced->pidfd = -1;
}

/*
 * Queues the end of a process for later: the sink thread knows the process, but its queue is full.
 */
static void tell_later(struct session *s, uint32_t pid)
{
	uint32_t *pids = reallocarray(s->untold, s->untold_cnt + 1, sizeof(*pids));

	if (!pids) {
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	s->untold = pids;
	pids[s->untold_cnt++] = pid;
}

static bool tell_end(struct session *s, uint32_t pid)
{
	const struct item item = { .kind = ITEM_PROCESS_GONE, .pid = pid };

	return queue__put(s->queue, &item);
}

/* Frees the process. All its records must have been handled. */
static void forget(struct session *s, struct traced *traced)
{
	if (traced->keeps_alive && !--s->alive_cnt)
		s->stop = true;
	close_pidfd(s, traced);
	session__forget_marks(s, traced->pid);
	if (!s->opts->filter.all)
		loader__drop_process(s->loader, traced->pid);
	machine__drop_process(s->machine, traced->pid);
	if (traced->process && loops__name_ended(s->loops, traced->pid, traced->process->name))
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	if (traced->announced && !tell_end(s, traced->pid))
		tell_later(s, traced->pid);
	session__free_one(s, traced);
}

static void on_end(void *ctx, uint64_t pid)
{
	struct session *s = ctx;
	struct traced *traced;

	ring__drain(s->ring); /* its last records precede its end */
	traced = session__traced(s, pid);
	if (traced && has_ended(traced))
		forget(s, traced);
}

/* Without a pidfd (no descriptors left), session__sweep detects the end. */
static void watch_end(struct session *s, struct traced *traced)
{
	traced->pidfd = syscall(SYS_pidfd_open, traced->pid, 0);
	if (traced->pidfd < 0)
		return;
	if (event_loop__add(s->watch, traced->pidfd, on_end, s, traced->pid)) {
		close_pidfd(s, traced);
		return;
	}
	traced->keeps_alive = s->opts->pid_cnt > 0;
	s->alive_cnt += traced->keeps_alive;
}

/* The process ended before it was read: only its comm is known. */
static int describe_gone(struct session *s, struct traced *traced, const char *comm)
{
	const struct identity process = {
		.pid = traced->pid,
		.uid = UID_UNKNOWN,
		.name = (char *)comm,
	};

	close_pidfd(s, traced);
	traced->ended = true;
	traced->process = identity__copy(&process);
	return traced->process ? 0 : -ENOMEM;
}

static int look_at(struct session *s, struct traced *traced, const struct jank_rec *hdr,
		   const char *comm)
{
	struct err err = {};
	int res = session__refresh_of(s, traced, hdr->ts_ns, &err);

	if (res == -ENOMEM)
		return res;
	if (!res)
		return machine__add_process(s->machine, traced->pid);
	log__debug("%s", err.msg);
	return describe_gone(s, traced, comm);
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

static void meet(struct session *s, const struct jank_rec *hdr, const char *comm)
{
	struct traced *traced = session__new_traced(s, hdr->tgid);
	int res = -ENOMEM;

	if (traced) {
		traced->met = true;
		watch_end(s, traced);
		res = look_at(s, traced, hdr, comm);
	}
	if (res)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
}

void session__on_process(struct session *s, const struct event *event)
{
	const char *comm = looping_comm(event);
	struct traced *traced;

	if (!meets(s) || !comm)
		return;
	traced = session__traced(s, event->hdr.tgid);
	if (traced && event->kind == JANK_REC_LOOP && has_ended(traced) && traced->met) {
		forget(s, traced); /* the pid may belong to another process now */
		traced = NULL;
	}
	if (!traced)
		meet(s, &event->hdr, comm);
}

/* --- main threads of -a, at any wait */

#define MAINS_LOOK_NS (5 * NS_PER_MS) /* of the intake thread's time */
#define MEETS	      32	      /* per second: each costs 1 ms */

static bool admit_main(void *ctx, uint32_t pid)
{
	const struct item item = { .kind = ITEM_MAIN, .pid = pid };
	struct session *s = ctx;

	return queue__put(s->queue, &item);
}

/* If the process is also traced, its pidfd reports the end. */
static bool drop_main(void *ctx, uint32_t pid)
{
	struct session *s = ctx;

	return session__traced(s, pid) || tell_end(s, pid);
}

void session__open_mains(struct session *s)
{
	const struct mains_opts opts = {
		.filter = &s->filter,
		.admit = admit_main,
		.drop = drop_main,
		.ctx = s,
	};
	bool wanted = !s->filter.loops || s->filter.loops & 1u << JANK_LOOP_PARK;

	if (!s->opts->filter.all || !wanted || !loader__meets_threads(s->loader))
		return;
	s->mains = mains__new(&opts);
	if (!s->mains)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
}

void session__look_for_mains(struct session *s, bool first)
{
	if (s->mains && mains__look(s->mains, first, MAINS_LOOK_NS))
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
}

bool session__meet_asking(struct session *s, const struct jank_rec_wait *rec)
{
	uint64_t now_ns = clock__mono_ns();

	if (!s->mains || session__traced(s, rec->hdr.tgid))
		return true;
	if (now_ns - s->meet_ns > NS_PER_SEC) {
		s->meet_ns = now_ns;
		s->meet_cnt = 0;
	}
	if (s->meet_cnt >= MEETS)
		return false;
	s->meet_cnt++;
	meet(s, &rec->hdr, rec->comm);
	return true;
}

static void meet_child(void *ctx, pid_t pid)
{
	const struct jank_rec hdr = { .tgid = pid, .tid = pid, .ts_ns = clock__mono_ns() };
	struct session *s = ctx;

	if (!session__traced(s, pid) && !kill(pid, 0))
		meet(s, &hdr, "?");
}

/*
 * Children that wait neither in epoll nor in poll are examined once the sink thread knows them
 * (parks.h).
 */
void session__on_children(struct session *s)
{
	if (s->opts->follow)
		loader__each_admitted(s->loader, meet_child, s);
}

/* Covers processes without a pidfd: they ended before it was opened, or no descriptor was left. */
void session__sweep(struct session *s)
{
	struct traced *traced, *next;

	if (!meets(s))
		return;
	if (s->opts->follow)
		loader__sweep(s->loader);
	ring__drain(s->ring);
	HASH_ITER (hh, s->traced, traced, next)
		if (traced->pidfd < 0 && traced->met && has_ended(traced))
			forget(s, traced);
	while (s->untold_cnt && tell_end(s, s->untold[s->untold_cnt - 1]))
		s->untold_cnt--;
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
