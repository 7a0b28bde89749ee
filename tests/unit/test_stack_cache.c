/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When copies are walked, what happens to them, and what a block gets. test_unwind tests the walks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "enrich/stack_cache.h"
#include "model/sample.h"
#include "symbol/unwind/unwind.h"
#include "tests/tap.h"

#define COPY_SZ 1024

static struct symbolizer *symbolizer;
static struct untraced_procs *untraced;
static struct copy_bpf_fds maps = COPY_MAPS_NONE;
static struct losses losses;

/*
 * A copy, all zeroes, of our current registers. dispatch_ns 0: of a thread that another one waited
 * for.
 */
static struct jank_rec_copy *copy_of_us(uint32_t tid, uint64_t t_ns, uint64_t dispatch_ns)
{
	struct jank_rec_copy *rec = calloc(1, sizeof(*rec) + COPY_SZ);
	uint64_t sp = (uintptr_t)__builtin_frame_address(0);

	rec->hdr = (struct jank_rec){
		.size = sizeof(*rec) + COPY_SZ, .kind = JANK_REC_COPY, .tgid = getpid(), .tid = tid
	};
	rec->dispatch_ns = dispatch_ns;
	rec->t_ns = t_ns;
	rec->copy_sz = rec->asked_sz = COPY_SZ;
#ifdef __aarch64__
	rec->regs[31] = rec->regs[29] = sp;
	rec->regs[30] = 16; /* 0 would be a thread's first function */
	rec->regs[32] = (uintptr_t)copy_of_us;
#else
	rec->regs[7] = rec->regs[6] = sp;
	rec->regs[16] = (uintptr_t)copy_of_us;
#endif
	return rec;
}

static int take(struct stack_cache *cache, struct jank_rec_copy *rec)
{
	return stack_cache__take(cache, rec, rec->hdr.size);
}

/* A block with one sample at t_ns, for which the probe had only the innermost address. */
static struct block *block_with(uint32_t tid, uint64_t t_ns)
{
	static const uint64_t addresses[] = { UINT64_MAX - 4, 0x1234 };
	struct block *block = block__new();

	block->tid = tid;
	block->pid = getpid();
	block->samples = calloc(1, sizeof(*block->samples));
	block->sample_cnt = 1;
	block->samples[0].stack = (struct stack){ .kernel_cnt = 1, .user_cnt = 1, .t_ns = t_ns };
	stack__set_addresses(&block->samples[0].stack, addresses);
	return block;
}

static void test_join(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	struct block *block = block_with(7, 100);
	const struct stack *stack = &block->samples[0].stack;

	is_int(take(cache, copy_of_us(7, 100, 50)), 0, "a copy is accepted");
	is_int(take(cache, copy_of_us(7, 101, 50)), 0, "another of the same thread");
	is_int(stack_cache__fill(cache, block), 0, "a block asks for it");
	is_uint(stack->addresses[0], UINT64_MAX - 4, "the kernel's part stays");
	is_uint(stack->addresses[1], (uintptr_t)copy_of_us, "the user part is the copy's");
	ok(stack->user_cnt >= 1 && stack->end != STACK_END_UNKNOWN, "with what was found");
	block__free(block);
	block = block_with(8, 100);
	stack_cache__fill(cache, block);
	is_uint(block->samples[0].stack.addresses[1], 0x1234,
		"another thread's sample gets none of it");
	is_uint(block->samples[0].stack.end, STACK_END_UNKNOWN, "nor a reason");
	block__free(block);
	block = block_with(7, 102);
	stack_cache__fill(cache, block);
	is_uint(block->samples[0].stack.addresses[1], 0x1234, "nor does another time's");
	block__free(block);
	stack_cache__free(cache);
}

