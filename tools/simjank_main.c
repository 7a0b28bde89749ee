/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * simjank: a program with known jank. The main thread is the first loop, as in most real programs.
 * The thread `control` starts and stops the loops and writes the truth while they wait, so that
 * start, end and bookkeeping are not part of any dispatch.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "simjank_cleanup.h"
#include "simjank_loop.h"

struct program {
	struct options opt;
	struct loop *loops;
	int done_fd;   /* each loop adds one when it is finished */
	int ready_fd;  /* each loop adds one when it is about to wait */
	int signal_fd; /* SIGTERM, SIGINT, SIGUSR1 */
	uint64_t done_cnt;
	struct truth_info info;
};

static _Noreturn void fail(const char *what, int err)
{
	fprintf(stderr, "simjank: %s: %s\n", what, strerror(-err));
	_exit(1);
}

static unsigned needs__of(const struct options *opt)
{
	unsigned needs = 0;

	for (size_t i = 0; i < opt->pick_cnt; i++)
		needs |= opt->picks[i].scenario->needs;
	return needs;
}

static uint64_t counter__take(int fd)
{
	uint64_t value = 0;

	while (read(fd, &value, sizeof(value)) < 0 && errno == EINTR)
		;
	return value;
}

static void counter__add(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* --- The control thread */

enum event { EVENT_TIME = 1, EVENT_DONE = 2, EVENT_STOP = 4, EVENT_START = 8 };

static enum event signal__take(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return info.ssi_signo == SIGUSR1 ? EVENT_START : EVENT_STOP;
}

/* Waits for one of the wanted events, until end_ns (0: for ever). */
static enum event program__wait(struct program *program, unsigned wanted, uint64_t end_ns)
{
	struct pollfd fds[] = { { .fd = program->signal_fd, .events = POLLIN },
				{ .fd = program->done_fd, .events = POLLIN } };

	for (;;) {
		uint64_t now_ns = clock__mono_ns();
		struct timespec left = clock__timespec(end_ns > now_ns ? end_ns - now_ns : 0);
		enum event event = 0;

		if (end_ns && now_ns >= end_ns)
			return EVENT_TIME;
		if (ppoll(fds, 2, end_ns ? &left : NULL, NULL) <= 0)
			continue;
		if (fds[0].revents)
			event = signal__take(program->signal_fd);
		if (fds[1].revents)
			program->done_cnt += counter__take(program->done_fd);
		if (program->done_cnt == program->opt.threads)
			event |= EVENT_DONE;
		if (event & wanted)
			return event;
	}
}

static void program__tell_ready(const struct program *program)
{
	uint64_t cnt = 0;

	while (cnt < program->opt.threads)
		cnt += counter__take(program->ready_fd);
	if (program->opt.ready_fd >= 0)
		dprintf(program->opt.ready_fd, "ready %d\n", getpid());
	if (!program->opt.quiet)
		fprintf(stderr, "simjank: pid %d, loop %s, %u thread%s%s\n", getpid(),
			front_end.words.loop, program->opt.threads,
			program->opt.threads > 1 ? "s" : "",
			program->opt.wait ? ", waiting for SIGUSR1" : "");
}

/* False: a stop came first. */
static bool program__may_start(struct program *program)
{
	uint64_t delay_ns = program->opt.start_delay_ns;

	if (program->opt.wait &&
	    !(program__wait(program, EVENT_START | EVENT_STOP, 0) & EVENT_START))
		return false;
	return !delay_ns ||
	       program__wait(program, EVENT_STOP, clock__mono_ns() + delay_ns) == EVENT_TIME;
}

/* Finished loops are left alone: they must not have one more dispatch. */
static void program__order(struct program *program, enum loop_order order)
{
	for (unsigned i = 0; i < program->opt.threads; i++) {
		struct loop *loop = &program->loops[i];

		if (__atomic_load_n(&loop->done, __ATOMIC_ACQUIRE))
			continue;
		__atomic_store_n(&loop->order, order, __ATOMIC_RELEASE);
		front_end.kick(loop);
	}
}

static int program__write_truth(const struct program *program)
{
	struct truth *truths[OPTIONS_THREAD_MAX];

	for (unsigned i = 0; i < program->opt.threads; i++)
		truths[i] = &program->loops[i].truth;
	return truth__write(program->opt.truth, &program->info, truths, program->opt.threads);
}

static void *control__run(void *arg)
{
	struct program *program = arg;
	uint64_t duration_ns = program->opt.duration_ns;
	int err = 0;

	pthread_setname_np(pthread_self(), "control");
	program__tell_ready(program);
	program->info.start_ns = clock__mono_ns();
	if (program__may_start(program)) {
		program->info.start_ns = clock__mono_ns();
		program__order(program, ORDER_START);
		program__wait(program, EVENT_STOP | EVENT_DONE,
			      duration_ns ? program->info.start_ns + duration_ns : 0);
	}
	program__order(program, ORDER_STOP);
	if (program->done_cnt < program->opt.threads)
		program__wait(program, EVENT_DONE, 0);
	program->info.end_ns = clock__mono_ns();
	for (unsigned i = 0; i < program->opt.threads; i++)
		fixture__kill(&program->loops[i].stage);
	if (program->opt.truth)
		err = program__write_truth(program);
	if (err)
		fail(program->opt.truth, err);
	_exit(0);
}

/* --- The loops */

static void loop__run_front(struct loop *loop, int ready_fd)
{
	int err = truth__open(&loop->truth, loop->opt->truth_max, loop->opt->truth_min_ns);

	if (err)
		fail("the truth's memory or /proc/thread-self/schedstat", err);
	err = fixture__enter(&loop->stage);
	if (err)
		fail("a cgroup", err);
	err = front_end.open(loop);
	if (err)
		fail("the loop", err);
	counter__add(ready_fd);
	front_end.run(loop);
}

struct loop_thread {
	struct loop *loop;
	int ready_fd;
};

static void *loop_thread__run(void *arg)
{
	struct loop_thread *thread = arg;
	char name[16];

	snprintf(name, sizeof(name), "loop-%u", thread->loop->index);
	pthread_setname_np(pthread_self(), name);
	loop__run_front(thread->loop, thread->ready_fd);
	return NULL;
}

static void program__start_threads(struct program *program)
{
	pthread_t id;
	int err = pthread_create(&id, NULL, control__run, program);

	for (unsigned i = 1; !err && i < program->opt.threads; i++) {
		struct loop_thread *thread = malloc(sizeof(*thread));

		if (!thread)
			fail("a thread", -ENOMEM);
		*thread = (struct loop_thread){ &program->loops[i], program->ready_fd };
		err = pthread_create(&id, NULL, loop_thread__run, thread);
	}
	if (err)
		fail("a thread", -err);
}

/* Signals are read from a descriptor, so that none ends a wait. */
static void program__open(struct program *program)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	program->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	program->done_fd = eventfd(0, EFD_CLOEXEC);
	program->ready_fd = eventfd(0, EFD_CLOEXEC);
	program->loops = calloc(program->opt.threads, sizeof(*program->loops));
	if (program->signal_fd < 0 || program->done_fd < 0 || program->ready_fd < 0 ||
	    !program->loops)
		fail("start", -errno);
	program->info.loop = front_end.words.loop;
	program->info.forms = front_end.words.forms;
	program->info.opt = &program->opt;
}

