/* SPDX-License-Identifier: GPL-2.0 */
/* Records from the ring are accepted only if sizes, counts and sums are valid. */
#include "intake/records.h"

#include <errno.h>

#include "tests/tap.h"
#include "tests/unit/model_fixture.h"

/* Decodes a copy of exactly len bytes. */
static int decode(const void *rec, size_t len, struct event *ret)
{
	void *exact = fixture__exact(rec, len);
	int res = decode__record(exact, len, ret);

	free(exact);
	return res;
}

/* One valid record of each kind. */
static const struct {
	uint16_t kind;
	size_t size;
	const char *name;
} kinds[] = {
#define X_KIND(nr, NAME, type, key) { JANK_REC_##NAME, sizeof(type), key },
	JANK_RECORDS(X_KIND)
};
#define KIND_CNT (sizeof(kinds) / sizeof(kinds[0]))

static void *sound(uint16_t kind, size_t size)
{
	struct jank_rec *rec = calloc(1, size);

	*rec = fixture__hdr(kind, size, 11);
	return rec;
}

static void test_kinds(void)
{
	for (size_t i = 0; i < KIND_CNT; i++) {
		struct jank_rec *rec = sound(kinds[i].kind, kinds[i].size);
		struct event event;
		int bad = 0;

		is_int(decode(rec, rec->size, &event), 0, "a %s record is decoded", kinds[i].name);
		ok(event.kind == kinds[i].kind && event.hdr.tid == 11, "with kind and thread");
		is_str(record__name(kinds[i].kind), kinds[i].name, "and name");
		for (size_t len = 0; len < rec->size; len++)
			bad += decode(rec, len, &event) != -EBADMSG;
		is_int(bad, 0, "cut short anywhere, a %s record is bad", kinds[i].name);
		rec->size = sizeof(*rec);
		is_int(decode(rec, kinds[i].size, &event), -EBADMSG,
		       "so is one with too small a size");
		free(rec);
	}
}

static void test_sizes(void)
{
	struct jank_rec_exec rec = { .hdr = fixture__hdr(JANK_REC_EXEC, sizeof(rec), 11) };
	char more[sizeof(rec) + 8] = { 0 };
	struct event event;

	memcpy(more, &rec, sizeof(rec));
	is_int(decode(more, sizeof(more), &event), 0, "what follows a record is ignored");
	((struct jank_rec *)more)->size = sizeof(more);
	is_int(decode(more, sizeof(more), &event), -EBADMSG, "a fixed record has its exact size");
	rec.hdr.size = UINT32_MAX;
	is_int(decode(&rec, sizeof(rec), &event), -EBADMSG, "a size beyond the buffer is bad");
	rec.hdr.size = 0;
	is_int(decode(&rec, sizeof(rec), &event), -EBADMSG, "so is a size of 0");
}

static void test_unknown(void)
{
	static const uint16_t unknown[] = { 0, 5, 17, 1000, 0x8001, UINT16_MAX };

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct jank_rec rec = fixture__hdr(unknown[i], sizeof(rec), 11);
		struct event event;

		is_int(decode(&rec, sizeof(rec), &event), -ENOTSUP, "kind %u is not known",
		       unknown[i]);
		is_str(record__name(unknown[i]), "unknown", "and has no name");
	}
}

/* Names from the kernel need not be terminated. */
static void test_comm(void)
{
	struct jank_rec_block rec = fixture__block(11, 1, 100);
	struct event event;

	memset(rec.comm, 'x', sizeof(rec.comm));
	is_int(decode(&rec, sizeof(rec), &event), 0, "a name of %d letters is accepted",
	       JANK_COMM_SZ);
	is_str(event.block.comm, "xxxxxxxxxxxxxxx", "and ends in a NUL");
}

static void test_account(void)
{
	struct jank_rec_block rec = fixture__block(11, 1, 100);
	struct event event;

	rec.state_ns[JANK_STATE_POLL] = 1;
	is_int(decode(&rec, sizeof(rec), &event), -EBADMSG, "an account above the duration is bad");
	rec.state_ns[JANK_STATE_RUNNING] = 98;
	is_int(decode(&rec, sizeof(rec), &event), -EBADMSG, "one below it, too");
	rec.state_ns[JANK_STATE_RUNNING] = 99;
	is_int(decode(&rec, sizeof(rec), &event), 0, "one that sums to it is good");
	rec.state_ns[JANK_STATE_FUTEX] = 1ull << 63;
	rec.state_ns[JANK_STATE_PIPE] = 1ull << 63;
	is_int(decode(&rec, sizeof(rec), &event), -EBADMSG, "one that overflows to it is bad");
	rec = fixture__block(11, 1, 100);
	rec.state = JANK_STATE_CNT;
	is_int(decode(&rec, sizeof(rec), &event), -EBADMSG, "an invalid state is bad");
	rec = fixture__block(11, UINT64_MAX - 50, 100);
	is_int(decode(&rec, sizeof(rec), &event), -EBADMSG,
	       "a dispatch that ends after the last possible time is bad");
}