/* They wait for others that arrive at the same time, but for 15 at most. */
static void test_together(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	struct block *block = block_with(7, 100);
	size_t raw;

	take(cache, copy_of_us(7, 100, 50));
	raw = stack_cache__bytes(cache);
	ok(stack_cache__waits(cache) && raw > COPY_SZ, "a copy waits for others");
	is_int(stack_cache__unwind(cache), 0, "no other follows");
	ok(!stack_cache__waits(cache) && stack_cache__bytes(cache) < COPY_SZ,
	   "it is unwound, and takes less room: %zu, before %zu", stack_cache__bytes(cache), raw);
	stack_cache__fill(cache, block);
	is_uint(block->samples[0].stack.addresses[1], (uintptr_t)copy_of_us, "a block gets it");
	for (uint64_t i = 1; i < 16; i++)
		take(cache, copy_of_us(7, 100 + i, 50));
	take(cache, copy_of_us(7, 115, 50));
	ok(stack_cache__waits(cache), "fifteen wait, one of which came twice");
	take(cache, copy_of_us(8, 100, 50));
	ok(!stack_cache__waits(cache), "sixteen do not");
	take(cache, copy_of_us(8, 101, 50));
	take(cache, copy_of_us(8, 300, 200));
	is_int(stack_cache__unwind(cache), 0, "one of an earlier dispatch waits no more");
	block__free(block);
	stack_cache__free(cache);
}

static void test_others(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	uint64_t now = clock__mono_ns();
	size_t kept, walked;
	struct block *block;

	take(cache, copy_of_us(9, now, 0));
	kept = stack_cache__bytes(cache);
	ok(kept > COPY_SZ, "a copy of a thread without a dispatch is kept as it is");
	block = block_with(3, 1);
	block->chain = calloc(1, sizeof(*block->chain));
	block->chain_cnt = 1;
	block->chain[0].task.tid = 9;
	block->chain[0].stack = (struct stack){ .user_cnt = 1, .t_ns = now };
	stack__set_addresses(&block->chain[0].stack, (uint64_t[]){ 0x55 });
	is_int(stack_cache__fill(cache, block), 0, "until a chain asks");
	is_uint(block->chain[0].stack.addresses[0], (uintptr_t)copy_of_us, "then it is walked");
	walked = stack_cache__bytes(cache);
	ok(walked < kept, "and takes less room: %zu, before %zu", walked, kept);
	block__free(block);
	stack_cache__free(cache);
}

static int take_script(struct stack_cache *cache, uint32_t tid, uint64_t t_ns, uint64_t code)
{
	const struct jank_script_frame frame = { .code = code, .instr = 2, .flags = 1 };
	size_t size = sizeof(struct jank_rec_script) + sizeof(frame);
	struct jank_rec_script *rec = calloc(1, size);

	rec->hdr = (struct jank_rec){
		.size = size, .kind = JANK_REC_SCRIPT, .tgid = getpid(), .tid = tid
	};
	rec->t_ns = t_ns;
	rec->frame_cnt = 1;
	memcpy(rec + 1, &frame, sizeof(frame));
	return stack_cache__take(cache, rec, size);
}

/*
 * Interpreter frames of a thread that was waited for: of its activity, and of its ending the wait.
 */
static void test_scripts_of_links(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	struct block *block = block_with(3, 1);
	const struct stack *stack, *wake;

	is_int(take_script(cache, 9, 200, 0x1000), 0, "frames of a span are accepted");
	is_int(take_script(cache, 9, 300, 0x2000), 0, "and of a wake-up");
	block->chain = calloc(2, sizeof(*block->chain));
	block->chain_cnt = 2;
	for (int i = 0; i < 2; i++) {
		struct link *link = &block->chain[i];

		link->task.tid = 9 + i;
		link->stack = (struct stack){ .user_cnt = 1, .t_ns = 200 };
		link->wake_stack = (struct stack){ .user_cnt = 1, .t_ns = 300 };
		stack__set_addresses(&link->stack, (uint64_t[]){ 0x55 });
		stack__set_addresses(&link->wake_stack, (uint64_t[]){ 0x66 });
	}
	is_int(stack_cache__fill(cache, block), 0, "a chain asks");
	stack = &block->chain[0].stack;
	wake = &block->chain[0].wake_stack;
	ok(stack->script_cnt == 1 && stack->script[0].code == 0x1000, "the span has its own");
	ok(wake->script_cnt == 1 && wake->script[0].code == 0x2000, "and the wake-up its own");
	ok(!block->chain[1].stack.script_cnt && !block->chain[1].wake_stack.script_cnt,
	   "another thread with the same times has none");
	block__free(block);
	stack_cache__free(cache);
}

