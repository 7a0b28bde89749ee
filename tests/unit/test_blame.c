/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verdict from the account and the stacks, and a signature that is the same on every machine.
 */
#include "verdict/blame.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define MS 1000000ull

static const struct frame start = { .function = "_start", .module = "/usr/bin/program" };

static struct block *fresh(uint32_t state, uint64_t ns)
{
	struct block *block = block__new();

	block->duration_ns = ns;
	block->state_ns[state] = ns;
	block->process->name = strdup("program");
	return block;
}

static struct frame app(const char *function, const char *module, uint64_t address)
{
	return (struct frame){
		.function = function, .module = module, .address = address, .app = true
	};
}

/* A sample with one frame between the kernel's (if any) and the outermost of the program. */
static struct sample *add(struct block *block, uint32_t state, uint64_t ns,
			  const struct frame *frame, bool in_kernel)
{
	struct sample *sample;

	block->samples = realloc(block->samples, (block->sample_cnt + 1) * sizeof(*sample));
	sample = &block->samples[block->sample_cnt++];
	*sample = (struct sample){ .state = state, .ns = ns, .syscall = -1 };
	sample->stack.kernel_cnt = in_kernel;
	sample->stack.user_cnt = 2;
	sample->stack.frames = calloc(3, sizeof(struct frame));
	if (in_kernel)
		sample->stack.frames[sample->stack.frame_cnt++] = (struct frame){
			.function = "schedule", .module = "vmlinux", .kernel = true
		};
	if (frame)
		sample->stack.frames[sample->stack.frame_cnt++] = *frame;
	sample->stack.frames[sample->stack.frame_cnt++] = start;
	return sample;
}

static void add_named(struct block *block, uint32_t state, uint64_t ns, const char *function)
{
	struct frame frame = app(function, "/usr/bin/program", 0x401000);

	add(block, state, ns, &frame, state != JANK_STATE_RUNNING);
}

static void test_kinds(void)
{
	for (uint32_t state = 1; state < JANK_STATE_CNT; state++) {
		struct block *block = fresh(state, 80 * MS);

		block->state_ns[JANK_STATE_RUNNING] = 20 * MS;
		block->duration_ns = 100 * MS;
		blame__block(block);
		is_str(block->cause.kind, state__name(state), "mostly %s", state__name(state));
		ok(block->cause.share > 0.799 && block->cause.share < 0.801, "its share");
		block__free(block);
	}
}

static void test_equal_states(void)
{
	struct block *block = fresh(JANK_STATE_SLEEP, 50 * MS);

	block->state_ns[JANK_STATE_DISK] = block->state_ns[JANK_STATE_RUNNABLE] = 50 * MS;
	block->duration_ns = 150 * MS;
	blame__block(block);
	is_str(block->cause.kind, "runnable", "of equal states the first");
	block__free(block);
}