/* Journals contain records from before fields were added. */
static void test_old(void)
{
	struct jank_rec_block block = fixture__block(11, 500, 100);
	struct jank_rec_thread thread = fixture__thread(11, 7, 2);
	struct event event;

	block.start_delay_ns = 500;
	is_int(decode(&block, sizeof(block), &event), 0,
	       "a dispatch that was due at the clock's zero");
	is_uint(event.block.start_delay_ns, 500, "has its start delay");
	block.start_delay_ns = 501;
	is_int(decode(&block, sizeof(block), &event), -EBADMSG,
	       "a dispatch that was due before it: bad");
	block.hdr.size = JANK_BLOCK_SZ_OLD;
	is_int(decode(&block, JANK_BLOCK_SZ_OLD, &event), 0, "a block without a start delay");
	ok(event.block.start_delay_ns == JANK_START_DELAY_UNKNOWN && event.block.duration_ns == 100,
	   "has an unknown one");
	thread.starts.max_ns = 9;
	is_int(decode(&thread, sizeof(thread), &event), 0, "a record with both histograms");
	is_uint(event.thread.starts.max_ns, 9, "has both");
	thread.hdr.size = JANK_THREAD_SZ_OLD;
	is_int(decode(&thread, JANK_THREAD_SZ_OLD, &event), 0, "a record with one");
	ok(!event.thread.starts.max_ns && event.thread.dispatch_cnt == 7,
	   "has an empty second one");
}

static void test_stack(void)
{
	struct fixture_stack stack = fixture__stack(11, 5, 7, 9);
	void *exact;
	struct event event;

	fixture__slice(&stack, 77, 5);
	exact = fixture__exact(&stack, stack.rec.hdr.size);
	is_int(decode__record(exact, stack.rec.hdr.size, &event), 0, "a stack with its tails");
	is_uint(event.stack.addresses[0], 0xffffffff81000000, "addresses come first");
	is_uint(event.stack.addresses[4], 0x403000, "all of them");
	is_uint(event.stack.slices[0].tid, 77, "then the slices");
	is_uint(event.stack.slices[0].ns, 5, "with their time");
	free(exact);
}

