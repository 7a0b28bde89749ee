/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Openings: dispatches that were open before the trace. A thread of its own finds them and reads
 * the stacks of those that sleep, since a hanging process may hold up who reads it. The task
 * iterator opens them (bpf/opening.bpf.h), on the intake thread.
 */
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "files/proc.h"
#include "probes/stack_sample.h"
#include "procfs/futex_wait.h"
#include "procfs/procinfo.h"
#include "session/look_order.h"
#include "session/opened_stack.h"
#include "session/session_parts.h"

#define SEEN_MAX    32 /* places are kept for those in a handler */
#define OTHERS_MAX  8  /* other threads of a process, twice */
#define THREADS_MAX 1024
#define AGAIN_MAX   3
#define DEPTH_MAX   64 /* generations of processes */
#define TICK_NS	    NS_PER_MS
#define AWAIT_NS    (100 * NS_PER_MS) /* of the start, for the processes of -p */
#define LOOK_NS	    (2 * NS_PER_SEC)  /* at the processes of -a */
#define OPENED_NS   (3 * NS_PER_SEC)  /* the iterator runs once a second */

static void pause_ns(uint64_t ns)
{
	const struct timespec time = { .tv_nsec = (long)ns };

	nanosleep(&time, NULL);
}

/* --- the thread */

static bool has_not_slept(const struct main_handler *found)
{
	return thread_handler__sleep_cnt(found->pid, found->tid) == found->sleep_cnt;
}

/* The sink thread looks for a handler on its stack. opening: where it sleeps; NULL: it runs. */
static bool ask(const struct openings *openings, const struct main_handler *found,
		const struct jank_opening *opening)
{
	struct handler_look *look = calloc(1, sizeof(*look));
	struct item item = { .kind = ITEM_LOOK, .size = sizeof(*look), .uid = UID_UNKNOWN };
	bool ret = false;

	if (!look)
		return false;
	item.pid = found->pid;
	item.data = look;
	look->sleep_cnt = found->sleep_cnt;
	look->may_rest = found->may_rest;
	look->rests = found->rests;
	look->alone = found->alone;
	look->lock_epfd = found->lock_epfd;
	look->all = openings->all;
	look->plain = openings->plain;
	look->wait = found->wait;
	if (opening)
		ret = opened_stack__read(found->pid, found->tid, opening, &look->copy);
	else
		ret = !stack_sample__take(found->pid, found->tid, &look->copy) &&
		      has_not_slept(found);
	ret = ret && queue__put(openings->queue, &item) == QUEUE_ROOM;
	if (!ret)
		free(look);
	return ret;
}

/*
 * Plain probes open no dispatch of a thread that sleeps: they do not know its task. Its wait is
 * told, with the stack: pc and stack pointer are in /proc. It lasts since now, at least.
 */
static void ask_by_proc(struct openings *openings, struct main_handler *found)
{
	struct jank_opening opening = { .stack_end = ~0ull, .sleep_cnt = found->sleep_cnt };
	struct blocked_call call;

	if (found->runs || blocked_call__read("/proc", found->pid, found->tid, &call))
		return;
	opening.start_ns = opening.span_ns = found->since_ns = clock__mono_ns();
	opening.regs[JANK_REG_SP] = call.sp;
	opening.regs[JANK_REG_PC] = call.pc;
	ask(openings, found, &opening);
}

/* A monitor of Java is waited for in slices, of up to a second. Returns false to give up. */
static bool look_again(struct openings *openings, struct main_handler *found)
{
	struct jank_opening opening = { .fd = JANK_OPENING_SEEN };
	struct main_handler now;

	if (found->lock_epfd < 0 || found->again++ == AGAIN_MAX ||
	    thread_handler__look(found->pid, found->tid, &now) || !now.futex)
		return false;
	found->sleep_cnt = now.sleep_cnt;
	opening.sleep_cnt = now.sleep_cnt;
	opening.wait = now.wait;
	return !opening_bpf_fds__put(&openings->maps, found->tid, &opening);
}

/* Returns true when the probes, and the sink thread, have said all about it. */
static bool is_done(struct openings *openings, struct main_handler *found)
{
	struct jank_opening opening;
	bool known = !opening_bpf_fds__get(&openings->maps, found->tid, &opening);

	if (openings->plain) {
		ask_by_proc(openings, found);
		return true;
	}
	if (found->runs && found->epfd == JANK_OPENING_SEEN && !found->asked) {
		found->asked = true;
		return !ask(openings, found, NULL);
	}
	if (known && opening.fd == JANK_OPENING_WITHDRAWN)
		return true;
	if (!has_not_slept(found))
		return !look_again(openings, found);
	if (!known || !opening.opened)
		return false;
	if (opening.fd != JANK_OPENING_SEEN) {
		opened_stack__copy(&openings->maps, found->pid, found->tid, &opening);
		return true;
	}
	found->since_ns = opening.start_ns;
	opening_bpf_fds__drop(&openings->maps, found->tid); /* before the answer comes */
	return !ask(openings, found, &opening);
}