static void test_cpu_or_kernel(void)
{
	static const struct {
		unsigned user, kernel;
		const char *kind;
	} rows[] = {
		{ 0, 0, "cpu" },    { 1, 0, "cpu" },	{ 5, 5, "cpu" },
		{ 5, 6, "kernel" }, { 0, 1, "kernel" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct block *block = fresh(JANK_STATE_RUNNING, 100 * MS);
		struct frame frame = app("work", "/usr/bin/program", 1);

		for (unsigned j = 0; j < rows[i].user; j++)
			add(block, JANK_STATE_RUNNING, 0, &frame, false);
		for (unsigned j = 0; j < rows[i].kernel; j++)
			add(block, JANK_STATE_RUNNING, 0, &frame, true);
		add(block, JANK_STATE_DISK, 2 * MS, &frame, true);
		blame__block(block);
		is_str(block->cause.kind, rows[i].kind,
		       "%u ticks in the program, %u in the kernel: %s", rows[i].user,
		       rows[i].kernel, rows[i].kind);
		block__free(block);
	}
}

static const char *blamed(struct block *block)
{
	blame__block(block);
	return block->cause.frame ? block->cause.frame->function : NULL;
}

static void test_frame_by_time(void)
{
	struct block *block = fresh(JANK_STATE_SLEEP, 100 * MS);

	add_named(block, JANK_STATE_SLEEP, 20 * MS, "often");
	add_named(block, JANK_STATE_SLEEP, 41 * MS, "long");
	add_named(block, JANK_STATE_SLEEP, 20 * MS, "often");
	add_named(block, JANK_STATE_DISK, 90 * MS, "elsewhere");
	add_named(block, JANK_STATE_RUNNING, 0, "running");
	is_str(blamed(block), "long", "the frame with the most time, not the most samples");
	add_named(block, JANK_STATE_SLEEP, 2 * MS, "often");
	is_str(blamed(block), "often", "with the samples of all its spans");
	block__free(block);
}

static void test_frame_by_ticks(void)
{
	struct block *block = fresh(JANK_STATE_RUNNING, 100 * MS);

	add_named(block, JANK_STATE_RUNNING, 0, "a");
	add_named(block, JANK_STATE_RUNNING, 0, "b");
	add_named(block, JANK_STATE_RUNNING, 0, "b");
	add_named(block, JANK_STATE_SLEEP, 50 * MS, "sleeps");
	is_str(blamed(block), "b", "running: the frame with the most ticks");
	add_named(block, JANK_STATE_RUNNING, 0, "a");
	is_str(blamed(block), "a", "of two equal frames the first");
	block__free(block);
}

/* A frame that comes after many others counts as much as they do. */
static void test_many_frames(void)
{
	struct block *block = fresh(JANK_STATE_RUNNING, 100 * MS);
	char names[500][8];

	for (int i = 0; i < 500; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d", i);
		add_named(block, JANK_STATE_RUNNING, 0, names[i]);
	}
	add_named(block, JANK_STATE_RUNNING, 0, "late");
	add_named(block, JANK_STATE_RUNNING, 0, "late");
	is_str(blamed(block), "late", "the worst of 500 functions is found wherever it is");
	block__free(block);
}

static void test_no_frame(void)
{
	struct block *block = fresh(JANK_STATE_RUNNABLE, 100 * MS);
	struct frame lib = { .function = "memcpy", .module = "libc.so.6" };

	add(block, JANK_STATE_RUNNABLE, 50 * MS, &lib, true);
	is_str(blamed(block), NULL, "a library's frame is not blamed");
	add_named(block, JANK_STATE_RUNNING, 0, "was_running");
	is_str(blamed(block), "was_running", "a thread that waits for a CPU was running before");
	add_named(block, JANK_STATE_RUNNABLE, 1 * MS, "preempted");
	is_str(blamed(block), "preempted", "unless a span says where it was preempted");
	block__free(block);
	block = fresh(JANK_STATE_RUNNING, 100 * MS);
	add_named(block, JANK_STATE_RUNNING, 0, "named");
	add_named(block, JANK_STATE_RUNNING, 0, NULL);
	add_named(block, JANK_STATE_RUNNING, 0, NULL);
	is_str(blamed(block), NULL, "all code without names counts together");
	ok(block->cause.frame, "and is blamed by its module");
	block__free(block);
	block = fresh(JANK_STATE_RUNNING, 0);
	is_str(blamed(block), NULL, "a block of length 0 has no cause");
	ok(block->cause.share == 0 && strlen(block->cause.signature) == CAUSE_SIGNATURE_LEN,
	   "but share 0 and a signature");
	block__free(block);
}

/* The signature of a block that spent most of its time in this frame. */
static const char *signature(uint32_t state, struct frame frame, uint32_t pid)
{
	static char ret[4][CAUSE_SIGNATURE_LEN + 1];
	static unsigned next;
	struct block *block = fresh(state, (50 + pid) * MS);

	block->pid = block->tid = pid;
	block->start_ns = pid * MS;
	add(block, state, state == JANK_STATE_RUNNING ? 0 : 50 * MS, &frame, false);
	blame__block(block);
	next = (next + 1) % 4;
	memcpy(ret[next], block->cause.signature, sizeof(ret[next]));
	block__free(block);
	return ret[next];
}

#define SIGNED(function) signature(JANK_STATE_RUNNING, app(function, "/usr/bin/program", 1), 10)

static void test_same_signature(void)
{
	static const char *const clones[] = {
		"work.constprop.0",	"work.isra.12",
		"work.isra.98",		"work.isra.109",
		"work.part.0",		"work.cold",
		"work.cold.3",		"work.lto_priv.0",
		"work.isra.0.cold",	"work.constprop.0.isra.1",
		"work.llvm.77123",	"work.localalias",
		"work [clone .isra.0]", "work [clone .part.1] [clone .cold]",
	};
	struct frame frame = app("work", "/opt/other/program", 0xabcdef);

	frame.offset = 77;
	frame.line = 12;
	frame.file = "work.c";
	frame.build_id = "0123";
	is_str(signature(JANK_STATE_RUNNING, frame, 20), SIGNED("work"),
	       "the same signature in another process, place and build");
	for (size_t i = 0; i < sizeof(clones) / sizeof(clones[0]); i++)
		is_str(SIGNED(clones[i]), SIGNED("work"), "%s is work", clones[i]);
}

static void test_other_signature(void)
{
	static const char *const others[] = {
		"other",	  "work2",	 "wor",	     "work.func1", "work.handler",
		"work.coldstart", "work.cold.x", "ns::work", "work(int)",  "work.0",
	};
	struct frame frame = app("work", "/usr/bin/program", 1);
	bool differ = true;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ok(strcmp(SIGNED(others[i]), SIGNED("work")), "%s is another function", others[i]);
	ok(strcmp(SIGNED("main.read"), SIGNED("main.write")), "a dot may be part of a name");
	ok(strcmp(SIGNED(".cold"), SIGNED(".part")), "a suffix alone is a name");
	ok(strcmp(SIGNED(" [clone .a]"), SIGNED(" [clone .b]")),
	   "so is a clone suffix without a function");
	ok(strcmp(SIGNED("7"), SIGNED("8")) && strcmp(SIGNED("f7"), SIGNED("f8")) &&
		   strcmp(SIGNED("cold.7"), SIGNED("part.7")),
	   "so are digits");
	ok(strcmp(SIGNED("a.cold7"), SIGNED("a")), "a number needs its own dot");
	for (uint32_t a = JANK_STATE_FIRST_BLOCKED; a < JANK_STATE_CNT; a++)
		for (uint32_t b = 0; b < a; b++)
			differ &= !!strcmp(signature(a, frame, 10), signature(b, frame, 10));
	ok(differ, "another kind has another signature");
	is_str(signature(JANK_STATE_RUNNABLE, frame, 10), SIGNED("work"),
	       "but whether a busy thread gets the CPU is chance");
	ok(strcmp(signature(JANK_STATE_RUNNING, app("work", "/lib/x.so", 1), 10), SIGNED("work")),
	   "another module, too");
}

/* Without a known function, the signature is of the process and the system call. */
static const char *nameless(const char *process, const char *const *calls, const uint64_t *ns)
{
	static char ret[4][CAUSE_SIGNATURE_LEN + 1];
	static unsigned next;
	struct block *block = fresh(JANK_STATE_SLEEP, 100 * MS);

	free(block->process->name);
	block->process->name = process ? strdup(process) : NULL;
	for (; *calls; calls++, ns++)
		add(block, JANK_STATE_SLEEP, *ns, NULL, true)->syscall_name = *calls;
	add(block, JANK_STATE_POLL, 99, NULL, true)->syscall_name = "poll";
	blame__block(block);
	next = (next + 1) % 4;
	memcpy(ret[next], block->cause.signature, sizeof(ret[next]));
	block__free(block);
	return ret[next];
}

#define CALLS(...)                                                                                 \
	(const char *const[])                                                                      \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}
