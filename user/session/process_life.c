/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Life of a traced process: watched by a pidfd, searched for places of uprobes, told apart after an
 * exec, dropped at its end.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "procfs/procinfo.h"
#include "session/session_parts.h"

/* A new program maps its libraries shortly after exec; there is no event for that. */
#define FIND_EVERY_NS (5 * NS_PER_MS)
#define FIND_TRIES    400

/* --- places of uprobes */

/* Searches for places of uprobes, and attaches to the new ones. */
static int scan(struct session *s, struct process_entry *process, struct err *err)
{
	struct site_search *search = &s->site_search;
	struct err warning = {};
	int res;

	process->scan_due = false;
	res = loader__add_process(s->loader, process->pid, &process->probe_cnt, &warning);
	if (res && err)
		*err = warning;
	else if (!res && warning.msg[0] && !search->leases_reported)
		log__warn("process %u: %s", process->pid, warning.msg);
	search->leases_reported |= !res && warning.msg[0];
	return res;
}

static bool needs_sites(struct session *s)
{
	return loader__wait_probe(s->loader) == WAIT_UPROBES;
}

static void on_find(void *ctx, uint64_t arg)
{
	struct session *s = ctx;
	struct site_search *search = &s->site_search;
	struct process_entry *process;
	bool missing = false;

	(void)arg;
	for (process = s->processes.entries; process; process = process->hh.next) {
		if (process->pidfd < 0 || process->probe_cnt)
			continue;
		scan(s, process, NULL);
		missing = missing || !process->probe_cnt;
	}
	if (missing && ++search->try_cnt < FIND_TRIES)
		return;
	if (missing)
		log__warn(
			"no epoll_wait found to probe in what the process maps: its loop can't be "
			"seen by uprobes; --backend kernel can");
	event_loop__remove(s->event_loop, search->timer_fd);
	search->timer_fd = -1;
}

static void find_sites_soon(struct session *s)
{
	struct site_search *search = &s->site_search;

	if (!needs_sites(s))
		return;
	search->try_cnt = 0;
	if (search->timer_fd < 0)
		search->timer_fd =
			event_loop__timer(s->event_loop, FIND_EVERY_NS, FIND_EVERY_NS, on_find, s);
}

static int place_probes(struct session *s, struct process_entry *process, struct err *err)
{
	int res = scan(s, process, err);

	loader__update_poller(s->loader, process->pid);
	if ((res == -EACCES || res == -EPERM) && !needs_sites(s)) {
		log__warn("%s: it is traced, but its stacks may have no names; see `jankbpf "
			  "doctor`",
			  err->msg);
		*err = (struct err){};
		return 0;
	}
	if (!res && !process->probe_cnt)
		find_sites_soon(s);
	return res == -ESRCH ? 0 : res;
}

int session__place_probes(struct session *s, struct err *err)
{
	struct process_entry *process;
	int res = 0;

	for (process = s->processes.entries; process && !res; process = process->hh.next)
		res = place_probes(s, process, err);
	return res;
}

static void look_again(struct session *s, struct process_entry *process)
{
	struct err err = {};

	process_table__announce(&s->processes, process);
	if (scan(s, process, &err))
		log__verbose("%s", err.msg);
}

/*
 * A thread waits in a loop for the first time: by now the libraries that it needs are mapped.
 * Processes that follow closely are scanned together.
 */
void session__on_new_loop(struct session *s, uint32_t pid)
{
	struct process_entry *process = process_table__find(&s->processes, pid);

	if (s->opts->filter.all || !process || process->pidfd < 0 || process->scan_due)
		return;
	look_again(s, process);
	process->scan_due = true;
}

void session__scan_due(struct session *s)
{
	struct process_entry *process;

	if (s->opts->filter.all)
		return;
	for (process = s->processes.entries; process; process = process->hh.next)
		if (process->pidfd >= 0 &&
		    (process->scan_due || loader__lost_task(s->loader, process->pid)))
			look_again(s, process);
}

/* --- marks, switched off and on by the duty cycle of the process */

static void add_dispatches(void *ctx, uint32_t pid, uint64_t dispatch_cnt)
{
	struct process_entry *process = process_table__find(ctx, pid);

	if (process)
		process->dispatch_cnt += dispatch_cnt;
}

