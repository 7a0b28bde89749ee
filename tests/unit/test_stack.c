/* SPDX-License-Identifier: GPL-2.0 */
/* Facts of a stack whose frames have names. */
#include "model/stack.h"

#include "tests/tap.h"

/* clang-format off */
#define KERNEL(name) { .function = name, .module = "vmlinux", .kernel = true }
#define APP(name)    { .function = name, .module = "/usr/bin/program", .app = true }
#define LIB(name)    { .function = name, .module = "/lib/libc.so.6" }
#define STRAY	     { .address = 0x1234 }
/* clang-format on */
#define FRAME_MAX 24

static struct stack stack_of(struct frame *frames, size_t cnt)
{
	return (struct stack){ .frames = frames, .frame_cnt = cnt };
}

#define STACK(frames) stack_of(frames, sizeof(frames) / sizeof(frames[0]))

static void test_trim_probe(void)
{
	struct frame frames[] = { KERNEL("bpf_get_stackid"),
				  KERNEL("bpf_prog_0123_jank_on_sample"),
				  KERNEL("__traceiter_sched_switch"),
				  KERNEL("__schedule"),
				  KERNEL("schedule"),
				  APP("bpf_of_its_own"),
				  LIB("_start") };
	struct stack stack = STACK(frames);

	stack__trim_probe(&stack);
	is_uint(stack.frame_cnt, 4, "the probe's own frames are removed");
	is_str(stack.frames[0].function, "__schedule", "the interrupted function is the leaf");
	stack__trim_probe(&stack);
	is_uint(stack.frame_cnt, 4, "nothing else is removed");
}

static void test_trim_gap(void)
{
	struct frame frames[] = { KERNEL(NULL), KERNEL("bpf_overflow_handler"), KERNEL("do_idle") };
	struct stack stack = STACK(frames);

	stack__trim_probe(&stack);
	is_str(stack.frames[0].function, "do_idle",
	       "a nameless frame above the probe goes with it");
}

static void test_trim_user(void)
{
	struct frame frames[] = { APP("bpf_load"), LIB("_start") };
	struct stack stack = STACK(frames), empty = { 0 };

	stack__trim_probe(&stack);
	is_uint(stack.frame_cnt, 2, "a program's own bpf_ function stays");
	stack__trim_probe(&empty);
	stack__trim_stray(&empty);
	is_uint(empty.frame_cnt, 0, "an empty stack stays empty");
}

/* Deep below the leaf such a name is the kernel's own work. */
static void test_trim_deep(void)
{
	struct frame frames[FRAME_MAX];
	struct stack stack = STACK(frames);

	for (size_t i = 0; i < FRAME_MAX; i++)
		frames[i] = (struct frame)KERNEL("work");
	frames[FRAME_MAX - 1] = (struct frame)KERNEL("bpf_prog_run");
	stack__trim_probe(&stack);
	is_uint(stack.frame_cnt, FRAME_MAX, "a deep frame is not the probe's");
}

static void test_trim_stray(void)
{
	struct frame frames[] = {
		KERNEL("schedule"), { .kernel = true }, APP("work"), LIB(NULL), STRAY, APP("chance")
	};
	struct frame leaf[] = { STRAY, APP("work"), STRAY };
	struct stack stack = STACK(frames);

	stack__trim_stray(&stack);
	is_uint(stack.frame_cnt, 4, "a walk ends where it leaves all code");
	stack = STACK(leaf);
	stack__trim_stray(&stack);
	is_uint(stack.frame_cnt, 2, "except for the leaf, which the walk did not guess");
}

static void test_app_frame(void)
{
	struct frame named[] = { KERNEL("schedule"), LIB("read"), APP(NULL), APP("inner"),
				 APP("outer") };
	struct frame nameless[] = { LIB("read"), APP(NULL), LIB("_start") };
	struct frame foreign[] = { KERNEL("schedule"), LIB("read"), LIB("_start") };
	struct frame nowhere[] = { { .function = "x", .app = true } };
	struct stack stack = STACK(named), empty = { 0 };

	is_str(stack__app_frame(&stack)->function, "inner",
	       "the innermost named frame of the program");
	stack = STACK(nameless);
	ok(stack__app_frame(&stack) == &nameless[1],
	   "without one, an unnamed frame of the program");
	stack = STACK(foreign);
	ok(!stack__app_frame(&stack), "libraries and kernel are not the program's own");
	stack = STACK(nowhere);
	ok(!stack__app_frame(&stack), "an address in no module isn't, either");
	ok(!stack__app_frame(&empty), "an empty stack has none");
}

