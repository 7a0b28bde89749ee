/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a thread that leaves the CPU waits for: by its system call, the file of the descriptor, and
 * its task state.
 */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "tests/bpf/logic_run.h"

/* The first argument of the system call that runs a program: here a descriptor. */
#define ARG0 BPF_PROG_TEST_RUN

/* Opens a file of a kind at the descriptor that is the system call's first argument. */
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

/* Runs a program with a second argument that is a binder command. False if it does not run. */
static bool run_in_ioctl(const struct bpf_program *prog, struct logic_step *ctx, uint64_t command)
{
	char *page = mmap((void *)(command & ~4095ull), 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	union bpf_attr attr = {
		.test = { .prog_fd = bpf_program__fd(prog),
			  .ctx_in = (uint64_t)(uintptr_t)ctx,
			  .ctx_size_in = sizeof(*ctx) },
	};
	int res;

	if (page == MAP_FAILED)
		return false;
	memcpy((void *)command, &attr, sizeof(attr));
	res = syscall(__NR_bpf, ARG0, command, sizeof(attr));
	munmap(page, 8192);
	return !res;
}

static uint32_t kind_in_ioctl(struct logic_step *ctx, uint64_t command)
{
	return run_in_ioctl(logic.skel->progs.logic_kind, ctx, command) ? ctx->state : UINT32_MAX;
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
		{ JANK_CLASS_FILE_FD, 0, TASK_INTERRUPTIBLE, JANK_STATE_OTHER },
		{ JANK_CLASS_FILE_FD, 0, TASK_UNINTERRUPTIBLE, JANK_STATE_DISK },
		{ JANK_CLASS_IOCTL, 0, TASK_INTERRUPTIBLE, JANK_STATE_OTHER },
	};
	uint8_t loaded = UINT8_MAX;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct logic_step ctx = { .task_state = rows[i].task_state };
		struct jank_conf conf = logic__conf();

		conf.syscall_class[__NR_bpf] = rows[i].class;
		if (loaded != rows[i].class)
			logic__load(&conf);
		loaded = rows[i].class;
		place(rows[i].file);
		logic__call(logic.skel->progs.logic_kind, &ctx, sizeof(ctx));
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
	struct jank_conf conf = logic__conf();

	conf.syscall_class[__NR_bpf] = JANK_CLASS_IOCTL;
	logic__load(&conf);
	is_uint(kind_in_ioctl(&ctx, 0xc0306201), JANK_STATE_BINDER, "an ioctl of binder's");
	is_uint(kind_in_ioctl(&ctx, 0xc0186201), JANK_STATE_BINDER, "its 32-bit layout");
	is_uint(kind_in_ioctl(&ctx, 0xc0306209), JANK_STATE_OTHER, "another ioctl");
	is_uint(kind_in_ioctl(&ctx, 0x7ac0306201), JANK_STATE_BINDER, "a command has 32 bits");
}

/* --- the call that a wait in binder is for */

#define MS	    1000000ull
#define WRITE_READ  0xc0306201
#define ONE_WAY	    1
#define BINDER(...) binder((struct logic_step){ __VA_ARGS__ })

static void binder(struct logic_step what)
{
	logic__call(logic.skel->progs.logic_binder, &what, sizeof(what));
}

/* In a dispatch at this made-up time, the thread waits in an ioctl of binder, or elsewhere. */
static uint64_t now = HOUR;

static struct jank_rec_waited waits(uint64_t command)
{
	struct logic_step leave = { .step = LOGIC_LEAVE,
				    .now_ns = now += MS,
				    .task_state = TASK_INTERRUPTIBLE };
	struct event event;

	if (!run_in_ioctl(logic.skel->progs.logic_sched, &leave, command))
		ok(false, "it leaves the CPU");
	STEP(WAKE, .now_ns = now += 5 * MS);
	STEP(ARRIVE, .now_ns = now);
	is_uint(logic__received(JANK_REC_WAITED, &event), 1, "a record of its wait");
	return event.waited;
}

static bool is_for(const struct jank_rec_waited *rec, uint32_t server, uint32_t code)
{
	return rec->hdr.flags & JANK_WAITED_BINDER && rec->peer_pid == server &&
	       rec->binder_code == code && rec->timeout_ns == ~0ull;
}

static bool is_for_none(const struct jank_rec_waited *rec)
{
	return !(rec->hdr.flags & JANK_WAITED_BINDER) && !rec->peer_pid && !rec->binder_code;
}

static void test_call(void)
{
	struct jank_conf conf = logic__conf();
	struct jank_rec_waited rec;
	struct event event;

	conf.span_min_ns = MS;
	conf.syscall_class[__NR_bpf] = JANK_CLASS_IOCTL;
	logic__begin_with(&conf);
	BINDER(.fd = 41, .arg = 3);
	BEGIN(one, 1000);
	END(1);
	STEP(OPEN, .now_ns = now += MS);
	logic__received(0, &event);

	rec = waits(WRITE_READ);
	ok(is_for_none(&rec), "a call before the dispatch is not kept");
	BINDER(.fd = 42, .arg = 7);
	rec = waits(WRITE_READ);
	ok(is_for(&rec, 42, 7), "a call: its server and code");
	rec = waits(WRITE_READ);
	ok(is_for(&rec, 42, 7), "so if it sleeps once more before the reply");
	BINDER(.fd = 0);
	rec = waits(WRITE_READ);
	ok(is_for_none(&rec), "not after the reply");
	BINDER(.fd = 43, .arg = 8);
	BINDER(.fd = 44, .arg = 9, .looper = ONE_WAY);
	rec = waits(WRITE_READ);
	ok(is_for(&rec, 43, 8), "nobody waits for a call without a reply");
	BINDER(.fd = 45, .arg = 10, .ret = 1);
	rec = waits(WRITE_READ);
	ok(is_for_none(&rec),
	   "its own reply to another call: which call it waits for is not known");
	BINDER(.fd = 46, .arg = 11);
	rec = waits(0xc0306209);
	ok(is_for_none(&rec), "another ioctl is no wait for the call");
}

int main(void)
{
	place('f'); /* test_kinds needs this descriptor: no map may get it */
	LOGIC_START("logic_kind", "logic_wait", "logic_sched", "logic_binder");
	test_kinds();
	test_binder();
	test_call();
	return logic__done();
}
