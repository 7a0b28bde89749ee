/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The chain: the thread that a dispatch waited for, the thread that this one waited for, as far as
 * the records say, and no further.
 */
#include "model/chain/chain.h"

#include <sys/syscall.h>

#include "tests/tap.h"
#include "tests/unit/chain_fixture.h"

/* `cnt` ticks over the interval, on a code path that ends at this caller. */
static void feed_ticks(struct loops *loops, uint32_t tid, uint64_t begin, uint64_t ns, unsigned cnt,
		       uint64_t caller)
{
	for (unsigned i = 0; i < cnt; i++) {
		struct fixture_stack rec =
			fixture__other(tid, begin + i * ns / cnt, 0, JANK_STATE_RUNNING);
		uint64_t addresses[] = { 0x401000 + i, caller, 0x403000 };

		memcpy(rec.tail + 2 * sizeof(uint64_t), addresses, sizeof(addresses));
		feed(loops, &rec);
	}
}

static void test_none(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	d = block_woken_by(loops, 0);
	ok(!d->chain.cnt && !d->chain.links, "a wait without a known waker: no chain");
	done(loops, d);
}

static void test_running(void)
{
	struct loops *loops = fresh();
	struct fixture_stack wake = fixture__wakes(21, MAIN, END, SYS_futex);
	const struct link *link;
	struct dispatch *d;

	feed_ticks(loops, 21, BEGIN, NS, 4, 0x402000);
	feed_ticks(loops, 21, BEGIN + 5, NS, 6, 0x402abc);
	wake.rec.prio = 122;
	feed(loops, &wake);
	feed_wait(loops, BEGIN, NS, 21);
	feed_wait(loops, 300 * MS, NS / 2, 31);
	d = block(loops);
	is_uint(d->chain.cnt, 1, "a waker that ran ends the chain");
	is_uint(d->chain.sample, 0, "the wait is the longest one");
	link = d->chain.links;
	ok(link->role == LINK_WOKE && link->task.pid == 20 && link->task.tid == 21,
	   "it woke the dispatch");
	is_str(link->task.comm, "other", "and has a name");
	ok(link->t_ns == BEGIN && link->ns == NS, "over the time of the wait");
	is_uint(link->part_ns[JANK_STATE_RUNNING], NS, "it ran");
	is_uint(link->state, JANK_STATE_RUNNING, "mostly");
	is_uint(link->stack.addresses[3], 0x402abc, "at the most frequent place");
	is_uint(link->wake_stack.user_cnt, 3, "its place at the wake-up is known, too");
	ok(link->syscall == -1 && !link->syscall_name && !link->waited, "outside of system calls");
	is_uint(link->prio, 0, "a priority that is reported later is not used");
	done(loops, d);
}

/* Only long spans are sent, and only those of watched threads. */
static void test_unseen(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	d = block_woken_by(loops, 21);
	is_uint(d->chain.cnt, 1, "a waker without records is a link");
	is_uint(d->chain.links[0].state, JANK_STATE_CNT, "without a state");
	is_uint(d->chain.links[0].part_ns[JANK_STATE_RUNNING], 0, "without running time");
	ok(!d->chain.links[0].stack.addresses && !d->chain.links[0].wake_stack.addresses,
	   "and without a place");
	done(loops, d);
}

/* A span in the middle of the wait, runnable for its last 5 ms. */
static struct fixture_stack sleep_within(void)
{
	struct fixture_stack ret = fixture__other(21, BEGIN + 10 * MS, 30 * MS, JANK_STATE_SLEEP);

	ret.rec.runnable_ns = 5 * MS;
	ret.rec.hdr.flags |= JANK_STACK_BEFORE;
	return ret;
}

