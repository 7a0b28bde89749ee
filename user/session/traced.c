/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The traced processes: read when first seen and after exec, uprobes attached, ends detected by
 * pidfd.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "procfs/cgroup.h"
#include "procfs/procinfo.h"
#include "session/session_parts.h"

/* A new program maps its libraries shortly after exec; there is no event for that. */
#define FIND_EVERY_NS (5 * NS_PER_MS)
#define FIND_TRIES    400

#define START_SLACK_NS (20 * NS_PER_MS) /* start times are in clock ticks */

struct traced *session__traced(struct session *s, uint32_t pid)
{
	struct traced *traced;

	HASH_FIND(hh, s->traced, &pid, sizeof(pid), traced);
	return traced;
}

struct traced *session__new_traced(struct session *s, uint32_t pid)
{
	struct traced *traced = calloc(1, sizeof(*traced));

	if (!traced)
		return NULL;
	traced->pid = pid;
	traced->pidfd = -1;
	HASH_ADD(hh, s->traced, pid, sizeof(pid), traced);
	return traced;
}

static struct identity *describe(const struct proc_info *info)
{
	struct identity process = {
		.pid = info->pid,
		.uid = info->uid,
		.ns_pid = info->ns_pid,
		.name = (char *)procinfo__known_as(info),
		.exe = info->exe,
		.cgroup = info->cgroup,
	};
	struct cgroup_names names = {};

	if (info->cgroup)
		cgroup__names(info->cgroup, &names);
	process.container = *names.container ? names.container : NULL;
	process.pod = *names.pod ? names.pod : NULL;
	process.unit = *names.unit ? names.unit : NULL;
	return identity__copy(&process);
}

/* Sends the sink thread a copy of the process's facts. */
void session__announce(struct session *s, struct traced *traced)
{
	struct item item = { .kind = ITEM_PROCESS, .pid = traced->pid };

	item.data = identity__copy(traced->process);
	if (item.data && queue__put(s->queue, &item)) {
		traced->announced = true;
		return;
	}
	identity__free(item.data);
	losses__add(&s->losses, LOSS_QUEUE_FULL, 1);
}

static bool started_before(const struct proc_info *info, uint64_t ts_ns)
{
	uint64_t start_ns = info->start_ticks * (NS_PER_SEC / sysconf(_SC_CLK_TCK));

	return start_ns <= ts_ns + clock__suspended_ns() + START_SLACK_NS;
}

static int take(struct traced *traced, const struct proc_info *info, uint64_t ts_ns,
		struct err *err)
{
	struct identity *process;

	if (info->kernel_thread)
		return err__set(err, EINVAL,
				"process %u is a kernel thread: it has no event loop to trace",
				traced->pid);
	if (!started_before(info, ts_ns))
		return err__set(err, ESRCH, "process %u is another one now", traced->pid);
	process = describe(info);
	if (!process)
		return err__set(err, ENOMEM, "out of memory");
	identity__free(traced->process);
	traced->process = process;
	return 0;
}

int session__refresh_of(struct session *s, struct traced *traced, uint64_t ts_ns, struct err *err)
{
	struct proc_info info;
	int res = procinfo__read(traced->pid, &info, err);

	if (res)
		return res;
	res = take(traced, &info, ts_ns, err);
	procinfo__free(&info);
	if (!res)
		session__announce(s, traced);
	return res;
}

int session__refresh(struct session *s, struct traced *traced, struct err *err)
{
	return session__refresh_of(s, traced, clock__mono_ns(), err);
}

/* Searches for places of uprobes, and attaches to the new ones. */
static int scan(struct session *s, struct traced *traced, struct err *err)
{
	struct err warning = {};
	int res;

	traced->scan_due = false;
	res = loader__add_process(s->loader, traced->pid, &traced->probe_cnt, &warning);
	if (res && err)
		*err = warning;
	else if (!res && warning.msg[0] && !s->leases_told)
		log__warn("process %u: %s", traced->pid, warning.msg);
	s->leases_told |= !res && warning.msg[0];
	return res;
}

static bool needs_sites(struct session *s)
{
	return loader__wait_probe(s->loader) == WAIT_UPROBES;
}

static void on_find(void *ctx, uint64_t arg);

static void find_sites_soon(struct session *s)
{
	if (!needs_sites(s))
		return;
	s->find_tries = 0;
	if (s->find_timer_fd < 0)
		s->find_timer_fd =
			event_loop__timer(s->watch, FIND_EVERY_NS, FIND_EVERY_NS, on_find, s);
}

static void on_find(void *ctx, uint64_t arg)
{
	struct session *s = ctx;
	bool missing = false;

	(void)arg;
	for (struct traced *traced = s->traced; traced; traced = traced->hh.next) {
		if (traced->pidfd < 0 || traced->probe_cnt)
			continue;
		scan(s, traced, NULL);
		missing = missing || !traced->probe_cnt;
	}
	if (missing && ++s->find_tries < FIND_TRIES)
		return;
	if (missing)
		log__warn(
			"no epoll_wait found to probe in what the process maps: its loop can't be "
			"seen by uprobes; --backend kernel can");
	event_loop__remove(s->watch, s->find_timer_fd);
	s->find_timer_fd = -1;
}

static void on_end(void *ctx, uint64_t pid)
{
	struct item item = { .kind = ITEM_PROCESS_GONE, .pid = pid };
	struct session *s = ctx;
	struct traced *traced = session__traced(s, pid);

	if (!traced || traced->pidfd < 0)
		return;
	ring__drain(s->ring); /* its last records precede its end */
	event_loop__remove(s->watch, traced->pidfd);
	close(traced->pidfd);
	traced->pidfd = -1;
	session__forget_marks(s, pid);
	loader__drop_process(s->loader, pid);
	queue__put(s->queue, &item);
	log__verbose("process %u ended", (unsigned)pid);
	if (!--s->alive_cnt)
		s->stop = true;
}