static void loop__init(struct loop *loop, const struct program *program, unsigned index)
{
	loop->opt = &program->opt;
	loop->index = index;
	loop->done_fd = program->done_fd;
	loop->random = program->opt.seed * 1000003 + index;
	loop->stage.needs = needs__of(&program->opt);
	loop->stage.hog_cnt = program->opt.hogs;
	loop->stage.index = index;
	loop->truth.cast = &loop->stage.cast;
}

/*
 * What the fixture lacks: fatal for a scenario given by name; otherwise it is left out, with a
 * message.
 */
static void program__leave_out(struct program *program, const struct fixture *stage)
{
	struct options *opt = &program->opt;

	for (size_t i = 0; i < stage->lack_cnt; i++) {
		const struct lack *lack = &stage->lacks[i];
		int cnt = options__leave_out(opt, lack->needs);

		if (cnt < 0)
			fail(lack->what, lack->err);
		for (; cnt && !opt->quiet; cnt--)
			fprintf(stderr, "simjank: left out: %s: %s: %s\n",
				opt->left_out[opt->left_out_cnt - (size_t)cnt]->name, lack->what,
				strerror(-lack->err));
	}
}

/* All processes are forked before the first thread is created. */
static void program__set_stages(struct program *program)
{
	const char *what = "";
	struct options *opt = &program->opt;
	int err = 0;

	for (unsigned i = 0; i < opt->threads; i++)
		loop__init(&program->loops[i], program, i);
	if (needs__of(opt) & NEEDS_TIDYING) {
		what = "the process `janitor`";
		err = cleanup__start(opt->dir, opt->threads);
	}
	for (unsigned i = 0; !err && i < opt->threads; i++) {
		err = fixture__fork(&program->loops[i].stage, opt->dir, &what);
		program__leave_out(program, &program->loops[i].stage);
	}
	for (unsigned i = 0; !err && i < opt->threads; i++) {
		err = fixture__open(&program->loops[i].stage, &what);
		program__leave_out(program, &program->loops[i].stage);
	}
	if (err)
		fail(what, err);
}

int main(int argc, char **argv)
{
	struct program program = { 0 };

	options__parse(&program.opt, &front_end.words, argc, argv);
	program__open(&program);
	program__set_stages(&program);
	program__start_threads(&program);
	loop__run_front(&program.loops[0], program.ready_fd);
	return 1; /* a loop never ends: the control thread ends the program */
}