static void test_parts(void)
{
	struct loops *loops = fresh();
	struct fixture_stack span = sleep_within();
	const struct link *link;
	struct dispatch *d;

	feed_other(loops, 21, BEGIN + 60 * MS, 20 * MS, JANK_STATE_DISK, 0);
	feed(loops, &span);
	feed_other(loops, 21, BEGIN - 5 * MS, 6 * MS, JANK_STATE_PIPE, 0);
	feed_other(loops, 21, END + MS, 20 * MS, JANK_STATE_DISK, 0);
	d = block_woken_by(loops, 21);
	link = d->chain.links;
	is_uint(link->part_ns[JANK_STATE_PIPE], MS,
		"a span that began before counts from the begin of the wait");
	is_uint(link->part_ns[JANK_STATE_SLEEP], 25 * MS, "a span until its wake-up");
	is_uint(link->part_ns[JANK_STATE_RUNNABLE], 5 * MS, "after that the thread is runnable");
	is_uint(link->part_ns[JANK_STATE_DISK], 20 * MS,
		"what comes after the wait does not count");
	is_uint(link->part_ns[JANK_STATE_RUNNING], 49 * MS, "between the spans it ran");
	done(loops, d);
}

/* A holder that a quota kept off the CPU: what ran meanwhile did not. */
static void test_throttled(void)
{
	struct fixture_stack span =
		fixture__other(21, BEGIN + 10 * MS, 60 * MS, JANK_STATE_RUNNABLE);
	struct loops *loops = fresh();
	const struct link *link;
	struct dispatch *d;

	span.rec.runnable_ns = span.rec.ns;
	span.rec.hdr.flags |= JANK_STACK_THROTTLED;
	fixture__slice(&span, 8, 50 * MS);
	feed(loops, &span);
	span = fixture__other(21, BEGIN + 75 * MS, 10 * MS, JANK_STATE_RUNNABLE);
	span.rec.runnable_ns = span.rec.ns;
	fixture__slice(&span, 9, 9 * MS);
	feed(loops, &span);
	d = block_woken_by(loops, 21);
	link = d->chain.links;
	is_uint(link->part_ns[JANK_STATE_RUNNABLE], 70 * MS, "two waits for a CPU");
	is_uint(link->throttled_ns, 60 * MS, "of one the reason is a quota");
	ok(link->preemptor_cnt == 1 && link->preemptors[0].tid == 9,
	   "only what ran during the other one took the CPU");
	done(loops, d);
}

/* The begin of the wait was not watched; from the first span on it was. */
static void test_begin_unseen(void)
{
	struct loops *loops = fresh();
	struct fixture_stack span = sleep_within();
	const struct link *link;
	struct dispatch *d;

	feed(loops, &span);
	d = block_woken_by(loops, 21);
	link = d->chain.links;
	is_uint(link->part_ns[JANK_STATE_RUNNING], 60 * MS,
		"before the first span nothing is known, afterwards all is");
	is_uint(link->state, JANK_STATE_RUNNING, "which may be the larger part");
	ok(!link->stack.addresses, "without a tick the place is unknown");
	done(loops, d);
}

static struct fixture_stack timed(uint64_t begin, uint64_t ns, uint32_t state, uint64_t ran_ns,
				  uint64_t delay_ns)
{
	struct fixture_stack ret = fixture__other(21, begin, ns, state);

	ret.rec.waker.ns = 1000 * MS + ran_ns;
	ret.rec.delay_ns = 500 * MS + delay_ns;
	return ret;
}