static void put_on(struct loader *loader, struct process_entry *process)
{
	struct err err = {};

	if (loader__add_process(loader, process->pid, &process->probe_cnt, &err))
		log__verbose("%s", err.msg);
}

/* Has the loader do what the process's duty says. A failure is retried after the next look. */
static void pace(struct session *s, struct process_entry *process)
{
	bool taken = s->govern.gov.level >= GOVERNOR_NO_MARKS;
	struct loader *loader = s->loader;
	bool off = taken || (!process->duty.on && s->opts->marks == MARKS_AUTO);

	if (off == process->marks_off || loader__pause_marks(loader, process->pid, off))
		return;
	process->marks_off = off;
	if (off || process->duty.off_ns)
		log__verbose("process %u: %" PRIu64 " dispatches or marks a second, messages are "
			     "%s",
			     process->pid, process->duty.rate, off ? "not probed" : "probed again");
	if (!off)
		put_on(loader, process);
}

void session__pace_marks(struct session *s)
{
	struct process_table *table = &s->processes;
	uint64_t now_ns = clock__mono_ns();
	struct process_entry *process;

	if (!loader__has_marks(s->loader) || (s->opts->marks != MARKS_AUTO && !s->govern.step_cnt))
		return;
	for (process = table->entries; process; process = process->hh.next)
		process->dispatch_cnt = 0;
	hists__each(s->counts.live, add_dispatches, table);
	for (process = table->entries; process; process = process->hh.next)
		if (!process->ended) {
			mark_duty__look(&process->duty, now_ns, process->dispatch_cnt);
			pace(s, process);
		}
}

void session__on_busy_marks(struct session *s, const struct jank_rec_marks *rec)
{
	struct process_entry *process = process_table__find(&s->processes, rec->hdr.tgid);

	if (!process || process->ended)
		return;
	mark_duty__busy(&process->duty, clock__mono_ns(), rec->cnt * 1000ull / (rec->ms ?: 1));
	pace(s, process);
}

/* A new program begins as a new process does. */
static void reset_marks(struct session *s, struct process_entry *process,
			const struct jank_rec_exec *rec)
{
	bool off = s->processes.marks_later;

	(void)rec;
	if (off != process->marks_off && !loader__pause_marks(s->loader, process->pid, off))
		process->marks_off = off;
	process->duty = (struct mark_duty){ .on = !off };
}

static void forget_marks(struct session *s, struct process_entry *process)
{
	if (process->marks_off)
		loader__pause_marks(s->loader, process->pid, false);
}

/* --- exec and exit of a process, in each part of this thread that has state for it */

/*
 * Uprobes stay attached: on files that the new program also maps, they work from its first
 * instruction. Only after an exec by a non-main thread are they dead, since they belong to the
 * former main thread.
 */
static void renew_probes(struct session *s, struct process_entry *process,
			 const struct jank_rec_exec *rec)
{
	if (!s->opts->filter.all && rec->hdr.flags & JANK_EXEC_BY_THREAD &&
	    loader__renew_process(s->loader, process->pid))
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
}

static void drop_probes(struct session *s, struct process_entry *process)
{
	if (!s->opts->filter.all)
		loader__drop_process(s->loader, process->pid);
}

static void drop_clock(struct session *s, struct process_entry *process)
{
	machine__drop_process(s->machine.machine, process->pid);
}

/* The histograms outlive the process. */
static void name_histograms(struct session *s, struct process_entry *process)
{
	if (process->identity && loops__name_ended(s->intake.loops, process->identity))
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
}

/* It has evidence of its start-up only, which nothing else ends. */
static void forget_startup(struct session *s, struct process_entry *process)
{
	if (!process->loop_ns)
		loops__on_exit(s->intake.loops, process->pid, clock__mono_ns());
}

/* Reads the new program. A process that can no longer be read keeps at least a name. */
static void read_program(struct session *s, struct process_entry *process,
			 const struct jank_rec_exec *rec)
{
	struct err err = {};
	int res = process_table__read(&s->processes, process, clock__mono_ns(), &err);

	if (s->opts->filter.all)
		return;
	if (res && process->identity && process_entry__set_name(process, rec->comm))
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	if (res || scan(s, process, &err))
		log__verbose("after its exec: %s", err.msg);
	find_sites_soon(s);
}

static void report_exit(struct session *s, struct process_entry *process)
{
	if (process->announced || !process->found)
		process_table__report_exit(&s->processes, process->pid);
}

