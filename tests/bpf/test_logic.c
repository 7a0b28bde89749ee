/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The probes' decisions, one by one: programs that user space runs call the probes' own functions on this
 * very thread (see logic.bpf.c), and what they leave in its storage, the ring and the counters is known.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/jank_abi.h"
#include "tests/bpf/logic.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "bpftest.skel.h"
#include "intake/decode.h"
#include "tests/tap.h"

#define HOUR	   3600000000000ull
#define RECORD_MAX 64
#define SP_EVERY   64 /* dispatches between two looks at the depth of the loop's wait */
#define ARG0	   BPF_PROG_TEST_RUN /* of the system call that runs a program: a descriptor to some */

#define TASK_INTERRUPTIBLE   1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_STOPPED	     4
#define TASK_TRACED	     8
#define TASK_FROZEN	     0x8000

static struct {
	struct bpftest *skel;
	struct ring_buffer *ring;
	union {
		struct jank_rec hdr;
		char bytes[4096];
	} recs[RECORD_MAX];
	unsigned rec_cnt;
} run;

static int on_record(void *ctx, void *data, size_t len)
{
	if (run.rec_cnt < RECORD_MAX && len <= sizeof(run.recs[0]))
		memcpy(&run.recs[run.rec_cnt++], data, len);
	return 0;
}

/* What the session is configured with, unless a test wants another. */
static struct jank_conf conf(void)
{
	return (struct jank_conf){
		.threshold_ns = HOUR,
		.span_min_ns = HOUR,
		.tgid = getpid(),
		.thread_sz = 16384,
		.switch_state = 1,
	};
}

static void unload(void)
{
	ring_buffer__free(run.ring);
	bpftest__destroy(run.skel);
	run.ring = NULL;
	run.skel = NULL;
}

static bool load(const struct jank_conf *config)
{
	unload();
	run.rec_cnt = 0;
	run.skel = bpftest__open();
	if (!run.skel)
		return false;
	*(struct jank_conf *)&run.skel->rodata->jank_conf = *config;
	/* These programs may sleep, and may not name such a map; none gets as far as to use it. */
	bpf_map__set_type(run.skel->maps.jank_cgroups, BPF_MAP_TYPE_ARRAY);
	if (bpftest__load(run.skel))
		return false;
	run.ring = ring_buffer__new(bpf_map__fd(run.skel->maps.jank_ring), on_record, NULL, NULL);
	return run.ring;
}

static void must_load(const struct jank_conf *config)
{
	if (!load(config)) {
		printf("Bail out! the programs cannot be loaded: %s\n", strerror(errno));
		exit(1);
	}
}

static void call(struct bpf_program *prog, void *ctx, size_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = ctx, .ctx_size_in = size);

	if (bpf_prog_test_run_opts(bpf_program__fd(prog), &opts))
		ok(false, "%s runs: %s", bpf_program__name(prog), strerror(errno));
}

/* Takes a step; the state of this thread after it. */
static struct logic_step step(struct logic_step what)
{
	struct bpf_program *prog = run.skel->progs.logic_sched;

	if (what.step <= LOGIC_LOOPER || what.step >= LOGIC_LOOK)
		prog = run.skel->progs.logic_wait;
	else if (what.step == LOGIC_POLL)
		prog = run.skel->progs.logic_poll;
	else if (what.step == LOGIC_HANDLE || what.step == LOGIC_TAKE)
		prog = run.skel->progs.logic_message;
	call(prog, &what, sizeof(what));
	return what;
}

#define STEP(name, ...) step((struct logic_step){ .step = LOGIC_##name, __VA_ARGS__ })
#define BEGIN(f, stack) STEP(BEGIN, .fd = (f), .sp = (stack))
#define END(value)	STEP(END, .ret = (value))

static uint64_t lost(uint32_t reason)
{
	uint64_t values[256] = { 0 }, sum = 0;

	bpf_map_lookup_elem(bpf_map__fd(run.skel->maps.jank_lost), &reason, values);
	for (int i = 0; i < libbpf_num_possible_cpus() && i < 256; i++)
		sum += values[i];
	return sum;
}

/* The records that came since the last look, decoded; the number of one kind. */
static unsigned received(uint16_t kind, struct event *ret)
{
	unsigned cnt = 0;

	run.rec_cnt = 0;
	ring_buffer__consume(run.ring);
	for (unsigned i = 0; i < run.rec_cnt; i++) {
		struct event event;

		if (decode__record(&run.recs[i], run.recs[i].hdr.size, &event)) {
			ok(false, "record %u of kind %u is sound", i, run.recs[i].hdr.kind);
			continue;
		}
		if (event.kind != kind)
			continue;
		cnt++;
		*ret = event;
	}
	return cnt;
}

/* --- histogram and CPU clock */

static void test_bucket(void)
{
	int wrong = 0;

	for (int i = 0; i < 64; i++)
		for (int more = -1; more <= 1; more++) {
			struct logic_bucket b = { .ns = (1ull << i) + more, .bucket = 99 };
			unsigned want = b.ns ? 63 - __builtin_clzll(b.ns) : 0;

			call(run.skel->progs.logic_bucket, &b, sizeof(b));
			wrong += b.bucket !=
				 (want < JANK_HIST_BUCKETS ? want : JANK_HIST_BUCKETS - 1);
		}
	is_int(wrong, 0, "a bucket is floor(log2), the last takes the rest");
}