/* The thread's times say what it did between two records. */
static void test_times(void)
{
	struct fixture_stack first = timed(BEGIN, 10 * MS, JANK_STATE_SLEEP, 0, 0);
	struct fixture_stack second =
		timed(BEGIN + 40 * MS, 20 * MS, JANK_STATE_DISK, 6 * MS, 3 * MS);
	struct fixture_stack third =
		timed(BEGIN + 80 * MS, 2 * MS, JANK_STATE_PIPE, 7 * MS, 4 * MS);
	struct fixture_stack wake = fixture__wakes(21, MAIN, END, SYS_futex);
	struct loops *loops = fresh();
	const uint64_t *part_ns;
	struct dispatch *d;

	wake.rec.waker.ns = 1020 * MS;
	wake.rec.delay_ns = 504 * MS;
	feed(loops, &first);
	feed(loops, &second);
	feed(loops, &third);
	feed(loops, &wake);
	d = block_woken_by(loops, 21);
	part_ns = d->chain.links[0].part_ns;
	is_uint(part_ns[JANK_STATE_SLEEP], 10 * MS, "its first wait");
	is_uint(part_ns[JANK_STATE_DISK], 20 * MS,
		"nothing tells what it waited for before a long wait");
	is_uint(part_ns[JANK_STATE_PIPE], 20 * MS, "before a short one it had others of this kind");
	is_uint(part_ns[JANK_STATE_RUNNABLE], 4 * MS, "it waited for a CPU");
	is_uint(part_ns[JANK_STATE_RUNNING], 20 * MS, "and ran, until it ended the wait");
	done(loops, d);
}

/* Without a record at the end, what followed the last one is not known. */
static void test_times_end(void)
{
	struct fixture_stack first = timed(BEGIN, 10 * MS, JANK_STATE_SLEEP, 0, 0);
	struct fixture_stack later = timed(END + 50 * MS, 10 * MS, JANK_STATE_SLEEP, 28 * MS, 0);
	struct loops *loops = fresh();
	struct dispatch *d;

	feed(loops, &first);
	d = block_woken_by(loops, 21);
	is_uint(d->chain.links[0].part_ns[JANK_STATE_RUNNING], 0, "no time after the last record");
	done(loops, d);
	loops = fresh();
	feed(loops, &first);
	feed(loops, &later);
	d = block_woken_by(loops, 21);
	is_uint(d->chain.links[0].part_ns[JANK_STATE_RUNNING], 18 * MS,
		"of a time that goes on after the wait its share");
	done(loops, d);
}

/* A wait that was sent, and lost: it is not known, and the thread did not run. */
static void test_times_lost(void)
{
	struct fixture_stack first = timed(BEGIN, MS, JANK_STATE_SLEEP, 0, 0);
	struct fixture_stack wake = fixture__wakes(21, MAIN, END, SYS_futex);
	struct loops *loops = fresh();
	uint64_t sum = 0;
	struct dispatch *d;

	wake.rec.waker.ns = 1001 * MS;
	wake.rec.delay_ns = 500 * MS;
	feed(loops, &first);
	feed(loops, &wake);
	d = block_woken_by(loops, 21);
	for (int i = 0; i < JANK_STATE_CNT; i++)
		sum += d->chain.links[0].part_ns[i];
	is_uint(sum, 2 * MS, "a lost wait is not known");
	done(loops, d);
}

/* Contradictory records do not make the sum larger than the time. */
static void test_overlap(void)
{
	struct loops *loops = fresh();
	uint64_t sum = 0;
	struct dispatch *d;

	feed_other(loops, 21, BEGIN, 80 * MS, JANK_STATE_SLEEP, 0);
	feed_other(loops, 21, BEGIN + MS, 90 * MS, JANK_STATE_DISK, 0);
	feed_other(loops, 21, 0, UINT64_MAX / 2, JANK_STATE_PIPE, 0);
	feed_other(loops, 21, BEGIN + 5 * MS, UINT64_MAX / 2, JANK_STATE_POLL, 0);
	d = block_woken_by(loops, 21);
	for (int i = 0; i < JANK_STATE_CNT; i++)
		sum += d->chain.links[0].part_ns[i];
	is_uint(sum, NS, "overlapping spans count once");
	done(loops, d);
}

