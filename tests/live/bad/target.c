/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs that the tests of hostile conditions trace: with too many threads, mappings, blocks or
 * exits. Each prints "ready" when it is in that state, then goes on until it is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS   1000000ull
#define SMALL_STACK 65536
#define DEEP_STACK  (SMALL_STACK * 2)
#define DEEP_FRAME  256
#define CODE_AT	    4096 /* in the file of `code` */

struct loop_opts {
	bool always_ready;
	int gap_ms;
	uint64_t busy_ns, sleep_ns;
	unsigned rounds; /* 0: for ever */
};

struct hoard_opts {
	uint64_t span_ns;
	unsigned spans, depth;
	int gap_ms;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static __attribute__((noinline)) void handle_busy(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	/* Calls little: a stack inside libc would have no frame of ours. */
	while (now_ns() < end)
		for (volatile int i = 0; i < 5000; i++)
			;
}

static __attribute__((noinline)) void handle_sleep(uint64_t ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static int open_epoll(bool always_ready)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epfd = epoll_create1(EPOLL_CLOEXEC);
	int fd = always_ready ? eventfd(1, EFD_CLOEXEC) : -1;

	if (epfd < 0 || (always_ready && (fd < 0 || epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event))))
		die("epoll");
	return epfd;
}

static void run_loop(const struct loop_opts *opts)
{
	int epfd = open_epoll(opts->always_ready);
	struct epoll_event event;

	for (unsigned i = 0; !opts->rounds || i < opts->rounds; i++) {
		epoll_wait(epfd, &event, 1, opts->gap_ms);
		if (opts->busy_ns)
			handle_busy(opts->busy_ns);
		if (opts->sleep_ns)
			handle_sleep(opts->sleep_ns);
	}
	close(epfd);
}

static void *loop_thread(void *arg)
{
	run_loop(arg);
	return NULL;
}

static void *idle_thread(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static pthread_t start_with_stack(void *(*fn)(void *), void *arg, size_t size)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, size);
	errno = pthread_create(&thread, &attr, fn, arg);
	if (errno)
		die("pthread_create");
	pthread_attr_destroy(&attr);
	return thread;
}

static pthread_t start_thread(void *(*fn)(void *), void *arg)
{
	return start_with_stack(fn, arg, SMALL_STACK);
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static unsigned long number(char **argv, int i, unsigned long def)
{
	return argv[i] ? strtoul(argv[i], NULL, 10) : def;
}

/* loop [SLEEP_MS [GAP_MS]] */
static void run_one(char **argv)
{
	struct loop_opts opts = { .sleep_ns = number(argv, 0, 40) * NS_PER_MS };

	opts.gap_ms = argv[0] ? (int)number(argv, 1, 10) : 10;
	ready();
	run_loop(&opts);
}

/* storm THREADS BUSY_US [GAP_MS]: blocks as fast as possible */
static void run_storm(char **argv)
{
	static struct loop_opts opts;
	unsigned long cnt = number(argv, 0, 1);

	opts.busy_ns = number(argv, 1, 150) * 1000;
	opts.gap_ms = (int)number(argv, 2, 0);
	opts.always_ready = !opts.gap_ms;
	for (unsigned long i = 1; i < cnt; i++)
		start_thread(loop_thread, &opts);
	ready();
	run_loop(&opts);
}

/* crowd IDLE LOOPS [GAP_MS]: threads */
static void run_crowd(char **argv)
{
	static struct loop_opts opts = { .gap_ms = 100, .sleep_ns = 40 * NS_PER_MS };

	if (argv[0] && argv[1])
		opts.gap_ms = (int)number(argv, 2, 100);
	for (unsigned long i = number(argv, 0, 0); i; i--)
		start_thread(idle_thread, NULL);
	for (unsigned long i = number(argv, 1, 0); i; i--)
		start_thread(loop_thread, &opts);
	ready();
	run_loop(&opts);
}

/* Sleeps below so many frames. The frames are so large that few fit into a copy of the stack. */
static __attribute__((noinline)) int sleep_deep(unsigned depth, uint64_t ns)
{
	volatile char frame[DEEP_FRAME];

	frame[0] = 1;
	if (depth)
		return sleep_deep(depth - 1, ns) + frame[0];
	handle_sleep(ns);
	return frame[0];
}

static void *hoard_thread(void *arg)
{
	const struct hoard_opts *opts = arg;
	int epfd = open_epoll(false);
	struct epoll_event event;

	epoll_wait(epfd, &event, 1, opts->gap_ms); /* the tracer attaches meanwhile */
	for (;; epoll_wait(epfd, &event, 1, 10)) {
		for (unsigned i = 0; !opts->spans || i < opts->spans; i++)
			sleep_deep(opts->depth, opts->span_ns);
	}
	return NULL;
}

/*
 * hoard THREADS SPAN_US SPANS DEPTH GAP_MS: after a first wait, dispatches of so many sleeps (0:
 * endless), each below so many frames
 */
static void run_hoard(char **argv)
{
	static struct hoard_opts opts;
	unsigned long cnt = number(argv, 0, 1);

	opts.span_ns = number(argv, 1, 1100) * 1000;
	opts.spans = number(argv, 2, 0);
	opts.depth = number(argv, 3, 150);
	opts.gap_ms = (int)number(argv, 4, 10);
	for (; cnt; cnt--)
		start_with_stack(hoard_thread, &opts, DEEP_STACK);
	ready();
	idle_thread(NULL);
}

/* maps N: every second page executable, so that the kernel cannot join them */
static void run_maps(char **argv)
{
	struct loop_opts opts = { .gap_ms = 10, .busy_ns = 40 * NS_PER_MS };
	unsigned long cnt = number(argv, 0, 100);
	size_t page = sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, cnt * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	for (unsigned long i = 0; i < cnt; i += 2)
		if (mprotect(at + i * page, page, PROT_READ | PROT_EXEC))
			die("mprotect");
	ready();
	run_loop(&opts);
}

#define LONG_NAME  250
#define LONG_DEPTH 15

/* Makes directories below `top` until the path is nearly as long as it may be, and enters them. */
static void enter_long_path(const char *top)
{
	char name[LONG_NAME + 1];

	memset(name, 'x', LONG_NAME);
	name[LONG_NAME] = 0;
	if (chdir(top))
		die(top);
	for (int i = 0; i < LONG_DEPTH; i++)
		if ((mkdir(name, 0755) && errno != EEXIST) || chdir(name))
			die("mkdir");
}

/* longmaps DIR N: the same page of a file with a path of 4 KiB, N times */
static void run_longmaps(char **argv)
{
	struct loop_opts opts = { .gap_ms = 10, .sleep_ns = 40 * NS_PER_MS };
	unsigned long cnt = argv[0] ? number(argv, 1, 100) : 0;
	size_t page = sysconf(_SC_PAGESIZE);
	int fd;

	enter_long_path(argv[0] ? argv[0] : "");
	fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, (off_t)page))
		die("file");
	for (; cnt; cnt--)
		if (mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			die("mmap");
	ready();
	run_loop(&opts);
}