static void test_reaches_start(void)
{
	static const struct {
		const char *last;
		bool want;
	} rows[] = {
		{ "_start", true },	    { "__libc_start_main_impl", true },
		{ "start_thread", true },   { "clone3", true },
		{ "runtime.goexit", true }, { "main", false },
		{ "restart", false },	    { NULL, false },
	};
	struct frame kernel[] = { KERNEL("_start_in_kernel") };
	struct stack stack = STACK(kernel), empty = { 0 };

	ok(!stack__reaches_start(&stack), "a kernel frame is no thread's start");
	ok(!stack__reaches_start(&empty), "an empty stack reaches nothing");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame frames[] = { APP("work"), LIB(rows[i].last) };

		stack = STACK(frames);
		ok(stack__reaches_start(&stack) == rows[i].want, "%s: %s",
		   rows[i].last ? rows[i].last : "a nameless frame",
		   rows[i].want ? "a start" : "none");
	}
}

static void test_dispatcher(void)
{
	struct frame wait[] = { LIB("epoll_wait"), APP("loop"), APP(NULL), APP("main"),
				LIB("_start") };
	struct frame frames[] = { KERNEL("x"), LIB("read"), APP(NULL),	 APP("loop"),  APP(NULL),
				  APP("loop"), APP(NULL),   APP("main"), LIB("_start") };
	struct frame only[] = { LIB("read"), APP("main"), LIB("_start") };
	struct frame managed[] = {
		LIB("read"),
		APP("main"),
		{ .function = "run", .module = "a.py", .app = true, .language = "python" },
		APP("main")
	};
	struct stack idle = STACK(wait), stack = STACK(frames), bare = STACK(only),
		     python = STACK(managed);

	wait[2].address = 0x20;
	frames[2].address = 0x10;
	frames[4].address = 0x30; /* the handler calls a loop of its own */
	frames[6].address = 0x20;
	is_str(stack__app_frame(&stack)->function, "loop", "a name is preferred");
	stack__mark_dispatcher(&stack, &idle);
	ok(frames[5].dispatcher && frames[8].dispatcher && !frames[4].dispatcher &&
		   !frames[3].dispatcher,
	   "the frames shared with the wait, from the outermost inward");
	frames[3].function = NULL;
	ok(stack__app_frame(&stack) == &frames[2],
	   "a handler without a name is preferred to a dispatcher with one");
	stack__mark_dispatcher(&bare, &idle);
	is_str(stack__app_frame(&bare)->function, "main",
	       "the dispatcher, if there is nothing else");
	stack__mark_dispatcher(&python, &idle);
	ok(managed[3].dispatcher && !managed[1].dispatcher, "a managed frame ends the search");
}

/* --- owners */

#define OF(path, name)                                                                             \
	{                                                                                          \
		.function = name, .module = path, .app = true                                      \
	}
#define CRYPTO "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"
#define EVENT  "/usr/lib/x86_64-linux-gnu/libevent.so.2"
#define EXE    "/usr/bin/program"