static void test_trust(void)
{
	static const struct {
		const char *what;
		uint64_t running, runnable, cpu, want_running, want_runnable;
	} rows[] = {
		{ "the clocks agree", 9000000, 1000000, 9000000, 9000000, 1000000 },
		{ "they differ by little", 9000000, 1000000, 8900001, 9000000, 1000000 },
		{ "by little, the other way", 9000000, 1000000, 9099999, 9000000, 1000000 },
		{ "by just enough", 9000000, 1000000, 8900000, 8900000, 1100000 },
		{ "time was stolen", 9000000, 1000000, 4000000, 4000000, 6000000 },
		{ "all of it", 9000000, 0, 0, 0, 9000000 },
		{ "it arrived earlier than seen", 9000000, 3000000, 11000000, 11000000, 1000000 },
		{ "by all that it waited", 9000000, 2000000, 11000000, 11000000, 0 },
		{ "by more, which cannot be", 9000000, 1999999, 11000000, 9000000, 1999999 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct jank_rec_block rec = { .cpu_ns = rows[i].cpu };

		rec.state_ns[JANK_STATE_RUNNING] = rows[i].running;
		rec.state_ns[JANK_STATE_RUNNABLE] = rows[i].runnable;
		rec.state_ns[JANK_STATE_POLL] = 7;
		call(run.skel->progs.logic_trust, &rec, sizeof(rec));
		is_uint(rec.state_ns[JANK_STATE_RUNNING], rows[i].want_running,
			"CPU clock: %s: running", rows[i].what);
		is_uint(rec.state_ns[JANK_STATE_RUNNABLE], rows[i].want_runnable, "  runnable");
		is_uint(rec.state_ns[JANK_STATE_POLL], 7, "  the rest is left alone");
	}
}

/* --- what a sleeping thread waits for */

/* Puts a file of a kind at the descriptor that is the system call's first argument. */
static void place(char kind)
{
	int fds[2] = { -1, -1 };

	close(ARG0);
	switch (kind) {
	case 'p':
		if (pipe(fds))
			return;
		break;
	case 's':
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
			return;
		break;
	case 'e':
		fds[0] = eventfd(0, 0);
		break;
	case 'f':
		fds[0] = open("/proc/self/exe", O_RDONLY);
		break;
	default:
		return;
	}
	dup2(fds[0], ARG0);
	if (fds[0] != ARG0)
		close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
}

/* Runs logic_kind with the second argument of the system call at a place that is a binder command. */
static uint32_t kind_in_ioctl(struct logic_step *ctx, uint64_t command)
{
	char *page = mmap((void *)(command & ~4095ull), 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	union bpf_attr attr = {
		.test = { .prog_fd = bpf_program__fd(run.skel->progs.logic_kind),
			  .ctx_in = (uint64_t)(uintptr_t)ctx,
			  .ctx_size_in = sizeof(*ctx) },
	};

	if (page == MAP_FAILED)
		return UINT32_MAX;
	memcpy((void *)command, &attr, sizeof(attr));
	if (syscall(__NR_bpf, ARG0, command, sizeof(attr)))
		ctx->state = UINT32_MAX;
	munmap(page, 8192);
	return ctx->state;
}

static void test_kinds(void)
{
	static const struct {
		uint8_t class;
		char file;
		uint32_t task_state, want;
	} rows[] = {
		{ JANK_CLASS_PLAIN, 0, TASK_INTERRUPTIBLE, JANK_STATE_OTHER },
		{ JANK_CLASS_PLAIN, 0, TASK_UNINTERRUPTIBLE, JANK_STATE_OTHER },
		{ JANK_CLASS_PLAIN, 0, TASK_STOPPED, JANK_STATE_STOPPED },
		{ JANK_CLASS_FUTEX, 0, TASK_INTERRUPTIBLE, JANK_STATE_FUTEX },
		{ JANK_CLASS_FUTEX, 0, TASK_TRACED, JANK_STATE_STOPPED },
		{ JANK_CLASS_SLEEP, 0, TASK_INTERRUPTIBLE, JANK_STATE_SLEEP },
		{ JANK_CLASS_SLEEP, 0, TASK_FROZEN | TASK_INTERRUPTIBLE, JANK_STATE_STOPPED },
		{ JANK_CLASS_POLL, 0, TASK_INTERRUPTIBLE, JANK_STATE_POLL },
		{ JANK_CLASS_SOCKET, 0, TASK_INTERRUPTIBLE, JANK_STATE_SOCKET },
		{ JANK_CLASS_FD, 'p', TASK_INTERRUPTIBLE, JANK_STATE_PIPE },
		{ JANK_CLASS_FD, 's', TASK_INTERRUPTIBLE, JANK_STATE_SOCKET },
		{ JANK_CLASS_FD, 'e', TASK_INTERRUPTIBLE, JANK_STATE_OTHER },
		{ JANK_CLASS_FD, 'f', TASK_INTERRUPTIBLE, JANK_STATE_OTHER },
		{ JANK_CLASS_FD, 'f', TASK_UNINTERRUPTIBLE, JANK_STATE_DISK },
		{ JANK_CLASS_FD, 0, TASK_INTERRUPTIBLE, JANK_STATE_OTHER },
		{ JANK_CLASS_FD, 0, TASK_UNINTERRUPTIBLE, JANK_STATE_DISK },
		{ JANK_CLASS_FILE, 0, TASK_INTERRUPTIBLE, JANK_STATE_OTHER },
		{ JANK_CLASS_FILE, 0, TASK_UNINTERRUPTIBLE, JANK_STATE_DISK },
		{ JANK_CLASS_IOCTL, 0, TASK_INTERRUPTIBLE, JANK_STATE_OTHER },
	};
	uint8_t loaded = UINT8_MAX;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct logic_step ctx = { .task_state = rows[i].task_state };
		struct jank_conf config = conf();

		config.syscall_class[__NR_bpf] = rows[i].class;
		if (loaded != rows[i].class)
			must_load(&config);
		loaded = rows[i].class;
		place(rows[i].file);
		call(run.skel->progs.logic_kind, &ctx, sizeof(ctx));
		is_uint(ctx.state, rows[i].want, "class %u, file '%c', task state %x: kind %u",
			rows[i].class, rows[i].file ? rows[i].file : '-', rows[i].task_state,
			rows[i].want);
		if (ctx.span_syscall != __NR_bpf)
			is_int(ctx.span_syscall, __NR_bpf, "in this system call");
	}
}

static void test_binder(void)
{
	struct logic_step ctx = { .task_state = TASK_INTERRUPTIBLE };
	struct jank_conf config = conf();

	config.syscall_class[__NR_bpf] = JANK_CLASS_IOCTL;
	must_load(&config);
	is_uint(kind_in_ioctl(&ctx, 0xc0306201), JANK_STATE_BINDER, "an ioctl of binder's");
	is_uint(kind_in_ioctl(&ctx, 0xc0186201), JANK_STATE_BINDER, "its 32-bit layout");
	is_uint(kind_in_ioctl(&ctx, 0xc0306209), JANK_STATE_OTHER, "another ioctl");
	is_uint(kind_in_ioctl(&ctx, 0x7ac0306201), JANK_STATE_BINDER, "a command has 32 bits");
}

/* --- waits make dispatches */

static int one, two; /* epoll descriptors */

static void begin_waits_of(const struct jank_conf *config)
{
	struct event event;

	must_load(config);
	STEP(RESET);
	received(0, &event);
}

static void begin_waits(void)
{
	struct jank_conf config = conf();

	begin_waits_of(&config);
}

static void test_first(void)
{
	struct logic_step s;
	struct event event;

	begin_waits();
	ok(!STEP(LOOK).known, "a thread that never waited has no state");
	s = BEGIN(one, 1000);
	ok(s.known && s.phase == 1 && !s.start_ns, "its first wait: it waits");
	ok(s.loop_fd == one && s.loop_sp == 1000 && s.loop == JANK_LOOP_EPOLL, "in its loop");
	is_uint(received(JANK_REC_LOOP, &event), 1, "which is told");
	ok(event.loop.fd == one && event.loop.loop == JANK_LOOP_EPOLL && !event.loop.key &&
		   event.hdr.tid == (uint32_t)gettid() && event.hdr.tgid == (uint32_t)getpid(),
	   "by descriptor, kind and thread");
	s = END(3);
	ok(s.phase == 2 && s.start_ns && s.ready_cnt == 3 && !s.dispatch_cnt,
	   "the wait's end opens a dispatch");
	ok(END(1).start_ns == s.start_ns, "which a second end does not open anew");
	s = BEGIN(one, 1000);
	ok(s.phase == 1 && !s.start_ns && s.dispatch_cnt == 1 && !s.block_cnt,
	   "the next wait closes it");
	is_uint(received(JANK_REC_LOOP, &event), 0, "a loop is told once");
	is_int(END(-4).ready_cnt, -4, "a wait that failed ends, too");
}

static void test_nested(void)
{
	struct logic_step open, s;

	begin_waits();
	BEGIN(one, 1000);
	open = END(1);
	s = BEGIN(two, 900);
	ok(s.phase == 2 && s.start_ns == open.start_ns && s.nested_cnt == 1,
	   "a handler's wait on another descriptor, deeper in the stack, is in its dispatch");
	ok(END(0).start_ns == open.start_ns, "its end, too");
	s = BEGIN(one, 800);
	ok(s.phase == 1 && s.dispatch_cnt == 1 && !s.nested_cnt && s.loop_sp == 1000,
	   "a wait on the loop's own descriptor ends the dispatch, however deep");
	for (int i = 0; i < SP_EVERY; i++) {
		END(1);
		s = BEGIN(one, 1200);
	}
	ok(s.dispatch_cnt == 1 + SP_EVERY && s.loop_sp == 1200,
	   "waits from above raise the loop's depth before long");
	END(1);
	ok(BEGIN(two, 1100).phase == 2, "below which a wait is nested again");
	is_uint(lost(JANK_LOST_LOOP_CHANGED), 0, "nothing was given up");
}

static void test_other_loop(void)
{
	struct logic_step s;

	begin_waits();
	BEGIN(one, 1000);
	END(1);
	s = BEGIN(two, 1000);
	ok(s.phase == 1 && s.dispatch_cnt == 1 && s.loop_fd == two,
	   "a wait on another descriptor at the same depth: the thread went to another loop");
	END(1);
	s = BEGIN(one, 1400);
	ok(s.dispatch_cnt == 2 && s.loop_fd == one && s.loop_sp == 1400, "or from above");
	is_uint(lost(JANK_LOST_LOOP_CHANGED), 0, "its dispatches are whole");
}

static void test_many_nested(void)
{
	struct logic_step s = { 0 };

	begin_waits();
	BEGIN(one, 1000);
	END(1);
	for (int i = 0; i < 200; i++) {
		BEGIN(two, 900);
		s = END(0);
	}
	s = BEGIN(two, 890);
	is_uint(s.nested_cnt, 1, "waits from another place are counted apart");
	for (int i = 1; i < 255; i++)
		s = BEGIN(two, 890);
	ok(s.phase == 2 && s.start_ns && s.nested_cnt == 255 && s.loop_fd == one,
	   "255 waits in a row are a handler's");
	s = BEGIN(two, 890);
	ok(s.phase == 1 && !s.start_ns && s.loop_fd == two && s.loop_sp == 890,
	   "the 256th makes them a loop");
	ok(!s.dispatch_cnt && lost(JANK_LOST_LOOP_CHANGED) == 1,
	   "the open dispatch is given up, counted");
	END(1);
	s = BEGIN(one, 1000);
	ok(s.dispatch_cnt == 1 && s.loop_fd == one, "and the first loop may come back");
}

static void test_closed_loop(void)
{
	int gone = epoll_create1(EPOLL_CLOEXEC), number = gone;
	struct logic_step s;

	begin_waits();
	BEGIN(gone, 1000);
	END(1);
	close(gone);
	s = BEGIN(two, 900);
	ok(s.phase == 1 && s.loop_fd == two && lost(JANK_LOST_LOOP_CHANGED) == 1,
	   "a loop whose descriptor is closed was left");
	begin_waits();
	gone = epoll_create1(EPOLL_CLOEXEC);
	BEGIN(gone, 1000);
	END(1);
	dup2(two, gone);
	s = BEGIN(two, 900);
	ok(gone == number && s.loop_fd == two && lost(JANK_LOST_LOOP_CHANGED) == 1,
	   "so was one whose number is another file's");
	close(gone);
	begin_waits();
	gone = epoll_create1(EPOLL_CLOEXEC);
	BEGIN(gone, 1000);
	END(1);
	close(gone);
	gone = epoll_create1(EPOLL_CLOEXEC);
	BEGIN(gone, 1000);
	END(1);
	s = BEGIN(two, 900);
	ok(gone == number && s.loop_fd == gone && s.start_ns && !lost(JANK_LOST_LOOP_CHANGED),
	   "one whose number is a new loop's lives");
	close(gone);
}

static void test_late(void)
{
	struct logic_step s;
	struct event event;

	begin_waits();
	s = END(2);
	ok(s.known && s.phase == 2 && s.start_ns && s.loop_fd == -1,
	   "the end of a wait that began before us opens a dispatch");
	s = BEGIN(one, 1000);
	ok(s.phase == 1 && s.dispatch_cnt == 1 && s.loop_fd == one, "which the next wait closes");
	is_uint(received(JANK_REC_LOOP, &event), 1, "and tells its loop");
}

static void test_filter(void)
{
	struct jank_conf config = conf();
	uint32_t tgid = getpid(), yes = 1;

	config.tgid = getpid() + 1;
	must_load(&config);
	ok(!BEGIN(one, 1000).known && !END(1).known && !STEP(LOOPER, .looper = 1).known,
	   "another process is not traced");
	config.tgid = 0;
	must_load(&config);
	ok(!BEGIN(one, 1000).known, "nor is one that is not among those given");
	bpf_map_update_elem(bpf_map__fd(run.skel->maps.jank_tgids), &tgid, &yes, BPF_ANY);
	ok(BEGIN(one, 1000).known, "one that is, is");
}

/* --- loops that poll: by evidence */

#define POLL(stack)	    STEP(POLL, .sp = (stack), .arg = (stack), .ret = 1)
#define POLL_ON(fds, stack) STEP(POLL, .sp = (stack), .arg = (fds), .ret = 1)

static struct logic_step poll_turns(unsigned cnt, uint64_t stack)
{
	struct logic_step s = { 0 };

	while (cnt--)
		s = POLL(stack);
	return s;
}

static struct jank_conf poll_conf(uint8_t class)
{
	struct jank_conf config = conf();

	config.infer_begin = 1;
	config.syscall_class[__NR_bpf] = class;
	return config;
}

static void test_poll(void)
{
	struct jank_conf config = poll_conf(JANK_CLASS_POLL_FDS);
	struct logic_step s;
	struct event event;

	begin_waits_of(&config);
	s = poll_turns(7, 1000);
	ok(s.known && s.phase == 3 && !s.start_ns && !received(JANK_REC_LOOP, &event),
	   "seven waits from one place: a candidate");
	s = POLL(1000);
	ok(s.phase == 2 && s.start_ns && s.loop == JANK_LOOP_POLL && s.loop_sp == 1000,
	   "the eighth makes a loop, and opens a dispatch");
	ok(received(JANK_REC_WAIT, &event) == 1 && event.wait.turn_cnt == 8 &&
		   event.wait.loop == JANK_LOOP_POLL,
	   "which is told, with its turns");
	s = POLL(1000);
	ok(s.dispatch_cnt == 1 && s.phase == 2, "the next one ends it and opens another");
	s = POLL(900);
	ok(s.dispatch_cnt == 1 && s.loop_sp == 1000, "one from deeper is the handler's");
	s = POLL(1000);
	ok(s.dispatch_cnt == 2, "after which the dispatch goes on to the loop's next");
	s = poll_turns(32, 900);
	ok(s.loop_sp == 900 && s.dispatch_cnt == 2 && lost(JANK_LOST_LOOP_CHANGED) == 1,
	   "32 in a row from deeper are a loop of their own");
	s = POLL(1000);
	ok(s.dispatch_cnt == 3 && s.loop_sp == 1000, "the outer loop goes on when that is left");
}

static void test_poll_places(void)
{
	struct jank_conf config = poll_conf(JANK_CLASS_POLL_FDS);
	struct logic_step s;

	begin_waits_of(&config);
	for (int i = 0; i < 8; i++) {
		POLL(900);
		s = POLL(1000);
	}
	ok(s.phase == 2 && s.loop_sp == 1000, "of two places by turns the outer one is the loop");
	begin_waits_of(&config);
	for (int i = 0; i < 40; i++)
		s = POLL(1000 + 8 * i);
	ok(s.phase == 3, "forty waits from forty places are no loop");
	begin_waits_of(&config);
	poll_turns(3, 1000);
	s = BEGIN(one, 1100);
	ok(s.loop == JANK_LOOP_EPOLL && s.loop_fd == one && s.phase == 1,
	   "a candidate that waits in epoll is epoll's loop");
	begin_waits_of(&config);
	poll_turns(8, 1000);
	s = BEGIN(one, 900);
	ok(s.loop == JANK_LOOP_POLL && s.start_ns,
	   "epoll from within a polling loop is its handler's");
	s = BEGIN(one, 1100);
	ok(s.loop == JANK_LOOP_EPOLL && s.loop_fd == one, "from outside of it, it is the loop");
}

/* As CPython waits: from the same array, at a depth that varies. */
static void test_poll_slop(void)
{
	struct jank_conf config = poll_conf(JANK_CLASS_POLL_FDS);
	struct logic_step s;

	begin_waits_of(&config);
	for (int i = 0; i < 8; i++)
		s = POLL_ON(5, 1000 - i % 3 * 40);
	ok(s.phase == 2 && s.dispatch_cnt == 0,
	   "one array at depths that vary by some bytes: one place");
	s = POLL_ON(5, 904);
	ok(s.dispatch_cnt == 1, "which is the loop's");
	s = POLL_ON(6, 800);
	ok(s.dispatch_cnt == 1, "another array from deeper is the handler's");
	s = POLL_ON(5, 500);
	ok(s.dispatch_cnt == 1, "so is the same one from far deeper");
}

static void test_poll_evidence(void)
{
	struct jank_conf config = poll_conf(JANK_CLASS_SELECT);
	__u32 tgid = getpid(), yes = 1;
	struct logic_step s;

	begin_waits_of(&config);
	s = poll_turns(31, 1000);
	ok(s.phase == 3, "select: 31 turns are none, for the descriptors are not seen");
	s = POLL(1000);
	ok(s.phase == 2, "32 are");
	config = poll_conf(JANK_CLASS_IO_URING);
	begin_waits_of(&config);
	ok(poll_turns(31, 1000).phase == 3 && POLL(1000).phase == 2, "io_uring: likewise");
	begin_waits_of(&config);
	bpf_map_update_elem(bpf_map__fd(run.skel->maps.jank_pollers), &tgid, &yes, BPF_ANY);
	ok(poll_turns(3, 1000).phase == 2, "three where a library is known to wait so");
	config = poll_conf(JANK_CLASS_POLL_FDS);
	config.loop_mask = 1 << JANK_LOOP_EPOLL;
	begin_waits_of(&config);
	ok(!poll_turns(8, 1000).known, "-l epoll: none is looked at");
}

/* --- messages */

static void test_take(void)
{
	static const struct inner {
		char pad[8];
		const char *name;
		int16_t small;
	} inner = { .name = "a name that is rather long, for all the room that there is here",
		    .small = -2 };
	static const struct outer {
		const struct inner *inner;
		uint32_t number;
	} outer = { &inner, 4711 };
	const struct jank_mark mark = {
		.field_cnt = 4,
		.fields = { { .reg = 1, .size = 4, .offset = { offsetof(struct outer, number) } },
			    { .reg = 1,
			      .size = 2,
			      .deref_cnt = 1,
			      .offset = { 0, offsetof(struct inner, small) } },
			    { .reg = 1,
			      .size = JANK_MARK_TEXT,
			      .deref_cnt = 2,
			      .offset = { 0, offsetof(struct inner, name) } },
			    { .reg = 0, .size = 8, .deref_cnt = 1 } },
	};
	struct epoll_event events[6] = { { .events = EPOLLIN, .data.u64 = 0x123456789abcdef },
					 { .events = EPOLLOUT, .data.fd = 7 } };
	__u32 index = 5;
	struct logic_step s;

	begin_waits_of(
		&(struct jank_conf){ .threshold_ns = HOUR, .tgid = getpid(), .thread_sz = 16384 });
	bpf_map_update_elem(bpf_map__fd(run.skel->maps.jank_marks), &index, &mark, BPF_ANY);
	BEGIN(one, 1000);
	END(2);
	STEP(HANDLE, .fd = index, .arg = (uintptr_t)&outer, .looper = (uintptr_t)events, .ret = 6);
	s = STEP(TAKE);
	is_uint(s.got, 7, "three of four fields were read; the fourth leads nowhere");
	is_uint(s.value[0], 4711, "a number");
	is_uint(s.value[1], 0xfffe, "a small one behind a pointer, as wide as it is");
	ok(!strncmp(s.text, inner.name, JANK_MESSAGE_TEXT_SZ - 1) &&
		   !s.text[JANK_MESSAGE_TEXT_SZ - 1],
	   "a text behind two, cut to the room");
	is_uint(s.ready_got, JANK_READY_MAX, "of six ready events the first four");
	STEP(HANDLE, .fd = index, .arg = 8, .looper = 8, .ret = 1);
	s = STEP(TAKE);
	ok(!s.got && !s.ready_got, "addresses that lead nowhere: nothing is read");
}

/* Descriptors among what is read are known by their files' numbers: user space looks later. */
static void test_inode(void)
{
	uint64_t fd = open("/dev/null", O_RDONLY), closed = dup(fd);
	const struct jank_mark mark = {
		.field_cnt = 1,
		.fields = { { .reg = 1, .size = 4, .is_fd = 1 } },
	};
	struct epoll_event events[4] = { { .data.u64 = fd },
					 { .data.u64 = 0xabcdef00000000 | fd },
					 { .data.u64 = closed },
					 { .data.u64 = 0x7fffffff } };
	__u32 index = 6;
	struct logic_step s;
	struct stat st;

	close(closed);
	fstat(fd, &st);
	begin_waits_of(
		&(struct jank_conf){ .threshold_ns = HOUR, .tgid = getpid(), .thread_sz = 16384 });
	bpf_map_update_elem(bpf_map__fd(run.skel->maps.jank_marks), &index, &mark, BPF_ANY);
	BEGIN(one, 1000);
	END(4);
	STEP(HANDLE, .fd = index, .arg = (uintptr_t)&fd, .looper = (uintptr_t)events, .ret = 4);
	s = STEP(TAKE);
	is_uint(s.ready_inode[0], st.st_ino, "a ready descriptor's file");
	is_uint(s.ready_inode[1], st.st_ino, "whatever is in the upper half");
	is_uint(s.ready_inode[2], JANK_INODE_NONE, "one that is closed by then");
	is_uint(s.ready_inode[3], 0, "what can be no descriptor");
	is_uint(s.value_inode, st.st_ino, "the file of a mark's descriptor");
	close(fd);
}

/* --- android::Looper */

#define LOOPER(address, stack) STEP(LOOPER, .looper = (address), .sp = (stack))

static void test_looper(void)
{
	struct logic_step s;
	struct event event;

	begin_waits();
	s = LOOPER(0xa0, 2000);
	ok(s.known && s.looper_entry && s.start_ns && s.key == 0xa0 &&
		   s.loop == JANK_LOOP_ANDROID_LOOPER,
	   "pollOnce may return without a wait: a dispatch opens");
	s = BEGIN(one, 1900);
	ok(!s.looper_entry && !s.start_ns && s.phase == 1 && !s.dispatch_cnt,
	   "its wait, when it comes, takes that back");
	is_uint(received(JANK_REC_LOOP, &event), 1, "and tells the loop");
	ok(event.loop.loop == JANK_LOOP_ANDROID_LOOPER && event.loop.key == 0xa0 &&
		   event.loop.fd == one,
	   "by kind, address and descriptor");
	ok(END(1).start_ns, "the wait's end opens the dispatch");
	s = LOOPER(0xa0, 2000);
	ok(s.dispatch_cnt == 1 && s.start_ns && s.looper_entry && !s.ready_cnt,
	   "the next pollOnce closes it");
	s = LOOPER(0xa0, 2000);
	is_uint(s.dispatch_cnt, 2, "with a backlog it comes without a wait between");
	s = BEGIN(one, 1900);
	ok(s.dispatch_cnt == 2 && s.phase == 1, "its wait is no dispatch of its own");
	is_uint(lost(JANK_LOST_LOOP_CHANGED), 0, "nothing was given up");
}

static void test_looper_nested(void)
{
	struct logic_step open, s;

	begin_waits();
	LOOPER(0xa0, 2000);
	BEGIN(one, 1900);
	open = END(1);
	s = LOOPER(0xb0, 1500);
	ok(s.key == 0xa0 && s.start_ns == open.start_ns,
	   "a handler's own Looper is in its dispatch");
	s = BEGIN(two, 1400);
	ok(s.phase == 2 && s.start_ns == open.start_ns, "and so is its wait");
	ok(END(1).start_ns == open.start_ns, "and its end");
	s = LOOPER(0xb0, 2000);
	ok(s.key == 0xb0 && s.dispatch_cnt == 1 && s.loop_fd == -1,
	   "at the same depth it is another loop");
	s = BEGIN(two, 1900);
	ok(s.loop_fd == two && s.phase == 1 && s.dispatch_cnt == 1, "with its own descriptor");
}

/* --- blocks */

static void test_block(void)
{
	struct jank_conf config = conf();
	struct logic_step open, s;
	struct event event;

	config.threshold_ns = 2000000;
	config.span_min_ns = 1000000;
	must_load(&config);
	STEP(RESET);
	BEGIN(one, 1000);
	END(1);
	s = BEGIN(one, 1000);
	if (s.block_cnt)
		skip(1, "another program took the CPU");
	else
		is_uint(received(JANK_REC_BLOCK, &event), 0, "a short dispatch is not sent");
	open = END(7);
	usleep(3000);
	s = BEGIN(one, 1000);
	is_uint(s.block_cnt, open.block_cnt + 1, "one over the threshold is a block");
	is_uint(received(JANK_REC_BLOCK, &event), 1, "and sent");
	ok(event.block.start_ns == open.start_ns && event.block.duration_ns >= 3000000,
	   "with its times");
	ok(event.block.ready_cnt == 7 && event.block.fd == one &&
		   event.block.end == JANK_END_WAIT && event.block.loop == JANK_LOOP_EPOLL &&
		   event.hdr.tid == (uint32_t)gettid(),
	   "and its loop");
	ok(event.block.cpu_ns < event.block.duration_ns && !event.block.stack_cnt,
	   "and its CPU time");
	is_str(event.block.comm, "test_logic", "and name");
}

/* The kernel may leave out the program at a switch: a departure without an arrival. */
static void test_late_arrival(void)
{
	struct jank_conf config = conf();
	struct logic_step open, s;
	struct event event;
	uint64_t runnable;

	config.threshold_ns = 2000000;
	config.span_min_ns = 1000000;
	config.syscall_class[__NR_bpf] = JANK_CLASS_SOCKET;
	must_load(&config);
	STEP(RESET);
	BEGIN(one, 1000);
	open = END(1);
	STEP(LEAVE, .now_ns = open.start_ns + 10, .task_state = TASK_INTERRUPTIBLE);
	usleep(5000);
	s = BEGIN(one, 1000);
	received(JANK_REC_BLOCK, &event);
	runnable = event.block.state_ns[JANK_STATE_RUNNABLE];
	ok(s.block_cnt == 1 && event.block.wakeup_missed_cnt == 1 && lost(JANK_LOST_WAKEUP) == 1,
	   "an arrival that nobody saw is counted");
	ok(event.block.state_ns[JANK_STATE_SOCKET] + runnable >= 4500000 &&
		   runnable < event.block.state_ns[JANK_STATE_SOCKET],
	   "the time before it stays the sleep's");
	END(1);
	open = STEP(LOOK);
	STEP(LEAVE, .now_ns = open.start_ns + 10, .task_state = TASK_INTERRUPTIBLE, .preempted = 1);
	usleep(5000);
	s = BEGIN(one, 1000);
	received(JANK_REC_BLOCK, &event);
	ok(s.block_cnt == 2 && !s.runnable_cnt && !event.block.wakeup_missed_cnt,
	   "and the thread waits for no CPU any more");
}

/* --- the account: times that this test makes up, so that each is known */

#define T		  1000000000000000ull
#define AT(name, ns, ...) STEP(name, .now_ns = T + (ns), __VA_ARGS__)

static void begin_account(uint64_t span_min_ns)
{
	struct jank_conf config = conf();
	struct event event;

	config.span_min_ns = span_min_ns;
	config.syscall_class[__NR_bpf] = JANK_CLASS_SOCKET;
	must_load(&config);
	STEP(RESET);
	BEGIN(one, 1000);
	END(1);
	AT(OPEN, 0);
	received(0, &event);
}

static uint64_t sum_of(const struct logic_step *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < JANK_STATE_CNT; i++)
		sum += s->state_ns[i];
	return sum;
}

