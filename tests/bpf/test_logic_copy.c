/* SPDX-License-Identifier: GPL-2.0 */
/* Copies of user stacks: of a thread that leaves the CPU, sent when its time off it turns out long. */
#include <pthread.h>
#include <sys/mman.h>

#include "tests/bpf/logic_run.h"

#define COPY_SZ	 (16 << 10)
#define SPAN_MIN 1000000

static void begin(uint32_t copy_sz)
{
	struct jank_conf conf = logic__conf();

	conf.span_min_ns = SPAN_MIN;
	conf.copy_sz = copy_sz;
	logic__begin_with(&conf);
}

/* Off the CPU for ns within a dispatch; how many copies came of it. */
static unsigned leave_for(uint64_t ns, struct event *ret)
{
	struct logic_step open;
	struct event drop;

	STEP(RESET, .fd = 0);
	BEGIN(one, 1000);
	END(1);
	open = STEP(LOOK, .fd = 0);
	logic__received(0, &drop);
	STEP(LEAVE, .now_ns = open.start_ns + 10, .task_state = TASK_INTERRUPTIBLE);
	STEP(WAKE, .now_ns = open.start_ns + 10 + ns);
	STEP(ARRIVE, .now_ns = open.start_ns + 10 + ns);
	return logic__received(JANK_REC_COPY, ret);
}

static uint64_t copied_sp(const struct copy_event *copy)
{
#ifdef __aarch64__
	return copy->rec.regs[31];
#else
	return copy->rec.regs[7];
#endif
}

/* The bytes of our own stack at `what`, as they stand in the copy; NULL: they lie outside of it. */
static const void *copied(const struct copy_event *copy, const void *what)
{
	uint64_t sp = copied_sp(copy), at = (uintptr_t)what;

	return at >= sp && at - sp < copy->rec.copy_sz ? copy->bytes + (at - sp) : NULL;
}

static void test_copy(void)
{
	char marked[64] = "a word that lies in this function's frame and nowhere else";
	struct event event;

	begin(COPY_SZ);
	is_uint(leave_for(SPAN_MIN - 1, &event), 0, "of a short time off the CPU no copy is sent");
	is_uint(leave_for(SPAN_MIN, &event), 1, "of a long one it is");
	is_uint(event.copy.rec.hdr.tid, gettid(), "ours");
	is_uint(event.copy.rec.asked_sz, COPY_SZ, "as much as was asked for");
	ok(event.copy.rec.copy_sz >= COPY_SZ || event.copy.rec.hdr.flags & JANK_COPY_HOLE,
	   "so much there is, or less where the stack ends: %u", event.copy.rec.copy_sz);
	ok(event.copy.rec.copy_sz <= JANK_COPY_MAX, "no more than a record may have");
	ok(copied(&event.copy, marked) &&
		   !memcmp(copied(&event.copy, marked), marked, sizeof(marked)),
	   "our own frame stands in it, at its place");
	ok(event.copy.rec.regs[16] > 4096, "the instruction's address is there");
	is_uint(logic__lost(JANK_LOST_COPY), 0, "nothing was lost");
}

static void test_off(void)
{
	struct event event;

	begin(0);
	is_uint(leave_for(SPAN_MIN, &event), 0, "with 0 bytes nothing is copied");
	is_uint(logic__lost(JANK_LOST_COPY), 0, "nor missed");
}

static void test_deeper(void)
{
	uint32_t tgid = getpid(), size = 2 * COPY_SZ, zero = 0, deep_cnt = 1;
	struct event event;

	begin(COPY_SZ);
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_copy_szs), &tgid, &size, BPF_ANY);
	leave_for(SPAN_MIN, &event);
	is_uint(event.copy.rec.asked_sz, COPY_SZ, "that there are deeper ones has to be told");
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_copy_deep), &zero, &deep_cnt,
			    BPF_ANY);
	leave_for(SPAN_MIN, &event);
	is_uint(event.copy.rec.asked_sz, size,
		"a process whose stacks are deeper is asked for more");
}

#define STACK_SZ (64 << 10)

struct on_small_stack {
	char *upper_end;
	uint64_t sp;
	unsigned cnt;
	struct event event;
};

static void *run_on_small_stack(void *arg)
{
	struct on_small_stack *t = arg;

	t->cnt = leave_for(SPAN_MIN, &t->event);
	return NULL;
}

/* Right above the stack lies nothing: the copy ends there. */
static void test_hole(void)
{
	char *room = mmap(NULL, 2 * STACK_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	struct on_small_stack t = { .upper_end = room + STACK_SZ };
	pthread_attr_t attr;
	pthread_t thread;

	munmap(t.upper_end, STACK_SZ);
	begin(JANK_COPY_MAX);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, room, STACK_SZ);
	if (pthread_create(&thread, &attr, run_on_small_stack, &t))
		exit(1);
	pthread_join(thread, NULL);
	is_uint(t.cnt, 1, "a thread on a stack of its own: copied");
	is_uint(copied_sp(&t.event.copy) + t.event.copy.rec.copy_sz, (uintptr_t)t.upper_end,
		"up to the end of its memory");
	ok(t.event.copy.rec.hdr.flags & JANK_COPY_HOLE, "which is told");
}

/* A thread's place in the table is its number's last bits: another may have taken it meanwhile. */
static void test_collision(void)
{
	static union {
		char bytes[8 + sizeof(struct jank_rec_copy) + COPY_SZ];
		struct {
			uint64_t writes;
			struct jank_rec_copy rec;
		};
	} slot;
	uint32_t at = gettid() & 511;
	struct logic_step open;
	struct event event;
	int fd;

	begin(COPY_SZ);
	fd = bpf_map__fd(logic.skel->maps.jank_copies);
	BEGIN(one, 1000);
	END(1);
	open = STEP(LOOK, .fd = 0);
	STEP(LEAVE, .now_ns = open.start_ns + 10, .task_state = TASK_INTERRUPTIBLE);
	ok(!bpf_map_lookup_elem(fd, &at, &slot) && (int)slot.rec.hdr.tid == gettid(),
	   "a copy is kept at its place");
	slot.rec.hdr.tid = gettid() + 512;
	bpf_map_update_elem(fd, &at, &slot, BPF_ANY);
	logic__received(0, &event);
	STEP(ARRIVE, .now_ns = open.start_ns + SPAN_MIN + 10);
	is_uint(logic__received(JANK_REC_COPY, &event), 0, "another's copy is not sent as ours");
	is_uint(logic__lost(JANK_LOST_COPY), 1, "that ours is missing is counted");
}

int main(void)
{
	logic__start();
	test_copy();
	test_off();
	test_deeper();
	test_hole();
	test_collision();
	return logic__done();
}