static void test_better(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	struct block *block = block_with(7, 100);
	struct stack *stack = &block->samples[0].stack;
	static uint64_t addresses[1 + UNWIND_MAX];
	struct jank_rec_copy *rec = copy_of_us(7, 100, 50);

	free(stack->addresses);
	stack->addresses = NULL;
	stack->user_cnt = UNWIND_MAX;
	stack__set_addresses(stack, addresses);
	rec->copy_sz = rec->asked_sz = 0;
	rec->hdr.size = sizeof(*rec);
	take(cache, rec);
	stack_cache__fill(cache, block);
	is_uint(stack->user_cnt, UNWIND_MAX,
		"a truncated walk is replaced by a longer one by frame pointers");
	block__free(block);
	stack_cache__free(cache);
}

static void test_bound(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	size_t most = 0;
	struct block *block;

	for (uint64_t i = 1; i <= 2 * STACK_CACHE_BYTES_MAX / COPY_SZ; i++) {
		take(cache, copy_of_us(9, i, 0));
		if (stack_cache__bytes(cache) > most)
			most = stack_cache__bytes(cache);
	}
	ok(most <= STACK_CACHE_BYTES_MAX, "memory is bounded: %zu bytes", most);
	block = block_with(9, 1);
	stack_cache__fill(cache, block);
	is_uint(block->samples[0].stack.end, STACK_END_UNKNOWN, "the oldest are dropped");
	block__free(block);
	stack_cache__free(cache);
}

/* Walked copies of one dispatch that leave no room for earlier ones. */
static void crowd_out(struct stack_cache *cache, uint32_t tid)
{
	size_t before, one;

	stack_cache__unwind(cache);
	before = stack_cache__bytes(cache);
	take(cache, copy_of_us(tid, 1, 10));
	stack_cache__unwind(cache);
	one = stack_cache__bytes(cache) - before;
	for (uint64_t i = 2; i <= STACK_CACHE_BYTES_MAX / one + 1; i++)
		take(cache, copy_of_us(tid, i, 10));
}

static uint64_t shed_cnt(void)
{
	return losses.cnt[JANK_LOST_COPY];
}

/*
 * Stacks that a block wants and that were dropped are reported, in its record and in the summary.
 * Others are no loss.
 */
static void test_shed(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	struct block *block = block_with(7, 100), *other = block_with(8, 100);
	uint64_t before = shed_cnt();

	block->start_ns = other->start_ns = 50;
	take(cache, copy_of_us(7, 100, 50));
	take(cache, copy_of_us(7, 101, 50));
	take(cache, copy_of_us(8, 100, 40));
	crowd_out(cache, 9);
	is_uint(shed_cnt() - before, 0, "stacks that no block wants are no loss");
	is_int(stack_cache__fill(cache, other), 0,
	       "a block of another dispatch of the thread asks");
	is_uint(shed_cnt() - before + other->lost_cnt, 0, "it lacks nothing");
	is_int(stack_cache__fill(cache, block), 0, "a block with dropped stacks asks");
	is_uint(shed_cnt() - before, 2, "both are counted");
	ok(block->lost_cnt == 1 && block->lost[0].cnt == 2, "in its record, too");
	is_str(block->lost[0].reason, "stack_copies_shed", "by that word");
	stack_cache__fill(cache, block);
	is_uint(shed_cnt() - before, 2, "once");
	block__free(block);
	block__free(other);
	stack_cache__free(cache);
}

/* Thousands of copies of threads without a dispatch take no room from dispatches. */
static void test_room_of_dispatches(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	struct block *block = block_with(7, 100);
	const struct stack *stack = &block->samples[0].stack;

	block->start_ns = 50;
	take(cache, copy_of_us(7, 100, 50));
	for (uint64_t i = 1; i <= 2 * STACK_CACHE_BYTES_MAX / COPY_SZ; i++)
		take(cache, copy_of_us(9, i, 0));
	is_int(stack_cache__fill(cache, block), 0, "a block asks after many copies of others");
	ok(stack->end != STACK_END_UNKNOWN && !block->lost_cnt, "its stack is there");
	block__free(block);
	stack_cache__free(cache);
}

static void test_rest(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	uint64_t before = shed_cnt();
	size_t one;

	take(cache, copy_of_us(7, 100, 50));
	stack_cache__unwind(cache);
	one = stack_cache__bytes(cache);
	take(cache, copy_of_us(9, 100, 0));
	take(cache, copy_of_us(9, 1000, 0));
	stack_cache__rest(cache, OTHERS_AGE_NS + 101);
	ok(stack_cache__bytes(cache) > 2 * one, "a copy of another thread is kept for a minute");
	stack_cache__rest(cache, OTHERS_AGE_NS + 1001);
	is_uint(stack_cache__bytes(cache), one, "those of a dispatch are kept");
	is_uint(shed_cnt() - before, 0, "which is no loss");
	stack_cache__free(cache);
}