static void test_account(void)
{
	struct logic_step s;

	begin_account(HOUR);
	s = AT(LEAVE, 10, .task_state = TASK_INTERRUPTIBLE);
	ok(s.state == JANK_STATE_SOCKET && s.span_syscall == __NR_bpf && !s.runnable_cnt,
	   "it leaves the CPU to sleep");
	is_uint(s.state_ns[JANK_STATE_RUNNING], 10, "and has run till then");
	s = AT(WAKE, 30);
	ok(s.state == JANK_STATE_RUNNABLE && s.runnable_cnt == 1, "it is woken");
	is_uint(s.state_ns[JANK_STATE_SOCKET], 20, "and has slept till then");
	s = AT(WAKE, 33);
	ok(s.runnable_cnt == 1 && sum_of(&s) == 30, "a second wake-up is none");
	s = AT(ARRIVE, 35);
	ok(s.state == JANK_STATE_RUNNING && !s.runnable_cnt, "it gets the CPU");
	is_uint(s.state_ns[JANK_STATE_RUNNABLE], 5, "and has waited for it");
	s = AT(ARRIVE, 39);
	is_uint(sum_of(&s), 35, "an arrival without a departure is none");
	s = AT(LEAVE, 40, .task_state = TASK_INTERRUPTIBLE, .preempted = 1);
	ok(s.state == JANK_STATE_RUNNABLE && s.runnable_cnt == 1, "preempted, it is runnable");
	s = AT(ARRIVE, 50);
	is_uint(s.state_ns[JANK_STATE_RUNNABLE], 15, "all the while");
	s = AT(LEAVE, 51, .task_state = 0);
	is_uint(s.state, JANK_STATE_RUNNABLE, "so is one that yields");
	s = AT(ARRIVE, 61);
	ok(!s.wakeup_missed_cnt && sum_of(&s) == 61, "the sum is the time");
	is_uint(s.state_ns[JANK_STATE_RUNNING], 16, "of which it ran this much");
}

