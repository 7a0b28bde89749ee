/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Start-ups: dispatches of main threads from the exec or fork of their process to their loop's
 * first wait (bpf/startup.bpf.h). The probes list the processes that began lately. A thread of its
 * own looks at that list several times a second, since it reads what a process waits for. Where
 * one is older than AGE_MIN_NS and has no loop, the task iterator opens the dispatch, on the intake
 * thread.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "procfs/procinfo.h"
#include "session/opened_stack.h"
#include "session/session_parts.h"

#define AGE_MIN_NS    (100 * NS_PER_MS)
#define PERIOD_MAX_NS (200 * NS_PER_MS)
#define PERIOD_MIN_NS (20 * NS_PER_MS)
#define PERIOD_PART   5	  /* of the threshold */
#define OPENED_MS     50  /* by then the intake thread has looked */
#define ASK_MAX	      3	  /* a thread that is about to poll opens its dispatch itself */
#define LOOK_MAX      512 /* processes of the list, in one look */

/* Can a process begin that is traced? */
static bool may_begin(const struct options *opts)
{
	return opts->filter.all || opts->follow || opts->argv;
}

uint64_t startups__threshold(const struct options *opts, const struct features *features)
{
	return may_begin(opts) && features__typed(features) && features__can_look(features)
		       ? opts->startup_ns
		       : 0;
}

/* --- the thread */

static void drop(struct startups *startups, size_t i)
{
	opening_bpf_fds__drop(&startups->maps, startups->list[i].pid);
	startups->list[i] = startups->list[--startups->cnt];
}

/* Its main thread waits, or was found to wait, in its loop. */
static bool has_looped(const struct jank_exec *exec)
{
	return exec->looped & JANK_LOOPED_MAIN || exec->rest_ns;
}

/* Is it of no more interest? */
static bool is_over(struct startups *startups, const struct starting *starting, uint64_t now_ns)
{
	bool old = now_ns - starting->begin_ns > JANK_EXEC_NS;
	struct jank_exec exec;

	if (opening_bpf_fds__exec(&startups->maps, starting->pid, &exec)) {
		startup_names__add(startups->names, starting->comm, false);
		return true;
	}
	if (old || has_looped(&exec))
		startup_names__add(startups->names, starting->comm, has_looped(&exec));
	return old || has_looped(&exec) || exec.begin_ns != starting->begin_ns;
}

static bool is_listed(const struct startups *startups, uint32_t pid)
{
	for (size_t i = 0; i < startups->cnt; i++)
		if (startups->list[i].pid == pid)
			return true;
	return false;
}

static void consider(struct startups *startups, uint32_t pid, const struct jank_exec *exec,
		     uint64_t now_ns)
{
	struct starting *starting = &startups->list[startups->cnt];
	struct proc_info info;
	char state;

	if (exec->begin_ns + JANK_EXEC_NS < now_ns) {
		opening_bpf_fds__forget(&startups->maps, pid);
		return;
	}
	if (exec->looped || exec->rest_ns || exec->begin_ns + AGE_MIN_NS > now_ns ||
	    startups->cnt == JANK_STARTUP_MAX || is_listed(startups, pid) ||
	    procinfo__read_stat((pid_t)pid, &info, &state) ||
	    (!startups->chosen && startup_names__skips(startups->names, info.comm)))
		return;
	*starting = (struct starting){
		.pid = pid,
		.begin_ns = exec->begin_ns,
		.hang_due_ns = exec->begin_ns + startups->hang_ns,
	};
	memcpy(starting->comm, info.comm, sizeof(starting->comm));
	starting->comm[JANK_COMM_SZ - 1] = '\0';
	startups->cnt++;
}

static void look_at_list(struct startups *startups)
{
	uint64_t now_ns = clock__mono_ns();
	struct jank_exec execs[LOOK_MAX];
	uint32_t pids[LOOK_MAX];
	size_t cnt = opening_bpf_fds__execs(&startups->maps, pids, execs, LOOK_MAX);

	pthread_mutex_lock(&startups->lock);
	for (size_t i = 0; i < startups->cnt;) {
		if (is_over(startups, &startups->list[i], now_ns))
			drop(startups, i);
		else
			i++;
	}
	for (size_t i = 0; i < cnt; i++)
		consider(startups, pids[i], &execs[i], now_ns);
	pthread_mutex_unlock(&startups->lock);
}

/* Asks the probes to open the dispatches. Returns whether there are any. */
static bool ask(struct startups *startups)
{
	bool ret = false;

	for (size_t i = 0; i < startups->cnt; i++) {
		struct starting *starting = &startups->list[i];
		struct jank_opening opening = { .fd = JANK_OPENING_STARTUP };
		struct main_handler found;

		if (starting->copied || starting->ask_cnt >= ASK_MAX)
			continue;
		main_handler__read_wait(starting->pid, &found);
		opening.sleep_cnt = found.sleep_cnt;
		opening.wait = found.wait;
		starting->ask_cnt++;
		ret |= !opening_bpf_fds__put(&startups->maps, starting->pid, &opening);
	}
	return ret;
}

/*
 * What has an epoll of its own with members, and sleeps elsewhere, will have a loop: the evidence
 * for those that were in a handler before the trace (main_handler.h). A busy program may be done
 * without one.
 */
static bool may_hang(const struct startups *startups, struct starting *starting,
		     struct main_handler *found)
{
	uint64_t now_ns = clock__mono_ns();

	if (!startups->hang_ns || !starting->copied || now_ns < starting->hang_due_ns)
		return false;
	starting->hang_due_ns = now_ns + startups->hang_ns;
	return !main_handler__find(starting->pid, found) && !found->runs;
}