static void test_three(void)
{
	struct loops *loops = fresh();
	struct fixture_stack wake = fixture__wakes(31, 21, BEGIN + 90 * MS, SYS_write);
	const struct link *links;
	struct dispatch *d;

	feed_other(loops, 31, BEGIN + 10 * MS, 75 * MS, JANK_STATE_DISK, 0);
	feed(loops, &wake);
	feed_mutex(loops, 21, 0, BEGIN + 5 * MS, 0, 0x7000);
	feed_other(loops, 21, BEGIN + 5 * MS, 85 * MS, JANK_STATE_PIPE, 31);
	d = block_woken_by(loops, 21);
	is_uint(d->chain.cnt, 2, "main waits for a thread that waits for another one's disk");
	links = d->chain.links;
	ok(links[0].state == JANK_STATE_PIPE && links[0].part_ns[JANK_STATE_PIPE] == 85 * MS,
	   "the first waited for a pipe");
	ok(links[0].waited && links[0].waited->raw.args[0] == 0x7000,
	   "and what it waited for is known");
	is_uint(links[0].stack.addresses[4], 0x403000, "and where");
	ok(links[1].task.tid == 31 && links[1].task.pid == 30, "the second is in another process");
	ok(links[1].t_ns == BEGIN + 5 * MS && links[1].ns == 85 * MS,
	   "its account is of the time in which the first waited for it");
	ok(links[1].state == JANK_STATE_DISK && links[1].part_ns[JANK_STATE_DISK] == 75 * MS,
	   "it waited for the disk");
	is_str(links[1].syscall_name, "nanosleep", "its system call is the span's");
	is_uint(links[1].wake_stack.kernel_cnt, 2,
		"its place at the wake-up of the first is known");
	done(loops, d);
}

/* Threads 21, 31, 41 …: each waits for the next, and the last for the disk. */
static struct dispatch *row_of(struct loops *loops, unsigned cnt)
{
	for (unsigned i = 1; i <= cnt; i++)
		feed_other(loops, 11 + 10 * i, BEGIN + i * MS, NS - 2 * i * MS,
			   i < cnt ? JANK_STATE_SOCKET : JANK_STATE_DISK,
			   i < cnt ? 21 + 10 * i : 0);
	return block_woken_by(loops, 21);
}

static void test_long(void)
{
	struct loops *loops = fresh();
	struct dispatch *d = row_of(loops, 3);

	is_uint(d->chain.cnt, 3, "a chain of three has three links");
	is_uint(d->chain.links[2].state, JANK_STATE_DISK, "the last one waited for the disk");
	done(loops, d);
	loops = fresh();
	d = row_of(loops, 9);
	is_uint(d->chain.cnt, CHAIN_MAX, "one of nine is cut at %d", CHAIN_MAX);
	is_uint(d->chain.links[7].state, JANK_STATE_SOCKET, "the last one's wait stays open");
	done(loops, d);
}