/*
 * A part of this thread with state for each process is one row; NULL: nothing to do. The rows run
 * in this order.
 */
static const struct process_module {
	void (*on_exec)(struct session *s, struct process_entry *process,
			const struct jank_rec_exec *rec);
	void (*on_exit)(struct session *s, struct process_entry *process);
} modules[] = {
	{ reset_marks, forget_marks }, /* marks, above */
	{ renew_probes, drop_probes }, /* probes/loader.h, uprobes/ */
	{ NULL, drop_clock },	       /* enrich/machine.h */
	{ NULL, name_histograms },     /* model/loop.h */
	{ NULL, forget_startup },      /* model/loop.h */
	{ read_program, report_exit }, /* process_table.c: the sink thread's modules */
};

#define MODULE_CNT (sizeof(modules) / sizeof(*modules))

/* Tables of processes that need not be traced ones: 32-bit programs, main threads of -a. */
static void exec_others(struct session *s, const struct jank_rec *hdr)
{
	if (hdr->flags & JANK_EXEC_32BIT)
		compat_watch__on_exec(&s->compat_watch, hdr->tgid);
	if (s->discovery.mains)
		mains__renew(s->discovery.mains, hdr->tgid);
}

void session__on_exec(struct session *s, const struct jank_rec_exec *rec)
{
	struct process_entry *process = process_table__find(&s->processes, rec->hdr.tgid);

	exec_others(s, &rec->hdr);
	if (!process || process->pidfd < 0)
		return;
	for (size_t i = 0; i < MODULE_CNT; i++)
		if (modules[i].on_exec)
			modules[i].on_exec(s, process, rec);
}

/* --- pidfds */

void session__unwatch_end(struct session *s, struct process_entry *process)
{
	if (process->pidfd < 0)
		return;
	event_loop__remove(s->event_loop, process->pidfd);
	close(process->pidfd);
	process->pidfd = -1;
}

/* A given process keeps its entry, for the summary and the list of what was not watched. */
void session__on_exit(struct session *s, struct process_entry *process)
{
	session__unwatch_end(s, process);
	if (process->limit_ns)
		loader__drop_limit(s->loader, process->pid);
	for (size_t i = 0; i < MODULE_CNT; i++)
		modules[i].on_exit(s, process);
	if (process->keeps_alive && !--s->processes.alive_cnt)
		s->end.stop = true;
	if (process->found)
		process_table__drop(&s->processes, process);
	else
		log__verbose("process %u ended", process->pid);
}

static void on_pidfd(void *ctx, uint64_t pid)
{
	struct session *s = ctx;
	struct process_entry *process;

	ring__drain(s->ring); /* its last records precede its end */
	process = process_table__find(&s->processes, pid);
	if (process && process_entry__has_ended(process))
		session__on_exit(s, process);
}

int session__watch_end(struct session *s, struct process_entry *process)
{
	int res;

	process->pidfd = syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd < 0)
		return -errno;
	res = event_loop__add(s->event_loop, process->pidfd, on_pidfd, s, process->pid);
	if (res) {
		session__unwatch_end(s, process);
		return res;
	}
	process->keeps_alive = s->opts->pid_cnt > 0 || !process->found;
	s->processes.alive_cnt += process->keeps_alive;
	return 0;
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

/* One that had ended before us. Our COMMAND is one only after its own exit status. */
static bool is_zombie(pid_t pid)
{
	struct proc_info info;
	char state;

	return pid && !procinfo__read_stat(pid, &info, &state) && state == 'Z' &&
	       info.parent_pid != (uint32_t)getpid();
}

int session__trace(struct session *s, pid_t pid, struct err *err)
{
	struct process_entry *process = process_table__add(&s->processes, pid);
	int res;

	if (!process)
		return err__set(err, ENOMEM, "out of memory");
	res = session__watch_end(s, process);
	if (res)
		return explain(pid, -res, err);
	res = machine__add_process(s->machine.machine, pid);
	if (!res)
		res = process_table__read(&s->processes, process, clock__mono_ns(), err);
	if (res != -ESRCH)
		return res;
	if (is_zombie(pid))
		return err__set(
			err, ESRCH,
			"process %d has ended: it is there only until its parent waits for it",
			pid);
	return 0; /* it ended meanwhile: its pidfd reports that */
}
