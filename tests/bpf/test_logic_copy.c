/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies of user stacks: of a thread that leaves the CPU; the copy is sent if the time off the CPU
 * is long.
 */
#include <alloca.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

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

#define RED_ZONE_MARK 0x1122334455667788

/* The thread leaves the CPU, on x86-64 with a mark below its stack pointer. */
static void leave_marked(uint64_t now_ns)
{
	struct logic_step what = { .step = LOGIC_LEAVE,
				   .now_ns = now_ns,
				   .task_state = TASK_INTERRUPTIBLE };
#ifdef __x86_64__
	union bpf_attr attr = {
		.test.prog_fd = bpf_program__fd(logic.skel->progs.logic_sched),
		.test.ctx_in = (uintptr_t)&what,
		.test.ctx_size_in = sizeof(what),
	};
	long ret = __NR_bpf;

	asm volatile("sub $256, %%rsp; mov %[mark], -8(%%rsp); syscall; add $256, %%rsp"
		     : "+a"(ret)
		     : "D"(BPF_PROG_TEST_RUN), "S"(&attr),
		       "d"(sizeof(attr)), [mark] "r"(RED_ZONE_MARK)
		     : "rcx", "r11", "memory", "cc");
	if (ret)
		abort();
#else
	logic__step(what);
#endif
}

/* Leaves the CPU for ns within a dispatch; returns how many copies were sent. */
static unsigned leave_for(uint64_t ns, struct event *ret)
{
	struct logic_step open;
	struct event drop;

	STEP(RESET, .fd = 0);
	BEGIN(one, 1000);
	END(1);
	open = STEP(LOOK, .fd = 0);
	logic__received(0, &drop);
	leave_marked(open.start_ns + 10);
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

/* Where the bytes of our own stack at `what` are in the copy; NULL: outside of it. */
static const void *copied(const struct copy_event *copy, const void *what)
{
	uint64_t sp = copied_sp(copy), at = (uintptr_t)what;

	return at >= sp && at - sp < copy->rec.copy_sz ? copy->bytes + (at - sp) : NULL;
}

#ifdef __x86_64__
static void test_red_zone(void)
{
	static struct event event;
	uint64_t word;

	begin(COPY_SZ);
	leave_for(SPAN_MIN, &event);
	memcpy(&word, event.copy.rec.red_zone + JANK_RED_ZONE - sizeof(word), sizeof(word));
	is_uint(word, RED_ZONE_MARK, "a copy has what is below the stack pointer");
}
#endif

static void test_copy(void)
{
	char marked[64] = "a word that is in this function's frame and nowhere else";
	static struct event event; /* it is large: between us and the stack's end */

	begin(COPY_SZ);
	is_uint(leave_for(SPAN_MIN - 1, &event), 0,
		"after a short time off the CPU no copy is sent");
	is_uint(leave_for(SPAN_MIN, &event), 1, "after a long one it is");
	is_uint(event.copy.rec.hdr.tid, gettid(), "ours");
	ok(event.copy.rec.hdr.flags & JANK_COPY_WHOLE || event.copy.rec.asked_sz == COPY_SZ,
	   "as much as was asked for, or up to the stack's begin: %u", event.copy.rec.asked_sz);
	is_uint(event.copy.rec.copy_sz, event.copy.rec.asked_sz, "so much there is");
	ok(event.copy.rec.copy_sz <= JANK_COPY_MAX, "no more than a record may have");
	ok(copied(&event.copy, marked) &&
		   !memcmp(copied(&event.copy, marked), marked, sizeof(marked)),
	   "our own frame is in it, at its place");
	ok(event.copy.rec.regs[16] > 4096, "the instruction's address is there");
	is_uint(logic__lost(JANK_LOST_COPY), 0, "nothing was lost");
}

static void test_off(void)
{
	struct event event;

	begin(0);
	is_uint(leave_for(SPAN_MIN, &event), 0, "with 0 bytes nothing is copied");
	is_uint(logic__lost(JANK_LOST_COPY), 0, "nor counted as missing");
}

/* Runs fn on a stack of this size, with nothing above it. */
static void on_stack(size_t size, void (*fn)(void))
{
	char *room =
		mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static ucontext_t here, there;

	munmap(room + size, size);
	getcontext(&there);
	there.uc_stack = (stack_t){ .ss_sp = room, .ss_size = size };
	there.uc_link = &here;
	makecontext(&there, fn, 0);
	swapcontext(&here, &there);
	munmap(room, size);
}

static struct event got;

static void leave(void)
{
	leave_for(SPAN_MIN, &got);
}

#ifdef __aarch64__
#define SP 31
#else
#define SP 7
#endif

static uintptr_t touched;

/* With an array in between, of which only the upper end was written to. */
static void leave_under_array(void)
{
	volatile char *above = alloca(10 << 10);

	above[(10 << 10) - 1] = 1;
	touched = (uintptr_t)&above[(10 << 10) - 1];
	leave_for(SPAN_MIN, &got);
	above[0]++;
}

/* Deep down on a stack whose end is not known yet. */
static void leave_deep(void)
{
	volatile char *above = alloca(256 << 10);

	memset((char *)above, 1, 256 << 10);
	leave_for(SPAN_MIN, &got);
	above[0]++;
}

static void test_deeper(void)
{
	uint32_t tgid = getpid(), size = 2 * COPY_SZ, zero = 0, deep_cnt = 1;

	begin(COPY_SZ);
	on_stack(1 << 20, leave_deep);
	is_uint(got.copy.rec.copy_sz, COPY_SZ, "a deep stack: as much as was asked for");
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_copy_szs), &tgid, &size, BPF_ANY);
	on_stack(1 << 20, leave_deep);
	is_uint(got.copy.rec.copy_sz, COPY_SZ, "more is wanted only after user space says so");
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_copy_deep), &zero, &deep_cnt,
			    BPF_ANY);
	on_stack(1 << 20, leave_deep);
	is_uint(got.copy.rec.copy_sz, size, "then it is copied");
	ok(!(got.hdr.flags & (JANK_COPY_HOLE | JANK_COPY_WHOLE)), "and goes on above");
}