/* Threads whose counters share a slot: it is not known whose stacks a block would have wanted. */
static void test_shed_together(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	uint64_t before = shed_cnt();

	take(cache, copy_of_us(7, 100, 50));
	take(cache, copy_of_us(7 + 256, 100, 50));
	crowd_out(cache, 9);
	is_uint(shed_cnt() - before, 1, "a replaced counter is counted");
	stack_cache__free(cache);
}

/* A block comes before anything of the thread's next dispatch. */
static void test_next_dispatch(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	struct block *block = block_with(7, 100);
	size_t one;

	take(cache, copy_of_us(7, 100, 50));
	one = stack_cache__bytes(cache);
	take(cache, copy_of_us(7, 101, 50));
	is_uint(stack_cache__bytes(cache), 2 * one, "two samples of a dispatch");
	take(cache, copy_of_us(8, 102, 60));
	is_uint(stack_cache__bytes(cache), 3 * one, "and one of another thread's");
	take(cache, copy_of_us(7, 200, 150));
	is_uint(stack_cache__bytes(cache), 2 * one,
		"the first dispatch's are freed when the next one's come");
	stack_cache__fill(cache, block);
	is_uint(block->samples[0].stack.end, STACK_END_UNKNOWN, "nothing is left of them");
	block__free(block);
	stack_cache__free(cache);
}

/* A handler whose nested turns are dispatches of their own. */
static void test_nested(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	struct block *block = block_with(7, 100);

	take(cache, copy_of_us(7, 100, 50 | JANK_COPY_NESTED));
	take(cache, copy_of_us(7, 120, 110));
	take(cache, copy_of_us(7, 140, 130));
	stack_cache__fill(cache, block);
	is_uint(block->samples[0].stack.addresses[1], (uintptr_t)copy_of_us,
		"a handler keeps its copy while its loop turns");
	block__free(block);
	stack_cache__free(cache);
}

static void test_script(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	struct block *block = block_with(7, 100);
	struct {
		struct jank_rec_script rec;
		struct jank_script_frame frames[2];
	} *script = calloc(1, sizeof(*script));

	script->rec.hdr = (struct jank_rec){
		.size = sizeof(*script), .kind = JANK_REC_SCRIPT, .tgid = getpid(), .tid = 7
	};
	script->rec.t_ns = 100;
	script->rec.frame_cnt = 2;
	script->frames[1] =
		(struct jank_script_frame){ .code = 11, .instr = 12, .flags = JANK_SCRIPT_ENTRY };
	is_int(stack_cache__take(cache, script, sizeof(*script)), 0,
	       "an interpreter's frames are taken");
	take(cache, copy_of_us(7, 100, 50));
	stack_cache__fill(cache, block);
	is_uint(block->samples[0].stack.script_cnt, 2,
		"and stand beside the copy's for the same sample");
	is_uint(block->samples[0].stack.script[1].code, 11, "unchanged");
	block__free(block);
	stack_cache__free(cache);
}

static void test_bad(void)
{
	struct stack_cache *cache = stack_cache__new(symbolizer, untraced, &maps, &losses);
	struct jank_rec_copy *rec = copy_of_us(7, 100, 50);

	rec->copy_sz = JANK_COPY_MAX + 1;
	is_int(take(cache, rec), -EBADMSG, "a contradictory record is refused");
	rec = copy_of_us(7, 100, 50);
	rec->hdr.kind = JANK_REC_LOOP;
	is_int(take(cache, rec), -EBADMSG, "one of another kind, too");
	stack_cache__on_exit(cache, getpid());
	stack_cache__free(cache);
	stack_cache__free(NULL);
}

int main(void)
{
	const struct symbolizer_opts opts = { .kallsyms = "" };
	struct err err = {};

	if (symbolizer__new(&opts, &symbolizer, &err))
		return 1;
	untraced = untraced_procs__new(symbolizer);
	test_join();
	test_together();
	test_others();
	test_scripts_of_links();
	test_better();
	test_bound();
	test_shed();
	test_shed_together();
	test_room_of_dispatches();
	test_rest();
	test_next_dispatch();
	test_nested();
	test_script();
	test_bad();
	untraced_procs__free(untraced);
	symbolizer__free(symbolizer);
	return tap__done();
}