static void test_stack_counts(void)
{
	static const struct {
		const char *what;
		uint16_t kernel, user, slices;
		uint32_t state, extra;
	} rows[] = {
		{ "more addresses than bytes", 2, 4, 0, 0, 0 },
		{ "fewer addresses than bytes", 2, 2, 0, 0, 0 },
		{ "one slice more than the bytes", 2, 3, 1, 0, 0 },
		{ "too many kernel frames", JANK_KSTACK_MAX + 1, 0, 0, 0, JANK_KSTACK_MAX - 4 },
		{ "too many user frames", 0, JANK_USTACK_MAX + 1, 0, 0, JANK_USTACK_MAX - 4 },
		{ "too many slices", 2, 3, JANK_SLICE_MAX + 1, 0, (JANK_SLICE_MAX + 1) * 4 },
		{ "counts that add up to 2^16", UINT16_MAX, 6, 0, 0, 0 },
		{ "an invalid state", 2, 3, 0, JANK_STATE_CNT, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture_stack stack[2] = { fixture__stack(11, 5, 7, 9) };
		struct event event;

		stack[0].rec.kernel_cnt = rows[i].kernel;
		stack[0].rec.user_cnt = rows[i].user;
		stack[0].rec.slice_cnt = rows[i].slices;
		stack[0].rec.state = rows[i].state;
		stack[0].rec.hdr.size += rows[i].extra * 8;
		is_int(decode(stack, stack[0].rec.hdr.size, &event), -EBADMSG, "%s: bad",
		       rows[i].what);
	}
}

static void test_prios(void)
{
	static const uint16_t prios[] = { 51, 122, 140 };
	struct fixture_stack stack = fixture__stack(11, 5, 7, 9);
	struct event event;
	void *exact;

	for (int i = 0; i < 3; i++)
		fixture__slice(&stack, 77, 5);
	is_int(decode(&stack, stack.rec.hdr.size, &event), 0, "slices need no priorities");
	ok(!event.stack.prios, "then they are unknown");
	fixture__prios(&stack, prios);
	exact = fixture__exact(&stack, stack.rec.hdr.size);
	is_int(decode__record(exact, stack.rec.hdr.size, &event), 0, "with priorities");
	ok(event.stack.prios[0] == 51 && event.stack.prios[2] == 140 &&
		   event.stack.slices[2].tid == 77,
	   "they follow the slices");
	free(exact);
	stack.rec.hdr.size -= 8;
	is_int(decode(&stack, stack.rec.hdr.size, &event), -EBADMSG, "missing priorities: bad");
	stack.rec.hdr.size += 16;
	is_int(decode(&stack, stack.rec.hdr.size, &event), -EBADMSG, "more of them: bad");
	stack.rec.hdr.size -= 8;
	stack.rec.hdr.flags = 0;
	is_int(decode(&stack, stack.rec.hdr.size, &event), -EBADMSG, "unannounced ones: bad");
}

static int decode_other(uint16_t kind, uint16_t flags, uint64_t dispatch_ns, uint64_t ns)
{
	struct fixture_stack stack = fixture__other(21, 7, ns, JANK_STATE_SLEEP);
	struct event event;

	stack.rec.hdr.kind = kind;
	stack.rec.hdr.flags = flags;
	stack.rec.dispatch_ns = dispatch_ns;
	return decode(&stack, stack.rec.hdr.size, &event);
}

static void test_other(void)
{
	is_int(decode_other(JANK_REC_OTHER, JANK_STACK_WAKER, 0, 9), 0, "another thread's span");
	is_int(decode_other(JANK_REC_OTHER, JANK_STACK_WAKES, 0, 0), 0,
	       "a wake-up by another thread");
	is_int(decode_other(JANK_REC_OTHER, JANK_STACK_BEFORE, 0, 9), 0,
	       "a span that began unobserved");
	is_int(decode_other(JANK_REC_OTHER, 0, 5, 9), 0, "a span after 5 ns of waiting for CPUs");
	is_int(decode_other(JANK_REC_OTHER, JANK_STACK_WAKES, 0, 9), -EBADMSG,
	       "a sleeping waker: bad");
	is_int(decode_other(JANK_REC_OTHER, JANK_STACK_WAKES | JANK_STACK_WAKER, 0, 0), -EBADMSG,
	       "a waker with its own waker: bad");
	is_int(decode_other(JANK_REC_STACK, JANK_STACK_WAKES, 5, 0), -EBADMSG,
	       "a dispatch's stack with a wake-up: bad");
	is_int(decode_other(JANK_REC_STACK, JANK_STACK_START, 5, 9), -EBADMSG,
	       "a sleep before a dispatch: bad");
	is_int(decode_other(JANK_REC_STACK, 0, 5, UINT64_MAX - 7), 0,
	       "a span until the last possible time");
	is_int(decode_other(JANK_REC_STACK, 0, 5, UINT64_MAX - 6), -EBADMSG, "not beyond");
}

static void test_waited(void)
{
	struct jank_rec_waited rec = fixture__waited(11, 5, 7, 70);
	struct event event;

	memset(rec.name, 'x', sizeof(rec.name));
	memset(rec.comm, 'y', sizeof(rec.comm));
	is_int(decode(&rec, sizeof(rec), &event), 0, "what was waited for");
	is_uint(strlen(event.waited.name), JANK_WAITED_NAME_SZ - 1, "has a name that ends");
	is_uint(strlen(event.waited.comm), JANK_COMM_SZ - 1, "and a thread's, too");
}

static void test_largest_stack(void)
{
	struct fixture_stack stack = fixture__stack(11, 5, 7, 9);
	struct event event;

	stack.rec.kernel_cnt = JANK_KSTACK_MAX;
	stack.rec.user_cnt = JANK_USTACK_MAX;
	stack.rec.slice_cnt = JANK_SLICE_MAX;
	stack.rec.hdr.flags = JANK_STACK_PRIOS;
	stack.rec.hdr.size = sizeof(stack.rec) + sizeof(stack.tail);
	is_int(decode(&stack, stack.rec.hdr.size, &event), 0, "the longest stack is accepted");
}

int main(void)
{
	test_kinds();
	test_sizes();
	test_unknown();
	test_comm();
	test_account();
	test_old();
	test_stack();
	test_stack_counts();
	test_prios();
	test_other();
	test_waited();
	test_largest_stack();
	return tap__done();
}