/* churn: threads that live for two dispatches */
static void run_churn(char **argv)
{
	static struct loop_opts opts = { .gap_ms = 1, .sleep_ns = 2 * NS_PER_MS, .rounds = 3 };

	(void)argv;
	ready();
	for (;;) {
		pthread_t threads[8];

		for (int i = 0; i < 8; i++)
			threads[i] = start_thread(loop_thread, &opts);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
	}
}

/* False in a child, and when no process could be started. */
static bool fork_two(void)
{
	bool some = false;

	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (!pid)
			return false;
		some |= pid > 0;
	}
	return some;
}

/*
 * bomb SLEEP_MS: each process makes blocks until it could start another one, then some more, and
 * ends
 */
static void run_bomb(char **argv)
{
	struct loop_opts opts = { .gap_ms = 1, .rounds = 3 };
	pid_t first = getpid();

	opts.sleep_ns = number(argv, 0, 40) * NS_PER_MS;
	signal(SIGCHLD, SIG_IGN);
	ready();
	for (bool started = false; !started || getpid() == first;) {
		started = fork_two();
		run_loop(&opts);
	}
	_exit(0);
}

static void *exec_thread(void *arg)
{
	struct loop_opts opts = { .gap_ms = 10, .sleep_ns = 40 * NS_PER_MS, .rounds = 25 };

	run_loop(&opts);
	execl("/proc/self/exe", "next", "loop", "60", NULL);
	die("execl");
	return arg;
}

/* headless: the main thread has ended, another one goes on */
static void run_headless(char **argv)
{
	static struct loop_opts opts = { .gap_ms = 10, .busy_ns = 40 * NS_PER_MS };

	start_thread(loop_thread, &opts);
	ready();
	handle_sleep(number(argv, 0, 0) * NS_PER_MS);
	pthread_exit(NULL);
}

/*
 * exec [thread]: becomes another program after half a second; the main thread execs, or another one
 */
static void run_exec(char **argv)
{
	ready();
	if (!argv[0])
		exec_thread(NULL);
	start_thread(exec_thread, NULL);
	idle_thread(NULL);
}

/* stuck and spin: one dispatch without an end, from SIGUSR1 on */
static void run_endless(const struct loop_opts *opts)
{
	int epfd = open_epoll(false), fd;
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0 || epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event))
		die("signalfd");
	ready();
	epoll_wait(epfd, &event, 1, -1);
	handle_busy(opts->busy_ns);
	handle_sleep(opts->sleep_ns);
}

static void run_stuck(char **argv)
{
	run_endless(&(struct loop_opts){ .sleep_ns = UINT64_MAX / 4 });
}

static void run_spin(char **argv)
{
	run_endless(&(struct loop_opts){ .busy_ns = UINT64_MAX / 4 });
}