static void test_wakeups(void)
{
	struct logic_step s;

	begin_account(HOUR);
	AT(LEAVE, 2000000, .task_state = TASK_INTERRUPTIBLE);
	s = AT(ARRIVE, 2000030);
	ok(s.wakeup_missed_cnt == 1 && lost(JANK_LOST_WAKEUP) == 1,
	   "a wake-up that nobody saw is counted");
	is_uint(s.state_ns[JANK_STATE_SOCKET], 30, "its time stays the sleep's");
	AT(WAKE, 4000000);
	s = AT(LEAVE, 4000010, .task_state = TASK_INTERRUPTIBLE);
	s = AT(ARRIVE, 4000050);
	ok(s.wakeup_missed_cnt == 1 && s.state_ns[JANK_STATE_RUNNABLE] == 40,
	   "one that came while it was on its way is not");
	AT(WAKE, 5000000);
	AT(LEAVE, 7000000, .task_state = TASK_INTERRUPTIBLE);
	s = AT(ARRIVE, 7000001);
	is_uint(s.wakeup_missed_cnt, 2, "one long before it left is another's");
	s = STEP(FORGET);
	ok(!sum_of(&s) && !s.wakeup_missed_cnt && !s.start_ns,
	   "the next dispatch begins with nothing");
}