static void test_cycle(void)
{
	static const struct {
		const char *what;
		struct {
			uint32_t tid, waker;
		} others[2];
		uint32_t waker;
		size_t links;
	} rows[] = {
		{ "two that woke each other are two links", { { 21, 31 }, { 31, 21 } }, 21, 2 },
		{ "the dispatch's own thread is no link", { { 21, MAIN } }, 21, 1 },
		{ "even if it woke itself", { { 0, 0 } }, MAIN, 0 },
		{ "nor is a thread a link after itself", { { 21, 21 } }, 21, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct loops *loops = fresh();
		struct dispatch *d;

		for (size_t j = 0; j < 2 && rows[i].others[j].tid; j++)
			feed_other(loops, rows[i].others[j].tid, BEGIN, NS, JANK_STATE_FUTEX,
				   rows[i].others[j].waker);
		d = block_woken_by(loops, rows[i].waker);
		is_uint(d->chain.cnt, rows[i].links, "%s", rows[i].what);
		done(loops, d);
	}
}

/* A link's chain goes on only if waiting took most of its time. */
static void test_most(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_other(loops, 21, BEGIN, 10 * MS, JANK_STATE_DISK, 0);
	feed_other(loops, 21, BEGIN + 30 * MS, 60 * MS, JANK_STATE_PIPE, 31);
	feed_other(loops, 31, BEGIN + 31 * MS, 20 * MS, JANK_STATE_SOCKET, 21);
	feed_other(loops, 31, BEGIN + 60 * MS, 5 * MS, JANK_STATE_DISK, 0);
	d = block_woken_by(loops, 21);
	is_uint(d->chain.cnt, 2, "a link that mostly ran is the last");
	is_uint(d->chain.links[1].part_ns[JANK_STATE_SOCKET], 20 * MS, "although it waited, too");
	done(loops, d);
}

/* A sleeping thread wakes nobody. */
static void test_again(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_other(loops, 21, BEGIN + 30 * MS, 60 * MS, JANK_STATE_PIPE, 31);
	feed_other(loops, 31, BEGIN + 31 * MS, 50 * MS, JANK_STATE_SOCKET, 21);
	d = block_woken_by(loops, 21);
	is_uint(d->chain.cnt, 2, "no thread comes twice, even for less time");
	is_uint(d->chain.links[1].task.tid, 31, "even if the first would wake its own waker");
	done(loops, d);
}

static void test_reused(void)
{
	struct loops *loops = fresh();
	struct fixture_stack other = fixture__other(21, BEGIN, NS, JANK_STATE_DISK);
	struct dispatch *d;

	other.rec.hdr.tgid = 77;
	feed(loops, &other);
	d = block_woken_by(loops, 21);
	is_uint(d->chain.links[0].state, JANK_STATE_CNT,
		"a thread of that number in another process is another thread");
	done(loops, d);
}

/* The thread that we waited for has its own loop, which is traced. */
static void test_traced(void)
{
	struct loops *loops = fresh();
	struct fixture_stack span = fixture__stack(21, 900, BEGIN + MS, 80 * MS);
	struct jank_rec_waited waited = fixture__waited(21, 900, BEGIN + MS, 0);
	struct dispatch *d;

	fixture__woken_by(&span, 31);
	span.rec.state = JANK_STATE_SOCKET;
	feed(loops, &waited);
	feed(loops, &span);
	d = block_woken_by(loops, 21);
	is_uint(d->chain.cnt, 2, "a traced thread's records make a link, too");
	ok(d->chain.links[0].state == JANK_STATE_SOCKET && d->chain.links[0].waited,
	   "with what it waited for");
	dispatch__free(d);
	d = complete(loops, fixture__block(21, 900, 500 * MS));
	ok(d->evidence.sample_cnt == 1 && d->evidence.samples[0].waited,
	   "and its own dispatch keeps them");
	done(loops, d);
}

static void test_preempted(void)
{
	static const uint16_t prios[] = { 51, 122 };
	struct loops *loops = fresh();
	struct fixture_stack span = fixture__other(21, BEGIN + MS, 90 * MS, JANK_STATE_RUNNABLE);
	const struct link *link;
	struct dispatch *d;

	span.rec.runnable_ns = span.rec.ns;
	span.rec.prio = 140;
	fixture__slice(&span, 71, 5);
	fixture__slice(&span, 72, 60);
	fixture__prios(&span, prios);
	feed(loops, &span);
	span.rec.t_ns = END + MS;
	feed(loops, &span);
	d = block_woken_by(loops, 21);
	link = d->chain.links;
	ok(link->state == JANK_STATE_RUNNABLE && d->chain.cnt == 1, "a link may wait for a CPU");
	is_uint(link->prio, 140, "its priority is there");
	ok(link->preemptor_cnt == 2 && link->preemptors[0].tid == 72 &&
		   link->preemptors[0].ns == 60 && link->preemptors[1].prio == 51,
	   "and the preemptor over that time");
	is_uint(link->stack.user_cnt, 3, "and its place");
	done(loops, d);
}

int main(void)
{
	test_none();
	test_running();
	test_unseen();
	test_parts();
	test_throttled();
	test_begin_unseen();
	test_times();
	test_times_end();
	test_times_lost();
	test_overlap();
	test_three();
	test_long();
	test_cycle();
	test_most();
	test_again();
	test_reused();
	test_traced();
	test_preempted();
	return tap__done();
}