/* Reads the stacks once the dispatches are open. Returns false when all are done. */
static bool look_at_opened(struct openings *openings, bool done[JANK_OPENING_MAX])
{
	bool more = false;

	for (size_t i = 0; i < openings->found_cnt; i++) {
		if (i >= openings->told_cnt)
			return true;
		if (done[i])
			continue;
		done[i] = !openings->found[i].traced || is_done(openings, &openings->found[i]);
		if (done[i])
			opening_bpf_fds__drop(&openings->maps, openings->found[i].tid);
		more |= !done[i];
	}
	return more;
}

static bool may_be_in_handler(const struct openings *openings, const struct main_handler *found)
{
	return !openings->all || found->lock_epfd >= 0 ||
	       (!found->rests && pollers__is_one(openings->catalogue, found->pid));
}

static bool is_found(const struct openings *openings, uint32_t tid)
{
	for (size_t i = 0; i < openings->found_cnt; i++)
		if (openings->found[i].tid == tid)
			return true;
	return false;
}

static void look_at(struct openings *openings, uint32_t pid)
{
	size_t cnt = openings->found_cnt;
	struct main_handler *found = &openings->found[cnt];
	int res = cnt < JANK_OPENING_MAX ? main_handler__find(pid, found) : -ENOSPC;

	if (openings->plain && !res)
		res = -ENODATA;
	if (!res) {
		log__verbose("process %u: its thread %u is in a handler of epoll %d", pid,
			     found->tid, found->epfd);
		openings->found_cnt = cnt + 1;
	} else if (res == -ENODATA && cnt < SEEN_MAX && may_be_in_handler(openings, found)) {
		found->epfd = JANK_OPENING_SEEN;
		openings->found_cnt = cnt + 1;
	} else if (res != -EAGAIN && res != -ENODATA && res != -ESRCH && res != -ENOENT) {
		log__verbose("process %u: whether it hangs already is not known: %s", pid,
			     strerror(-res));
	}
}

/* Does it do something, so that its stack may show a handler? */
static bool is_at_work(uint32_t pid, uint32_t tid, bool in_d, struct main_handler *ret)
{
	return !thread_handler__look(pid, tid, ret) &&
	       !(ret->may_rest && (ret->rests || ret->futex)) && (ret->state == 'D') == in_d;
}

/* The process's other threads: those in state D, or all the others. */
static void look_at_threads(struct openings *openings, uint32_t pid, bool in_d)
{
	size_t max = openings->found_cnt + OTHERS_MAX, cnt = 0;
	struct main_handler *found;
	struct dirent *entry;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && !openings->stop && cnt++ < THREADS_MAX && openings->found_cnt < max &&
	       openings->found_cnt < SEEN_MAX && (entry = readdir(dir))) {
		uint32_t tid = strtoul(entry->d_name, NULL, 10);

		found = &openings->found[openings->found_cnt];
		if (!tid || tid == pid || is_found(openings, tid) ||
		    !is_at_work(pid, tid, in_d, found))
			continue;
		found->epfd = JANK_OPENING_SEEN;
		openings->found_cnt++;
	}
	if (dir)
		closedir(dir);
}

/* A process has loops in other threads, too, where only their stacks tell. */
static void look_at_other_threads(struct openings *openings)
{
	for (size_t i = 0; i < openings->pid_cnt && !openings->filter.main_thread; i++) {
		uint32_t pid = openings->pids[i];

		if (!pollers__is_one(openings->catalogue, pid))
			continue;
		look_at_threads(openings, pid, true);
		look_at_threads(openings, pid, false);
	}
}

/* Is it a child of one of the given ones, or of their children? */
static bool is_below(const struct openings *openings, const struct proc_info *process)
{
	struct proc_info info = *process;
	char state;

	for (unsigned i = 0; i < DEPTH_MAX && info.parent_pid > 1; i++) {
		for (size_t j = 0; j < openings->pid_cnt; j++)
			if ((uint32_t)openings->pids[j] == info.parent_pid)
				return true;
		if (procinfo__read_stat((pid_t)info.parent_pid, &info, &state))
			return false;
	}
	return false;
}

static bool is_wanted(const struct openings *openings, const struct proc_info *info)
{
	return openings->filter.all ? filter__admits_living(&openings->filter, info)
				    : is_below(openings, info);
}