static void test_span(void)
{
	struct logic_step s;
	struct event event;

	begin_account(1000);
	AT(LEAVE, 0, .task_state = TASK_INTERRUPTIBLE);
	AT(WAKE, 998);
	AT(ARRIVE, 999);
	is_uint(received(JANK_REC_STACK, &event), 0, "a short time off the CPU is not sent");
	AT(LEAVE, 2000, .task_state = TASK_INTERRUPTIBLE);
	AT(WAKE, 2900);
	s = AT(ARRIVE, 3000);
	is_uint(received(JANK_REC_STACK, &event), 1, "a long one is");
	is_uint(s.stack_cnt, 1, "and counted");
	ok(event.stack.rec.dispatch_ns == T && event.stack.rec.t_ns == T + 2000 &&
		   event.stack.rec.ns == 1000 && event.stack.rec.runnable_ns == 100,
	   "with its times");
	ok(event.stack.rec.state == JANK_STATE_SOCKET && event.stack.rec.syscall == __NR_bpf,
	   "and what it waited for");
	ok(event.stack.rec.user_cnt > 0, "and a user stack (%u kernel, %u user)",
	   event.stack.rec.kernel_cnt, event.stack.rec.user_cnt);
	ok(event.hdr.flags & JANK_STACK_WAKER && event.stack.rec.waker.tid == (uint32_t)gettid(),
	   "and its waker");
	is_str(event.stack.rec.waker.comm, "test_logic", "by name");
}