static void test_hole(void)
{
	uint64_t page;

	begin(JANK_COPY_MAX);
	on_stack(64 << 10, leave);
	ok(got.hdr.flags & JANK_COPY_HOLE,
	   "the copy ends where memory ends, and the record says so");
	ok(got.copy.rec.hole_mask, "and where");
	begin(2 * COPY_SZ);
	on_stack(1 << 20, leave_under_array);
	ok(got.hdr.flags & JANK_COPY_HOLE, "a page that was never touched is missing");
	ok(!(got.copy.rec.hole_mask & 1), "not the first");
	page = touched / JANK_COPY_PAGE - got.copy.rec.regs[SP] / JANK_COPY_PAGE;
	ok(page < 16 && got.copy.rec.copy_sz > touched - got.copy.rec.regs[SP] &&
		   !(got.copy.rec.hole_mask & 1u << page),
	   "what is above it, in page %lu, is there: mask %x of %u", (unsigned long)page,
	   got.copy.rec.hole_mask, got.copy.rec.copy_sz);
}

static void *run_leave(void *arg)
{
	leave();
	return arg;
}

static void test_thread(void)
{
	pthread_t thread;

	begin(JANK_COPY_MAX);
	if (pthread_create(&thread, NULL, run_leave, NULL))
		exit(1);
	pthread_join(thread, NULL);
	ok(got.hdr.flags & JANK_COPY_WHOLE && !(got.hdr.flags & JANK_COPY_HOLE),
	   "a thread's stack is copied up to its upper end (%u bytes)", got.copy.rec.copy_sz);
	ok(got.copy.rec.copy_sz > 256 && got.copy.rec.copy_sz < JANK_COPY_MAX, "and no further");
}

struct copy_slot {
	union {
		char bytes[8 + sizeof(struct jank_rec_copy) + COPY_SZ + JANK_COPY_PAGE];
		struct {
			uint64_t writes;
			struct jank_rec_copy rec;
		};
	};
};

/* The two slots of this thread, as copy_user_stack.bpf.h computes them. */
static uint32_t slot_of(int which)
{
	uint32_t tid = gettid();

	return (which ? tid + (tid / 512 * 31 | 1) : tid) & 511;
}

static void put_slot(int which, const struct copy_slot *slot)
{
	uint32_t at = slot_of(which);

	ok(!bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_copies), &at, slot, BPF_ANY),
	   "slot %d is set", which);
}

static void get_slot(int which, struct copy_slot *slot)
{
	uint32_t at = slot_of(which);

	ok(!bpf_map_lookup_elem(bpf_map__fd(logic.skel->maps.jank_copies), &at, slot),
	   "slot %d is read", which);
}

/* Opens a dispatch, in which the thread falls asleep. Returns the state at the dispatch's start. */
static struct logic_step leave_in_dispatch(void)
{
	struct logic_step open;

	BEGIN(one, 1000);
	END(1);
	open = STEP(LOOK, .fd = 0);
	STEP(LEAVE, .now_ns = open.start_ns + 10, .task_state = TASK_INTERRUPTIBLE);
	return open;
}