/*
 * The kernel grants a write lease to the file's owner while no other process has it open; mappings
 * do not count. From then on, an open without O_NONBLOCK waits until the lease is given up, or for
 * /proc/sys/fs/lease-break-time.
 */
static void hold_lease(int fd)
{
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_WRLCK))
		die("lease");
}

static void *map_code(const char *path, bool anonymous, bool leased)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int prot = PROT_READ | PROT_EXEC | (anonymous ? PROT_WRITE : 0);
	int flags = MAP_PRIVATE | (anonymous ? MAP_ANONYMOUS : 0);
	void *code = mmap(NULL, 2 * CODE_AT, prot, flags, anonymous ? -1 : fd, 0);

	if (code == MAP_FAILED || (anonymous && read(fd, code, 2 * CODE_AT) != 2 * CODE_AT))
		die("code");
	if (leased)
		hold_lease(fd);
	else
		close(fd);
	return code;
}

static void run_countdown(void *code)
{
	int epfd = open_epoll(false);
	struct epoll_event event;
	void (*count_down)(uint64_t);

	count_down = (void (*)(uint64_t))((char *)code + CODE_AT);
	ready();
	for (;;) {
		epoll_wait(epfd, &event, 1, 10);
		count_down(200 * 1000 * 1000);
	}
}

/*
 * code FILE [anonymous]: the code in the file counts down, mapped or copied; the file may be
 * anything
 */
static void run_code(char **argv)
{
	run_countdown(map_code(argv[0] ? argv[0] : "", argv[0] && argv[1], false));
}

/* leases FILE…: the same, with each file mapped and a lease on it */
static void run_leases(char **argv)
{
	void *code = NULL;

	for (; *argv; argv++)
		code = map_code(*argv, false, true);
	if (!code)
		die("leases");
	run_countdown(code);
}

/* epoll_pwait without a signal mask, its stack pointer at sp; nothing is read or written there. */
static __attribute__((noinline)) long wait_with_stack_at(int epfd, struct epoll_event *event,
							 int ms, char *sp)
{
#ifdef __aarch64__
	register long x0 __asm__("x0") = epfd;
	register void *x1 __asm__("x1") = event;
	register long x2 __asm__("x2") = 1, x3 __asm__("x3") = ms, x4 __asm__("x4") = 0,
			 x5 __asm__("x5") = 8, x8 __asm__("x8") = SYS_epoll_pwait;

	__asm__ volatile("mov x9, sp\n mov sp, %[sp]\n svc 0\n mov sp, x9"
			 : "+r"(x0)
			 : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8), [sp] "r"(sp)
			 : "x9", "memory");
	return x0;
#else
	register long r10 __asm__("r10") = ms, r8 __asm__("r8") = 0, r9 __asm__("r9") = 8;
	long ret;

	__asm__ volatile("mov %%rsp, %%r12\n mov %[sp], %%rsp\n syscall\n mov %%r12, %%rsp"
			 : "=a"(ret)
			 : "a"((long)SYS_epoll_pwait), "D"((long)epfd), "S"(event), "d"(1L),
			   "r"(r10), "r"(r8), "r"(r9), [sp] "b"(sp)
			 : "rcx", "r11", "r12", "memory");
	return ret;
#endif
}

/*
 * farstack FILE [SLEEP_MS]: its stack pointer is in the file while it waits, and while its handler
 * sleeps
 */
static void run_farstack(char **argv)
{
	int fd = open(argv[0] ? argv[0] : "", O_RDONLY | O_CLOEXEC), epfd = open_epoll(false);
	char *file = mmap(NULL, 16 * CODE_AT, PROT_READ, MAP_PRIVATE, fd, 0);
	unsigned long ms = argv[0] ? number(argv, 1, 40) : 0;
	int inner = open_epoll(false);
	struct epoll_event event;

	if (fd < 0 || file == MAP_FAILED)
		die("farstack");
	ready();
	for (;;) {
		wait_with_stack_at(epfd, &event, 10, file + 2 * CODE_AT);
		wait_with_stack_at(inner, &event, (int)ms, file + CODE_AT);
	}
}

static const struct mode {
	const char *name;
	void (*run)(char **argv);
} modes[] = {
	{ "loop", run_one },	      { "storm", run_storm },	    { "crowd", run_crowd },
	{ "maps", run_maps },	      { "churn", run_churn },	    { "exec", run_exec },
	{ "headless", run_headless }, { "stuck", run_stuck },	    { "spin", run_spin },
	{ "code", run_code },	      { "hoard", run_hoard },	    { "leases", run_leases },
	{ "farstack", run_farstack }, { "longmaps", run_longmaps }, { "bomb", run_bomb },
};

int main(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getenv("TARGET_COMM"))
		prctl(PR_SET_NAME, getenv("TARGET_COMM"));
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(argv[1], modes[i].name))
			modes[i].run(argv + 2);
	fprintf(stderr, "usage: target MODE [NUMBER…]\n");
	return 2;
}