/* On another thread than the main one, whose slices are those of somebody else. */
static void *test_slices(void *arg)
{
	struct event event;
	uint32_t cnt;

	begin_account(1000);
	AT(LEAVE, 0, .preempted = 1);
	for (int i = 1; i <= 5; i++)
		AT(SLICE, i * 1000);
	AT(ARRIVE, 5000);
	is_uint(received(JANK_REC_STACK, &event), 1, "a time runnable is sent");
	is_uint(event.stack.rec.state, JANK_STATE_RUNNABLE, "as such");
	is_uint(event.stack.rec.runnable_ns, 5000, "all of it");
	cnt = event.stack.rec.slice_cnt;
	if (cnt != 5) {
		skip(2, "the test moved to another CPU (%u slices)", cnt);
		return NULL;
	}
	ok(event.stack.slices[0].tid == (uint32_t)getpid() && event.stack.slices[0].ns == 1000,
	   "with who ran instead, and for how long");
	AT(LEAVE, 10000, .preempted = 1);
	for (int i = 1; i <= 40; i++)
		AT(SLICE, 10000 + i * 100);
	AT(ARRIVE, 14000);
	received(JANK_REC_STACK, &event);
	is_uint(event.stack.rec.slice_cnt, JANK_SLICE_MAX, "at most %d slices", JANK_SLICE_MAX);
	return NULL;
}

static void run_slices(void)
{
	cpu_set_t set;
	pthread_t thread;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (pthread_create(&thread, NULL, test_slices, NULL))
		abort();
	pthread_join(thread, NULL);
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

int main(void)
{
	struct jank_conf config = conf();

	place('f'); /* the descriptor that test_kinds needs is not to be a map's */
	one = epoll_create1(EPOLL_CLOEXEC);
	two = epoll_create1(EPOLL_CLOEXEC);
	if (geteuid())
		skip_all("needs root: BPF");
	libbpf_set_print(quiet);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) != 1)
		skip_all("this kernel has no programs that user space runs (5.14)");
	must_load(&config);
	test_bucket();
	test_trust();
	test_kinds();
	test_binder();
	test_first();
	test_nested();
	test_other_loop();
	test_many_nested();
	test_closed_loop();
	test_late();
	test_filter();
	test_poll();
	test_poll_places();
	test_poll_slop();
	test_poll_evidence();
	test_take();
	test_inode();
	test_looper();
	test_looper_nested();
	test_block();
	test_late_arrival();
	test_account();
	test_wakeups();
	test_span();
	run_slices();
	unload();
	return tap__done();
}