/* Explains a missing pidfd: for a pid without a process, /proc gives the better message. */
static int explain(uint32_t pid, int code, struct err *err)
{
	struct proc_info info;
	int res = procinfo__read(pid, &info, err);

	if (res)
		return res;
	procinfo__free(&info);
	return err__set(err, code, "cannot watch process %u: %s", pid, strerror(code));
}

static int watch_end(struct session *s, struct traced *traced, struct err *err)
{
	int res;

	traced->pidfd = syscall(SYS_pidfd_open, traced->pid, 0);
	if (traced->pidfd < 0)
		return explain(traced->pid, errno, err);
	res = event_loop__add(s->watch, traced->pidfd, on_end, s, traced->pid);
	if (res)
		return err__set(err, -res, "cannot watch process %u: %s", traced->pid,
				strerror(-res));
	s->alive_cnt++;
	return 0;
}

int session__trace(struct session *s, pid_t pid, struct err *err)
{
	struct traced *traced = session__new_traced(s, pid);
	int res;

	if (!traced)
		return err__set(err, ENOMEM, "out of memory");
	res = watch_end(s, traced, err);
	if (!res)
		res = machine__add_process(s->machine, pid);
	if (!res)
		res = session__refresh(s, traced, err);
	if (res == -ESRCH && traced->pidfd >= 0)
		return 0; /* it ended meanwhile: its pidfd reports that */
	return res;
}

static int place_probes(struct session *s, struct traced *traced, struct err *err)
{
	int res = scan(s, traced, err);

	loader__update_poller(s->loader, traced->pid);
	if ((res == -EACCES || res == -EPERM) && !needs_sites(s)) {
		log__warn("%s: it is traced, but its stacks may have no names; see `jankbpf "
			  "doctor`",
			  err->msg);
		*err = (struct err){};
		return 0;
	}
	if (!res && !traced->probe_cnt)
		find_sites_soon(s);
	return res == -ESRCH ? 0 : res;
}

int session__place_probes(struct session *s, struct err *err)
{
	int res = 0;

	for (struct traced *traced = s->traced; traced && !res; traced = traced->hh.next)
		res = place_probes(s, traced, err);
	return res;
}

/* A process that can no longer be read keeps at least a name. */
static void rename_gone(struct session *s, struct traced *traced, const char *comm)
{
	char *name = traced->process ? strdup(comm) : NULL;

	if (!name) {
		losses__add(&s->losses, LOSS_NO_MEMORY, traced->process != NULL);
		return;
	}
	free(traced->process->name);
	traced->process->name = name;
}

/*
 * Uprobes stay attached: on files that the new program also maps, they work from its first
 * instruction. Only after an exec by a non-main thread are they dead, since they belong to the
 * former main thread.
 */
void session__on_exec(struct session *s, const struct jank_rec_exec *rec)
{
	const struct jank_rec *hdr = &rec->hdr;
	struct traced *traced = session__traced(s, hdr->tgid);
	struct err err = {};
	int res;

	if (hdr->flags & JANK_EXEC_32BIT)
		session__on_compat_exec(s, hdr->tgid);
	if (s->mains)
		mains__renew(s->mains, hdr->tgid);
	if (!traced || traced->pidfd < 0)
		return;
	session__forget_marks(s, traced->pid);
	if (s->opts->filter.all) {
		session__refresh(s, traced, &err);
		return;
	}
	if (hdr->flags & JANK_EXEC_BY_THREAD && loader__renew_process(s->loader, traced->pid))
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	res = session__refresh(s, traced, &err);
	if (res)
		rename_gone(s, traced, rec->comm);
	if (res || scan(s, traced, &err))
		log__verbose("after its exec: %s", err.msg);
	find_sites_soon(s);
}

static void look_again(struct session *s, struct traced *traced)
{
	struct err err = {};

	session__announce(s, traced);
	if (scan(s, traced, &err))
		log__verbose("%s", err.msg);
}

/*
 * A thread waits in a loop for the first time: by now the libraries that it needs are mapped.
 * Processes that follow closely are scanned together.
 */
void session__on_new_loop(struct session *s, uint32_t pid)
{
	struct traced *traced = session__traced(s, pid);

	if (s->opts->filter.all || !traced || traced->pidfd < 0 || traced->scan_due)
		return;
	look_again(s, traced);
	traced->scan_due = true;
}

void session__scan_due(struct session *s)
{
	if (s->opts->filter.all)
		return;
	for (struct traced *traced = s->traced; traced; traced = traced->hh.next)
		if (traced->pidfd >= 0 &&
		    (traced->scan_due || loader__lost_task(s->loader, traced->pid)))
			look_again(s, traced);
}

void session__free_one(struct session *s, struct traced *traced)
{
	HASH_DEL(s->traced, traced);
	if (traced->pidfd >= 0)
		close(traced->pidfd);
	identity__free(traced->process);
	free(traced);
}

void session__free_traced(struct session *s)
{
	while (s->traced)
		session__free_one(s, s->traced);
	free(s->untold);
	unwatched__free(&s->children);
	session__free_first_look(&s->first_look);
}

/* --- marks: the dispatch rate of a process decides whether they are on (mark_duty.h) */

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
		return; /* failed: the next look retries */
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