/* Tells the probes which may hang. Returns whether there are any. */
static bool ask_hangs(struct startups *startups)
{
	bool ret = false;

	for (size_t i = 0; i < startups->cnt; i++) {
		struct starting *starting = &startups->list[i];
		struct jank_opening opening = { .fd = JANK_OPENING_HANGS };
		struct main_handler found;

		if (!may_hang(startups, starting, &found))
			continue;
		opening.sleep_cnt = found.sleep_cnt;
		ret |= !opening_bpf_fds__put(&startups->maps, starting->pid, &opening);
	}
	return ret;
}

static void see_hangs(struct startups *startups)
{
	struct jank_opening opening;

	for (size_t i = 0; i < startups->cnt; i++) {
		struct starting *starting = &startups->list[i];

		if (opening_bpf_fds__get(&startups->maps, starting->pid, &opening) ||
		    opening.fd != JANK_OPENING_HANGS)
			continue;
		if (opening.opened)
			starting->hang_due_ns = UINT64_MAX;
		opening_bpf_fds__drop(&startups->maps, starting->pid);
	}
}

/* Copies the stacks of those that are open. Returns false when some are not. */
static bool copy_stacks(struct startups *startups)
{
	struct jank_opening opening;
	bool ret = true;

	for (size_t i = 0; i < startups->cnt; i++) {
		struct starting *starting = &startups->list[i];

		if (starting->copied ||
		    opening_bpf_fds__get(&startups->maps, starting->pid, &opening))
			continue;
		if (opening.opened) {
			opened_stack__copy(&startups->maps, starting->pid, starting->pid, &opening);
			starting->sleep_cnt = opening.sleep_cnt;
			starting->since_ns = opening.span_ns;
			opening_bpf_fds__drop(&startups->maps, starting->pid);
			starting->copied = true;
		}
		ret &= starting->copied;
	}
	return ret;
}

static bool stops(const struct startups *startups, int ms)
{
	struct pollfd pfd = { .fd = startups->stop_fd, .events = POLLIN };

	return poll(&pfd, 1, ms) != 0;
}

static void *work(void *arg)
{
	struct startups *startups = arg;

	while (!stops(startups, (int)(startups->period_ns / NS_PER_MS))) {
		look_at_list(startups);
		see_hangs(startups);
		if (ask_hangs(startups))
			eventfd_write(startups->due_fd, 1);
		if (!ask(startups) || eventfd_write(startups->due_fd, 1))
			continue;
		for (int ms = 0; ms < OPENED_MS && !copy_stacks(startups); ms++)
			if (stops(startups, 1))
				return NULL;
	}
	return NULL;
}

/* --- the session's side */

/* Their processes are described before their stacks come. */
static void on_due(void *ctx, uint64_t arg)
{
	struct session *s = ctx;
	struct startups *startups = &s->startups;
	eventfd_t cnt;

	(void)arg;
	eventfd_read(startups->due_fd, &cnt);
	pthread_mutex_lock(&startups->lock);
	for (size_t i = 0; i < startups->cnt; i++) {
		struct starting *starting = &startups->list[i];

		if (!starting->told)
			session__on_starting(s, starting->pid, starting->comm);
		starting->told = true;
	}
	pthread_mutex_unlock(&startups->lock);
	session__look_for_hangs(s);
}

uint64_t startups__since(struct startups *startups, uint32_t pid)
{
	uint64_t ret = 0;

	pthread_mutex_lock(&startups->lock);
	for (size_t i = 0; i < startups->cnt && startups->started; i++)
		if (startups->list[i].pid == pid && startups->list[i].since_ns &&
		    thread_handler__sleep_cnt(pid, pid) == startups->list[i].sleep_cnt)
			ret = startups->list[i].since_ns;
	pthread_mutex_unlock(&startups->lock);
	return ret;
}

static uint64_t period_ns(uint64_t threshold_ns)
{
	uint64_t ns = threshold_ns / PERIOD_PART;

	if (ns > PERIOD_MAX_NS)
		return PERIOD_MAX_NS;
	return ns < PERIOD_MIN_NS ? PERIOD_MIN_NS : ns;
}

void session__begin_startups(struct session *s)
{
	struct startups *startups = &s->startups;
	uint64_t threshold_ns = startups__threshold(s->opts, &s->features);

	pthread_mutex_init(&startups->lock, NULL);
	if (!threshold_ns || loader__opening_maps(s->loader, &startups->maps))
		return;
	startups->period_ns = period_ns(threshold_ns);
	startups->hang_ns = s->opts->hang_ns;
	startups->chosen = !s->opts->filter.all && !s->opts->follow;
	startups->names = startup_names__new();
	startups->stop_fd = eventfd(0, EFD_CLOEXEC);
	startups->due_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (startups->names && !opening_bpf_fds__map_execs(&startups->maps) &&
	    startups->stop_fd >= 0 && startups->due_fd >= 0 &&
	    !event_loop__add(s->event_loop, startups->due_fd, on_due, s, 0))
		startups->started =
			!thread__start(&startups->thread, "jankbpf-startup", work, startups);
	if (!startups->started)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
}

void startups__end(struct startups *startups)
{
	if (startups->started) {
		eventfd_write(startups->stop_fd, 1);
		pthread_join(startups->thread, NULL);
	}
	startups->started = false;
	if (startups->stop_fd >= 0)
		close(startups->stop_fd);
	if (startups->due_fd >= 0)
		close(startups->due_fd);
	startups->stop_fd = startups->due_fd = -1;
	startup_names__free(startups->names);
	startups->names = NULL;
	opening_bpf_fds__close(&startups->maps);
}