#define TIMES(...)                                                                                 \
	(const uint64_t[])                                                                         \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static void test_nameless_signature(void)
{
	const char *read = nameless("program", CALLS("read"), TIMES(5));

	is_str(nameless("program", CALLS("read"), TIMES(9)), read, "without a function: the call");
	ok(strcmp(nameless("program", CALLS("write"), TIMES(5)), read), "another call");
	ok(strcmp(nameless("other", CALLS("read"), TIMES(5)), read), "another process");
	is_str(nameless("program", CALLS("write", "read", "write"), TIMES(3, 7, 3)), read,
	       "the call with the most time");
	ok(strcmp(nameless("program", CALLS("write", "read", "write"), TIMES(4, 7, 4)), read),
	   "the sum of all its spans counts");
	is_str(nameless("program", CALLS("read", "write"), TIMES(5, 5)), read,
	       "of two equal ones the first");
	is_uint(strlen(nameless(NULL, CALLS(NULL), TIMES(0))), CAUSE_SIGNATURE_LEN,
		"nothing known");
}

static void test_quality(void)
{
	struct block *block = fresh(JANK_STATE_RUNNING, 100 * MS);
	struct sample *sample;

	add_named(block, JANK_STATE_RUNNING, 0, "work");
	blame__block(block);
	is_uint(block->stack_quality, 0, "a stack that reaches _start is complete");
	sample = &block->samples[0];
	sample->stack.frame_cnt--;
	block->stack_quality = QUALITY_CUT;
	blame__block(block);
	is_uint(block->stack_quality, QUALITY_CUT | QUALITY_FP,
		"a stack that does not may lack frames");
	sample->stack.user_cnt = 0;
	block->stack_quality = 0;
	blame__block(block);
	is_uint(block->stack_quality, 0, "a stack without a user part is no failed walk");
	block__free(block);
}

int main(void)
{
	test_kinds();
	test_equal_states();
	test_cpu_or_kernel();
	test_frame_by_time();
	test_frame_by_ticks();
	test_many_frames();
	test_no_frame();
	test_same_signature();
	test_other_signature();
	test_nameless_signature();
	test_quality();
	return tap__done();
}