/* As of openvpn and transmission-daemon: stripped programs that call libraries with names. */
static void test_own_first(void)
{
	struct frame wait[] = { LIB("epoll_wait"), OF(EVENT, "event_base_loop"), OF(EXE, NULL),
				LIB(NULL),	   LIB("__libc_start_main"),	 OF(EXE, NULL) };
	struct frame frames[] = { OF(CRYPTO, NULL),
				  OF(CRYPTO, "X509_verify_cert"),
				  OF(EXE, NULL),
				  OF(EXE, NULL),
				  OF(EVENT, "bufferevent_run_readcb_"),
				  OF(EVENT, "event_base_loop"),
				  OF(EXE, NULL),
				  LIB(NULL),
				  LIB("__libc_start_main"),
				  OF(EXE, NULL) };
	struct frame library[] = { OF(EVENT, "evbuffer_read"), OF(EVENT, "event_base_loop"),
				   OF(EXE, NULL) };
	struct frame loop[] = { LIB("memcpy"), OF(EVENT, "event_base_loop"), OF(EXE, NULL) };
	struct stack idle = STACK(wait), stack = STACK(frames), by_library = STACK(library),
		     in_loop = STACK(loop);

	wait[2].address = frames[6].address = library[2].address = loop[2].address = 0x20;
	frames[2].address = 0x30;
	frames[3].address = 0x40;
	frames[0].address = 0x50;
	library[0].address = 0x60;
	is_str(stack__app_frame(&stack)->function, "X509_verify_cert", "by names alone");
	stack__mark_dispatcher(&stack, &idle);
	stack__mark_owners(&stack, EXE);
	ok(stack__app_frame(&stack) == &frames[2],
	   "the program's own frame nearest to the call, though it has no name");
	ok(stack__busy_frame(&stack) == &frames[2], "also of a busy thread");
	ok(frames[6].owner == CODE_UNKNOWN && frames[9].owner == CODE_UNKNOWN,
	   "main and what starts it call everything");
	stack__mark_dispatcher(&by_library, &idle);
	stack__mark_owners(&by_library, EXE);
	is_str(stack__app_frame(&by_library)->function, "evbuffer_read",
	       "without own code besides the loop: a library's function");
	stack__mark_dispatcher(&in_loop, &idle);
	stack__mark_owners(&in_loop, EXE);
	ok(stack__app_frame(&in_loop) == &loop[2], "a library's dispatcher is never blamed");
	stack.frame_cnt = 2;
	is_str(stack__app_frame(&stack)->function, "X509_verify_cert",
	       "of a library, the innermost name");
}

static void test_owners(void)
{
	struct frame java[] = {
		OF(CRYPTO, "digest"),
		{ .function = "int A.b()", .module = "[jit]", .app = true, .language = "java" },
		OF(EXE, NULL)
	};
	struct frame jit[] = { OF("[jit]", NULL), OF("[jit]", "trace_1"), OF(EXE, "eval") };
	struct frame threads[] = { OF(CRYPTO, "digest"), OF(EXE, NULL), LIB("start_thread") };
	struct frame main_only[] = { OF(CRYPTO, "digest"), OF(EXE, "main"),
				     LIB("__libc_start_call_main"), OF(EXE, "_start") };
	struct stack stack = STACK(java);

	stack__mark_owners(&stack, EXE);
	is_str(stack__app_frame(&stack)->function, "digest", "a virtual machine's stack stays");
	stack = STACK(jit);
	stack__mark_owners(&stack, EXE);
	is_str(stack__app_frame(&stack)->function, "trace_1", "code of a JIT compiler with a name");
	stack = STACK(threads);
	stack__mark_owners(&stack, NULL);
	is_str(stack__app_frame(&stack)->function, "digest", "an unknown program changes nothing");
	stack__mark_owners(&stack, EXE);
	ok(stack__app_frame(&stack) == &threads[1], "a thread's own function");
	stack = STACK(main_only);
	stack__mark_owners(&stack, EXE);
	is_str(stack__app_frame(&stack)->function, "digest", "main says nothing");
}

static void test_same_code(void)
{
	struct frame a = { .module = EXE, .offset = 0x110, .start = 0x100 }, b = a, c = a;

	b.offset = 0x190;
	c.start = 0x200;
	ok(stack__same_code(&a, &b), "one function without a name, at two addresses");
	ok(!stack__same_code(&a, &c), "another function without a name");
	a.start = c.start = 0;
	ok(stack__same_code(&a, &c), "without tables, a module has one");
}

int main(void)
{
	test_trim_probe();
	test_trim_gap();
	test_trim_user();
	test_trim_deep();
	test_trim_stray();
	test_app_frame();
	test_reaches_start();
	test_dispatcher();
	test_own_first();
	test_owners();
	test_same_code();
	return tap__done();
}