/* Another thread with the same last bits waits longer than we do: its copy stays, ours is sent. */
static void test_shared_slot(void)
{
	static struct copy_slot slot;
	struct logic_step open;
	struct event event;

	begin(COPY_SZ);
	memset(&slot, 0, sizeof(slot));
	slot.rec.hdr.tid = gettid() + 512;
	slot.rec.t_ns = 1;
	put_slot(0, &slot);
	open = leave_in_dispatch();
	get_slot(0, &slot);
	is_uint(slot.rec.hdr.tid, gettid() + 512, "the other thread's copy stays");
	get_slot(1, &slot);
	is_uint(slot.rec.hdr.tid, gettid(), "ours is in the second slot");
	logic__received(0, &event);
	STEP(ARRIVE, .now_ns = open.start_ns + SPAN_MIN + 10);
	is_uint(logic__received(JANK_REC_COPY, &event), 1, "and is sent from there");
	is_uint(logic__lost(JANK_LOST_COPY), 0, "nothing was lost");
}

/*
 * Both slots have copies of other threads: the older one may belong to a wait that still goes on.
 */
static void test_younger_copy_goes(void)
{
	static struct copy_slot slot;
	begin(COPY_SZ);
	for (int which = 0; which < 2; which++) {
		memset(&slot, 0, sizeof(slot));
		slot.rec.hdr.tid = gettid() + 512 + which;
		slot.rec.t_ns = 2 - which;
		put_slot(which, &slot);
	}
	leave_in_dispatch();
	get_slot(0, &slot);
	is_uint(slot.rec.hdr.tid, gettid(), "the younger copy gives way");
	get_slot(1, &slot);
	is_uint(slot.rec.hdr.tid, gettid() + 513, "the older one stays");
}

static void test_overwritten(void)
{
	static struct copy_slot slot;
	struct logic_step open;
	struct event event;

	begin(COPY_SZ);
	open = leave_in_dispatch();
	get_slot(0, &slot);
	is_uint(slot.rec.hdr.tid, gettid(), "a copy is kept in the first slot");
	slot.rec.hdr.tid = gettid() + 512;
	put_slot(0, &slot);
	logic__received(0, &event);
	STEP(ARRIVE, .now_ns = open.start_ns + SPAN_MIN + 10);
	is_uint(logic__received(JANK_REC_COPY, &event), 0,
		"another thread's copy is not sent as ours");
	is_uint(logic__lost(JANK_LOST_COPY), 1, "ours is counted as missing");
}

/* Whatever else is copied of stacks: a loop is recognised by the stack of its wait. */
static void test_wait(uint32_t copy_sz)
{
	char marked[64] = "a word of the frame around the wait, which identifies the loop";
	const struct jank_rec_copy *copy;
	struct copy_event event = {};
	struct event wait;

	begin(copy_sz);
	BEGIN(one, 0);
	is_uint(logic__received(JANK_REC_WAIT, &wait), 1, "a loop's wait is sent");
	copy = logic__wait_copy();
	ok(copy, "right after a copy of its stack, with the same time (copies of %u)", copy_sz);
	if (!copy)
		return;
	event.rec = *copy;
	event.bytes = (const void *)(copy + 1);
	is_uint(copied_sp(&event), wait.wait.sp, "from where it waits");
	ok(copied(&event, marked) && !memcmp(copied(&event, marked), marked, sizeof(marked)),
	   "with the frames around it");
	ok(copy->copy_sz <= COPY_SZ, "no more than a copy's default");
	END(1);
	BEGIN(one, 0);
	ok(!logic__received(JANK_REC_WAIT, &wait) && !logic__received(JANK_REC_COPY, &wait),
	   "the next one's is not copied");
	is_uint(logic__lost(JANK_LOST_COPY), 0, "nothing was lost");
}

/* Another thread has the slot for the copy at that moment. */
static void test_wait_without(void)
{
	static char slot[8 + sizeof(struct jank_rec_copy) + COPY_SZ + JANK_COPY_PAGE];
	uint32_t at = gettid() & 511;
	uint64_t taken = 1;
	struct event wait;

	begin(COPY_SZ);
	memcpy(slot, &taken, sizeof(taken));
	ok(!bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_copies), &at, slot, BPF_ANY),
	   "another thread has the slot");
	BEGIN(one, 0);
	is_uint(logic__received(JANK_REC_WAIT, &wait), 1, "the wait is sent all the same");
	ok(!logic__wait_copy(), "without a copy");
	is_uint(logic__lost(JANK_LOST_COPY), 1, "which is counted");
}

int main(void)
{
	LOGIC_START("logic_wait", "logic_sched");
#ifdef __x86_64__
	test_red_zone();
#endif
	test_copy();
	test_off();
	test_deeper();
	test_hole();
	test_thread();
	test_shared_slot();
	test_younger_copy_goes();
	test_overwritten();
	test_wait(COPY_SZ);
	test_wait(0);
	test_wait_without();
	return logic__done();
}