/* There is room for some only. */
static void look_at_all(struct openings *openings)
{
	uint64_t until_ns = clock__mono_ns() + LOOK_NS;
	struct look_order order = {};
	DIR *proc = opendir("/proc");
	struct proc_info info = {};
	struct dirent *entry;

	while (proc && !openings->stop && (entry = readdir(proc))) {
		struct look_order_entry next = { .pid = strtoul(entry->d_name, NULL, 10) };

		if (!next.pid || procinfo__read_stat((pid_t)next.pid, &info, &next.state) ||
		    info.kernel_thread || !is_wanted(openings, &info))
			continue;
		next.ran_ns = look_order__ran_ns(next.pid);
		if (look_order__add(&order, &next))
			break;
	}
	if (proc)
		closedir(proc);
	look_order__sort(&order);
	for (size_t i = 0; i < order.cnt && !openings->stop && clock__mono_ns() < until_ns; i++)
		look_at(openings, order.entries[i].pid);
	look_order__free(&order);
}

static void *work(void *arg)
{
	struct openings *openings = arg;
	uint64_t slow_ns = clock__mono_ns() + AWAIT_NS, until_ns;
	bool done[JANK_OPENING_MAX] = {};

	for (size_t i = 0; i < openings->pid_cnt; i++)
		look_at(openings, openings->pids[i]);
	if (!openings->plain)
		look_at_other_threads(openings);
	if (openings->all)
		look_at_all(openings);
	openings->looked = true;
	until_ns = clock__mono_ns() + OPENED_NS;
	while (look_at_opened(openings, done) && !openings->stop && clock__mono_ns() < until_ns)
		pause_ns(clock__mono_ns() < slow_ns ? TICK_NS : 10 * TICK_NS);
	for (size_t i = 0; i < openings->found_cnt; i++)
		if (!done[i])
			opening_bpf_fds__drop(&openings->maps, openings->found[i].tid);
	openings->read = true;
	return NULL;
}

/* --- the session's side */

static void await(const struct openings *openings, const atomic_bool *fact)
{
	uint64_t until_ns = clock__mono_ns() + AWAIT_NS;

	while (openings->started && !*fact && clock__mono_ns() < until_ns)
		pause_ns(TICK_NS / 10);
}

void session__begin_openings(struct session *s)
{
	struct openings *openings = &s->openings;

	openings->pids = s->opts->pids;
	openings->pid_cnt = s->opts->pid_cnt;
	openings->all = s->opts->filter.all || s->opts->follow;
	openings->catalogue = s->selection.catalogue;
	openings->filter = s->selection.filter;
	openings->queue = s->queue;
	openings->plain = !features__typed(&s->features);
	openings->all &= !openings->plain;
	if ((!openings->pid_cnt && !openings->all) ||
	    loader__opening_maps(s->loader, &openings->maps))
		return;
	openings->started = !thread__start(&openings->thread, "jankbpf-opening", work, openings);
	if (openings->started && !openings->all)
		await(openings, &openings->looked);
}

static bool is_traced(struct session *s, uint32_t pid)
{
	return s->opts->filter.all ? filter__admits(&s->selection.filter, pid)
				   : loader__admits(s->loader, pid);
}

void session__tell_openings(struct session *s)
{
	struct openings *openings = &s->openings;

	for (; openings->told_cnt < openings->found_cnt; openings->told_cnt++) {
		struct main_handler *found = &openings->found[openings->told_cnt];
		const struct jank_opening opening = {
			.sleep_cnt = found->sleep_cnt,
			.fd = found->epfd,
			.loop = JANK_LOOP_EPOLL,
			.wait = found->wait,
		};

		found->traced = is_traced(s, found->pid);
		if (found->traced && !openings->plain && (!found->runs || found->epfd >= 0))
			opening_bpf_fds__put(&openings->maps, found->tid, &opening);
	}
}

bool openings__await_stacks(struct openings *openings)
{
	if (!openings->found_cnt)
		return false;
	await(openings, &openings->read);
	return true;
}

bool openings__are_pending(const struct openings *openings)
{
	return openings->found_cnt && !openings->read;
}

void openings__on_loop(struct openings *openings, const struct jank_rec_loop *rec)
{
	const struct jank_opening withdrawn = { .fd = JANK_OPENING_WITHDRAWN };

	for (size_t i = 0; i < openings->told_cnt; i++)
		if (openings->found[i].pid == rec->hdr.tgid && openings->found[i].epfd == rec->fd &&
		    openings->found[i].tid != rec->hdr.tid)
			opening_bpf_fds__put(&openings->maps, openings->found[i].tid, &withdrawn);
}

uint64_t openings__since(const struct openings *openings, uint32_t pid)
{
	for (size_t i = 0; i < openings->found_cnt; i++) {
		const struct main_handler *found = &openings->found[i];

		if (found->tid == pid && found->epfd == JANK_OPENING_SEEN && has_not_slept(found))
			return found->since_ns;
	}
	return 0;
}

void openings__end(struct openings *openings)
{
	openings->stop = true;
	if (openings->started)
		pthread_join(openings->thread, NULL);
	openings->started = false;
	opening_bpf_fds__close(&openings->maps);
}
