/* SPDX-License-Identifier: GPL-2.0 */
/* For whom a dispatch waited, and for whom that one did: as far as the records tell, and no further. */
#include "model/chain.h"

#include <sys/syscall.h>

#include "model/judge.h"
#include "tests/model_fixture.h"
#include "tests/tap.h"

#define MAIN  11
#define START 1000
#define BEGIN (10 * MS) /* of the wait that is explained */
#define NS    (100 * MS)
#define END   (BEGIN + NS)

static struct losses losses;

static struct loops *fresh(void)
{
	losses = (struct losses){ 0 };
	return loops__new(&losses);
}

static void feed(struct loops *loops, const void *rec)
{
	struct dispatch *dispatch;

	if (fixture__feed(loops, rec, &dispatch) || dispatch)
		ok(false, "a record that completes nothing completed something, or was refused");
	dispatch__free(dispatch);
}

/* A wait of the dispatch, as a futex's; not fed yet. */
static struct fixture_stack wait_of_main(uint64_t begin, uint64_t ns, uint32_t waker)
{
	struct fixture_stack ret = fixture__stack(MAIN, START, begin, ns);

	ret.rec.state = JANK_STATE_FUTEX;
	ret.rec.hdr.ts_ns = begin + ns;
	if (waker)
		fixture__woken_by(&ret, waker);
	return ret;
}

static void feed_wait(struct loops *loops, uint64_t begin, uint64_t ns, uint32_t waker)
{
	struct fixture_stack rec = wait_of_main(begin, ns, waker);

	feed(loops, &rec);
}

/* What another thread did; waker 0: none is known. */
static void feed_other(struct loops *loops, uint32_t tid, uint64_t begin, uint64_t ns,
		       uint32_t state, uint32_t waker)
{
	struct fixture_stack rec = fixture__other(tid, begin, ns, state);

	if (waker)
		fixture__woken_by(&rec, waker);
	feed(loops, &rec);
}

/* `cnt` ticks over the interval, on a path through the code that ends at this caller. */
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

static void feed_mutex(struct loops *loops, uint32_t tid, uint64_t dispatch_ns, uint64_t t_ns,
		       uint32_t owner, uint64_t address)
{
	struct jank_rec_waited rec = fixture__waited(tid, dispatch_ns, t_ns, owner);

	rec.hdr.flags |= JANK_WAITED_ARGS;
	rec.args[0] = address;
	rec.args[1] = 128;
	rec.args[2] = 2;
	feed(loops, &rec);
}

static struct dispatch *complete(struct loops *loops, struct jank_rec_block rec)
{
	struct dispatch *dispatch;

	is_int(fixture__feed(loops, &rec, &dispatch), 0, "the dispatch is complete");
	return dispatch;
}

static struct dispatch *block(struct loops *loops)
{
	return complete(loops, fixture__block(MAIN, START, 500 * MS));
}

static void done(struct loops *loops, struct dispatch *dispatch)
{
	dispatch__free(dispatch);
	loops__free(loops);
}

static void test_none(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_wait(loops, BEGIN, NS, 0);
	d = block(loops);
	ok(!d->chain.cnt && !d->chain.links, "a wait that nobody is known to have ended: no chain");
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
	is_uint(d->chain.sample, 0, "of the longest wait");
	link = d->chain.links;
	ok(link->role == LINK_WOKE && link->task.pid == 20 && link->task.tid == 21, "it woke");
	is_str(link->task.comm, "other", "and has a name");
	ok(link->t_ns == BEGIN && link->ns == NS, "over the time that was waited for it");
	is_uint(link->part_ns[JANK_STATE_RUNNING], NS, "it ran");
	is_uint(link->state, JANK_STATE_RUNNING, "mostly");
	is_uint(link->stack.addresses[3], 0x402abc, "at the place that was seen most often");
	is_uint(link->wake_stack.user_cnt, 3, "where it was as it woke is known, too");
	ok(link->syscall == -1 && !link->syscall_name && !link->waited, "outside of system calls");
	is_uint(link->prio, 0, "a priority that was told later is not taken");
	done(loops, d);
}

/* Only long spans are sent, and only of threads that are watched. */
static void test_unseen(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	is_uint(d->chain.cnt, 1, "a waker of which nothing is known is a link");
	is_uint(d->chain.links[0].state, JANK_STATE_CNT, "without a state");
	is_uint(d->chain.links[0].part_ns[JANK_STATE_RUNNING], 0, "that it ran isn't said");
	ok(!d->chain.links[0].stack.addresses && !d->chain.links[0].wake_stack.addresses,
	   "nor where");
	done(loops, d);
}

/* The wait's begin was not watched; from the first span on, all of it was. */
static void test_parts(void)
{
	struct loops *loops = fresh();
	struct fixture_stack span = fixture__other(21, BEGIN + 10 * MS, 30 * MS, JANK_STATE_SLEEP);
	const struct link *link;
	struct dispatch *d;

	span.rec.runnable_ns = 5 * MS;
	span.rec.hdr.flags |= JANK_STACK_BEFORE;
	feed_other(loops, 21, BEGIN + 60 * MS, 20 * MS, JANK_STATE_DISK, 0);
	feed(loops, &span);
	feed_other(loops, 21, BEGIN - 5 * MS, 6 * MS, JANK_STATE_PIPE, 0);
	feed_other(loops, 21, END + MS, 20 * MS, JANK_STATE_DISK, 0);
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	link = d->chain.links;
	is_uint(link->part_ns[JANK_STATE_PIPE], MS,
		"a span that began before counts from the begin");
	is_uint(link->part_ns[JANK_STATE_SLEEP], 25 * MS, "a span until its wake-up");
	is_uint(link->part_ns[JANK_STATE_RUNNABLE], 5 * MS, "from there on it is runnable");
	is_uint(link->part_ns[JANK_STATE_DISK], 20 * MS, "what came after the wait isn't counted");
	is_uint(link->part_ns[JANK_STATE_RUNNING], 49 * MS, "in between it ran");
	done(loops, d);
	loops = fresh();
	feed(loops, &span);
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	link = d->chain.links;
	is_uint(link->part_ns[JANK_STATE_RUNNING], 60 * MS,
		"before the first span nothing is known, but after it");
	is_uint(link->state, JANK_STATE_RUNNING, "which may be most");
	ok(!link->stack.addresses, "without a tick nobody knows where");
	done(loops, d);
}

/* Records that contradict each other don't make the sum larger than the time. */
static void test_overlap(void)
{
	struct loops *loops = fresh();
	uint64_t sum = 0;
	struct dispatch *d;

	feed_other(loops, 21, BEGIN, 80 * MS, JANK_STATE_SLEEP, 0);
	feed_other(loops, 21, BEGIN + MS, 90 * MS, JANK_STATE_DISK, 0);
	feed_other(loops, 21, 0, UINT64_MAX / 2, JANK_STATE_PIPE, 0);
	feed_other(loops, 21, BEGIN + 5 * MS, UINT64_MAX / 2, JANK_STATE_POLL, 0);
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
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
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	is_uint(d->chain.cnt, 2, "main waits for a thread that waits for another's disk");
	links = d->chain.links;
	ok(links[0].state == JANK_STATE_PIPE && links[0].part_ns[JANK_STATE_PIPE] == 85 * MS,
	   "the first waited for a pipe");
	ok(links[0].waited && links[0].waited->raw.args[0] == 0x7000, "of which is known what");
	is_uint(links[0].stack.addresses[4], 0x403000, "and where");
	ok(links[1].task.tid == 31 && links[1].task.pid == 30, "the second is in another process");
	ok(links[1].t_ns == BEGIN + 5 * MS && links[1].ns == 85 * MS,
	   "looked at while the first waited for it");
	ok(links[1].state == JANK_STATE_DISK && links[1].part_ns[JANK_STATE_DISK] == 75 * MS,
	   "it waited for the disk");
	is_str(links[1].syscall_name, "nanosleep", "its system call is the span's");
	is_uint(links[1].wake_stack.kernel_cnt, 2, "where it woke the first is known");
	done(loops, d);
}

/* Threads 21, 31, 41 … each waiting for the next, and the last for the disk. */
static struct dispatch *row_of(struct loops *loops, unsigned cnt)
{
	for (unsigned i = 1; i <= cnt; i++)
		feed_other(loops, 11 + 10 * i, BEGIN + i * MS, NS - 2 * i * MS,
			   i < cnt ? JANK_STATE_SOCKET : JANK_STATE_DISK,
			   i < cnt ? 21 + 10 * i : 0);
	feed_wait(loops, BEGIN, NS, 21);
	return block(loops);
}

static void test_long(void)
{
	struct loops *loops = fresh();
	struct dispatch *d = row_of(loops, 3);

	is_uint(d->chain.cnt, 3, "a chain of three has three links");
	is_uint(d->chain.links[2].state, JANK_STATE_DISK, "the last to blame the disk");
	done(loops, d);
	loops = fresh();
	d = row_of(loops, 9);
	is_uint(d->chain.cnt, LINK_MAX, "one of nine is cut at %d", LINK_MAX);
	is_uint(d->chain.links[7].state, JANK_STATE_SOCKET, "the last one's wait stays open");
	done(loops, d);
}

static void test_cycle(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_other(loops, 21, BEGIN, NS, JANK_STATE_FUTEX, 31);
	feed_other(loops, 31, BEGIN, NS, JANK_STATE_FUTEX, 21);
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	is_uint(d->chain.cnt, 2, "two that woke each other are two links");
	done(loops, d);
	loops = fresh();
	feed_other(loops, 21, BEGIN, NS, JANK_STATE_FUTEX, MAIN);
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	is_uint(d->chain.cnt, 1, "the dispatch's own thread is no link");
	done(loops, d);
	loops = fresh();
	feed_wait(loops, BEGIN, NS, MAIN);
	d = block(loops);
	is_uint(d->chain.cnt, 0, "even where it woke itself");
	done(loops, d);
	loops = fresh();
	feed_other(loops, 21, BEGIN, NS, JANK_STATE_FUTEX, 21);
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	is_uint(d->chain.cnt, 1, "nor is one for itself");
	done(loops, d);
}

/* What took most of a link's time decides; and who sleeps wakes nobody. */
static void test_again(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_other(loops, 21, BEGIN, 10 * MS, JANK_STATE_DISK, 0);
	feed_other(loops, 21, BEGIN + 30 * MS, 60 * MS, JANK_STATE_PIPE, 31);
	feed_other(loops, 31, BEGIN + 31 * MS, 20 * MS, JANK_STATE_SOCKET, 21);
	feed_other(loops, 31, BEGIN + 60 * MS, 5 * MS, JANK_STATE_DISK, 0);
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	is_uint(d->chain.cnt, 2, "the link that ran most of its time is the last");
	is_uint(d->chain.links[1].part_ns[JANK_STATE_SOCKET], 20 * MS, "though it waited, too");
	done(loops, d);
	loops = fresh();
	feed_other(loops, 21, BEGIN + 30 * MS, 60 * MS, JANK_STATE_PIPE, 31);
	feed_other(loops, 31, BEGIN + 31 * MS, 50 * MS, JANK_STATE_SOCKET, 21);
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	is_uint(d->chain.cnt, 2, "no thread comes again, even for less time");
	is_uint(d->chain.links[1].task.tid, 31, "where the first would wake who wakes it");
	done(loops, d);
}

/* The most time of a kind decides, not the longest wait; what is nobody's fault is left out. */
static void test_pick(void)
{
	struct loops *loops = fresh();
	struct fixture_stack span;
	struct dispatch *d;

	feed_wait(loops, BEGIN, 40 * MS, 21);
	span = wait_of_main(60 * MS, 30 * MS, 31);
	span.rec.state = JANK_STATE_PIPE;
	feed(loops, &span);
	span.rec.t_ns = 100 * MS;
	span.rec.ns = 32 * MS;
	span.rec.waker.tid = 32;
	feed(loops, &span);
	span.rec.t_ns = 150 * MS;
	span.rec.ns = 300 * MS;
	span.rec.state = JANK_STATE_SLEEP;
	span.rec.hdr.flags = 0;
	feed(loops, &span);
	d = block(loops);
	ok(d->chain.cnt == 1 && d->chain.sample == 2 && d->chain.links[0].task.tid == 32,
	   "the longest wait of the kind that took most");
	done(loops, d);
}

/* Many short waits may be to blame, one may not. */
static void test_too_short(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_wait(loops, BEGIN, 24 * MS, 21);
	d = block(loops);
	is_uint(d->chain.cnt, 0, "waits of less than a twentieth are not explained");
	dispatch__free(d);
	feed_wait(loops, BEGIN, 24 * MS, 21);
	feed_wait(loops, BEGIN + NS, MS, 31);
	d = block(loops);
	ok(d->chain.cnt == 1 && d->chain.links[0].task.tid == 21,
	   "waits of one kind are taken together");
	done(loops, d);
}

static unsigned links_of(uint32_t state, uint32_t waker, const char *comm)
{
	struct loops *loops = fresh();
	struct fixture_stack span = wait_of_main(BEGIN, NS, waker);
	struct dispatch *d;
	unsigned ret;

	span.rec.state = state;
	memset(span.rec.waker.comm, 0, JANK_COMM_SZ);
	memcpy(span.rec.waker.comm, comm, strlen(comm));
	feed(loops, &span);
	d = block(loops);
	ret = d->chain.cnt;
	done(loops, d);
	return ret;
}

static void test_whose_fault(void)
{
	is_uint(links_of(JANK_STATE_RUNNABLE, 21, "x"), 0, "time for want of a CPU has no waker");
	is_uint(links_of(JANK_STATE_DISK, 0, ""), 0, "a disk none either");
	is_uint(links_of(JANK_STATE_DISK, 30, "kworker/3:1"), 0, "nor is a kernel thread one");
	is_uint(links_of(JANK_STATE_DISK, 31, "writer"), 1, "who held an inode's lock is");
	is_uint(links_of(JANK_STATE_PAGE_FAULT, 31, "pager"), 1, "so is a userfaultfd's pager");
	is_uint(links_of(JANK_STATE_PAGE_FAULT, 30, "kswapd0"), 0, "memory's own daemon is not");
	is_uint(links_of(JANK_STATE_PIPE, 30, "kworker/3:1"), 1,
		"a pipe that the kernel fills is its doing");
	is_uint(links_of(JANK_STATE_SLEEP, 31, "x"), 1, "who sends a signal ends a sleep");
}

static void test_holder(void)
{
	struct loops *loops = fresh();
	const struct link *link;
	struct dispatch *d;

	feed_other(loops, 12, BEGIN + 10 * MS, 60 * MS, JANK_STATE_DISK, 0);
	feed_mutex(loops, MAIN, START, BEGIN, 12, 0x7000);
	feed_wait(loops, BEGIN, NS, 13);
	d = block(loops);
	is_uint(d->chain.cnt, 1, "the mutex's holder");
	link = d->chain.links;
	ok(link->role == LINK_HELD && link->task.tid == 12, "is to blame, not who woke us");
	is_uint(link->state, JANK_STATE_DISK, "for what it did");
	is_uint(link->part_ns[JANK_STATE_RUNNING], 0, "that it ran in the end nobody saw");
	done(loops, d);
	loops = fresh();
	feed_mutex(loops, MAIN, START, BEGIN, 13, 0x7000);
	feed_wait(loops, BEGIN, NS, 13);
	d = block(loops);
	ok(d->chain.cnt == 1 && d->chain.links[0].role == LINK_HELD,
	   "a waker that held it held it, known before or not");
	is_str(d->chain.links[0].task.comm, "other", "by its name");
	done(loops, d);
}

/* What looks like an owner must be a thread of the same process. */
static void test_no_holder(void)
{
	static const struct {
		const char *why;
		uint32_t owner, word;
	} rows[] = { { "one that nobody ever saw", 18, 2 },
		     { "one of another process", 22, 2 },
		     { "none", 0, 2 },
		     { "ourselves", MAIN, 2 },
		     { "one of a word that is no mutex's", 12, 0 },
		     { "one of a word that counts", 12, 77 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct loops *loops = fresh();
		struct jank_rec_waited rec = fixture__waited(MAIN, START, BEGIN, rows[i].owner);
		struct dispatch *d;

		rec.futex_word = rows[i].word;
		feed_other(loops, 12, BEGIN, MS, JANK_STATE_DISK, 0);
		feed_other(loops, 22, BEGIN, MS, JANK_STATE_DISK, 0);
		feed(loops, &rec);
		feed_wait(loops, BEGIN, NS, 13);
		d = block(loops);
		ok(d->chain.cnt == 1 && d->chain.links[0].role == LINK_WOKE &&
			   d->chain.links[0].task.tid == 13,
		   "an owner that is %s is not believed", rows[i].why);
		done(loops, d);
	}
}

static void test_owner_in_word(void)
{
	static const struct {
		const char *what;
		uint32_t word;
		uint64_t op;
		uint32_t owner;
	} rows[] = { { "a word with waiters names its owner itself", 0x80000000u | 12, 0, 12 },
		     { "so does one that inherits priority", 12, 6 | 128, 12 },
		     { "any other number doesn't", 12, 0, 13 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct loops *loops = fresh();
		struct jank_rec_waited rec = fixture__waited(MAIN, START, BEGIN, 99);
		struct dispatch *d;

		rec.hdr.flags |= JANK_WAITED_ARGS;
		rec.futex_word = rows[i].word;
		rec.args[1] = rows[i].op;
		feed_other(loops, 12, BEGIN, MS, JANK_STATE_DISK, 0);
		feed(loops, &rec);
		feed_wait(loops, BEGIN, NS, 13);
		d = block(loops);
		is_uint(d->chain.links[0].task.tid, rows[i].owner, "%s", rows[i].what);
		done(loops, d);
	}
}

/* We waited while 12 held the mutex, then 13 that had waited longer than we. */
static void test_handed_over(void)
{
	struct loops *loops = fresh();
	const struct link *links;
	struct dispatch *d;

	feed_other(loops, 12, BEGIN + 5 * MS, 50 * MS, JANK_STATE_DISK, 0);
	feed_mutex(loops, 13, 0, BEGIN - 5 * MS, 12, 0x7000);
	feed_other(loops, 13, BEGIN - 5 * MS, 65 * MS, JANK_STATE_FUTEX, 12);
	feed_mutex(loops, MAIN, START, BEGIN, 12, 0x7000);
	feed_wait(loops, BEGIN, NS, 13);
	d = block(loops);
	links = d->chain.links;
	is_uint(d->chain.cnt, 2, "a mutex that was handed on has two holders");
	ok(links[0].task.tid == 13 && links[0].role == LINK_HELD, "who had it last");
	ok(links[0].part_ns[JANK_STATE_FUTEX] == 60 * MS &&
		   links[0].part_ns[JANK_STATE_RUNNING] == 40 * MS,
	   "waited for it itself, then ran");
	ok(links[1].task.tid == 12 && links[1].role == LINK_HELD, "who had it first");
	ok(links[1].ns == 60 * MS && links[1].state == JANK_STATE_DISK,
	   "is looked at until it gave it away");
	done(loops, d);
	loops = fresh();
	feed_other(loops, 12, BEGIN + 5 * MS, 50 * MS, JANK_STATE_DISK, 0);
	feed_mutex(loops, 13, 0, BEGIN - 5 * MS, 12, 0x8000);
	feed_other(loops, 13, BEGIN - 5 * MS, 65 * MS, JANK_STATE_FUTEX, 12);
	feed_mutex(loops, MAIN, START, BEGIN, 12, 0x7000);
	feed_wait(loops, BEGIN, NS, 13);
	d = block(loops);
	is_uint(d->chain.links[0].task.tid, 12, "another mutex of the waker's doesn't matter");
	done(loops, d);
}

static void test_hang(void)
{
	struct loops *loops = fresh();
	struct fixture_stack open = wait_of_main(BEGIN, NS, 0);
	struct dispatch *d;

	open.rec.hdr.flags = JANK_STACK_OPEN;
	feed_mutex(loops, MAIN, START, BEGIN, 12, 0x7000);
	feed(loops, &open);
	d = complete(loops, fixture__hang(MAIN, START, 500 * MS));
	ok(d->chain.cnt == 1 && d->chain.links[0].task.tid == 12,
	   "in a hang the holder is known, and may have slept all the while");
	ok(d->chain.links[0].task.pid == 10 && d->chain.links[0].state == JANK_STATE_CNT,
	   "of which nothing else is known");
	dispatch__free(d);
	feed_other(loops, 12, BEGIN + MS, 300 * MS, JANK_STATE_DISK, 0);
	feed_wait(loops, BEGIN, 301 * MS, 12);
	d = block(loops);
	ok(d->chain.cnt == 1 && d->chain.links[0].state == JANK_STATE_DISK,
	   "at its end more is known");
	is_uint(d->chain.links[0].ns, 301 * MS, "of the whole wait");
	done(loops, d);
	loops = fresh();
	feed_mutex(loops, MAIN, START, BEGIN, 5000000, 0x7000);
	feed(loops, &open);
	d = complete(loops, fixture__hang(MAIN, START, 500 * MS));
	is_uint(d->chain.cnt, 0, "a number that no thread can have is none");
	done(loops, d);
}

/* In a pid namespace of its own a process knows its threads by other numbers. */
static void test_unknown_owner(void)
{
	struct jank_rec_waited rec = fixture__waited(MAIN, START, BEGIN, 0);
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_mutex(loops, MAIN, START, BEGIN, 3, 0x7000);
	feed_wait(loops, BEGIN, NS, 13);
	d = block(loops);
	ok(d->chain.cnt == 1 && d->chain.links[0].task.tid == 13 &&
		   d->chain.links[0].role == LINK_HELD,
	   "who wakes a thread that slept for glibc's lock had it");
	done(loops, d);
	loops = fresh();
	rec.hdr.flags = JANK_WAITED_ARGS;
	rec.args[2] = 2;
	feed(loops, &rec);
	feed_wait(loops, BEGIN, NS, 13);
	d = block(loops);
	is_int(d->chain.links[0].role, LINK_HELD,
	       "even where only the system call is known, since the sleep began unobserved");
	done(loops, d);
	loops = fresh();
	feed_mutex(loops, MAIN, START, BEGIN, 3, 0x7000);
	feed_wait(loops, BEGIN, NS, 23);
	d = block(loops);
	is_int(d->chain.links[0].role, LINK_WOKE, "but for another process's thread");
	done(loops, d);
}

static const struct other_task answer = { .pid = 10, .tid = 17, .comm = "indexer" };

/* A hang's block, whose holder is known by number only, once its owner was asked for. */
static struct block *settled(const struct other_task *owner)
{
	static const struct host_info host;
	const struct judge judge = { .host = &host };
	const struct machine_load load = { 0 };
	struct loops *loops = fresh();
	struct fixture_stack open = wait_of_main(BEGIN, NS, 0);
	struct block *ret = NULL;
	struct dispatch *d;

	open.rec.hdr.flags = JANK_STACK_OPEN;
	feed_mutex(loops, MAIN, START, BEGIN, 7, 0x7000);
	feed(loops, &open);
	d = complete(loops, fixture__hang(MAIN, START, 500 * MS));
	judge__dispatch(&judge, d, NULL, &load, &ret);
	if (owner)
		ret->samples[0].waited->owner = *owner;
	chain__settle_owners(ret);
	done(loops, d);
	return ret;
}

static void test_settle(void)
{
	struct block *b = settled(&answer);

	ok(b->chain_cnt == 1 && b->chain[0].task.tid == 17, "a holder gets its true number");
	is_str(b->chain[0].task.comm, "indexer", "and its name");
	block__free(b);
	b = settled(NULL);
	ok(!b->chain_cnt && !b->chain, "one that is no thread is dropped");
	block__free(b);
}

static void test_settle_known(void)
{
	struct waited first = { .owner = answer }, second = { .owner = answer };
	struct link links[2] = { { .role = LINK_WOKE, .task = { .tid = 17 }, .waited = &second },
				 { .role = LINK_WOKE, .task = { .tid = 18 } } };
	struct sample sample = { .waited = &first };
	struct block b = { .samples = &sample, .sample_cnt = 1, .chain = links, .chain_cnt = 2 };

	chain__settle_owners(&b);
	ok(b.chain_cnt == 2 && links[0].role == LINK_HELD, "a waker that held it, held it");
	is_str(links[0].task.comm, "indexer", "and has its name from there, for want of another");
	ok(links[1].role == LINK_WOKE && links[1].task.tid == 18 && !*links[1].task.comm,
	   "another waker has not");
}

static uint32_t softirq_link(int32_t wake_syscall, int32_t our_syscall, uint32_t state)
{
	struct loops *loops = fresh();
	struct fixture_stack wake = fixture__wakes(21, MAIN, END, wake_syscall);
	struct fixture_stack wait = wait_of_main(BEGIN, NS, 21);
	struct dispatch *d;
	uint32_t ret;

	if (wake_syscall >= 0)
		feed(loops, &wake);
	wait.rec.state = state;
	wait.rec.syscall = our_syscall;
	wait.rec.hdr.flags |= JANK_STACK_WAKER_SOFTIRQ;
	feed(loops, &wait);
	d = block(loops);
	ret = d->chain.cnt ? d->chain.links[0].task.tid : 0;
	done(loops, d);
	return ret;
}

static void test_connecting(void)
{
	struct loops *loops = fresh();
	struct fixture_stack wake = fixture__wakes(21, MAIN, END, SYS_write);
	struct fixture_stack wait = wait_of_main(BEGIN, NS, 21);
	struct jank_rec_waited waited = fixture__waited(MAIN, START, BEGIN, 0);
	struct dispatch *d;

	feed(loops, &wake);
	waited.hdr.flags = JANK_WAITED_SOCKET;
	waited.state = 2;
	feed(loops, &waited);
	wait.rec.state = JANK_STATE_SOCKET;
	wait.rec.syscall = SYS_connect;
	wait.rec.hdr.flags |= JANK_STACK_WAKER_SOFTIRQ;
	feed(loops, &wait);
	d = block(loops);
	is_uint(d->chain.cnt, 0, "nobody who writes meanwhile is to blame for a connect");
	done(loops, d);
}

static void test_softirq(void)
{
	is_uint(softirq_link(SYS_sendto, SYS_recvfrom, JANK_STATE_SOCKET), 21,
		"in a soft interrupt who sends is the peer");
	is_uint(softirq_link(SYS_write, SYS_ppoll, JANK_STATE_POLL), 21, "with write, too");
	is_uint(softirq_link(SYS_recvfrom, SYS_recvfrom, JANK_STATE_SOCKET), 0,
		"who receives is a bystander");
	is_uint(softirq_link(SYS_recvfrom, SYS_sendto, JANK_STATE_SOCKET), 21,
		"but for who waits to send");
	is_uint(softirq_link(-1, SYS_recvfrom, JANK_STATE_SOCKET), 0,
		"one of whom nothing is known may be anybody");
}

static void test_reused(void)
{
	struct loops *loops = fresh();
	struct fixture_stack other = fixture__other(21, BEGIN, NS, JANK_STATE_DISK);
	struct dispatch *d;

	other.rec.hdr.tgid = 77;
	feed(loops, &other);
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	is_uint(d->chain.links[0].state, JANK_STATE_CNT,
		"what a thread of that number did in another process is not its doing");
	done(loops, d);
}

/* The thread that we waited for has a loop of its own, which is traced. */
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
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	is_uint(d->chain.cnt, 2, "a traced thread's records are a link's, too");
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
	feed_wait(loops, BEGIN, NS, 21);
	d = block(loops);
	link = d->chain.links;
	ok(link->state == JANK_STATE_RUNNABLE && d->chain.cnt == 1, "a link may want a CPU");
	is_uint(link->prio, 140, "its priority is told");
	ok(link->preemptor_cnt == 2 && link->preemptors[0].tid == 72 &&
		   link->preemptors[0].ns == 60 && link->preemptors[1].prio == 51,
	   "and who had it instead, over that time");
	is_uint(link->stack.user_cnt, 3, "and where it was");
	done(loops, d);
}

int main(void)
{
	test_none();
	test_running();
	test_unseen();
	test_parts();
	test_overlap();
	test_three();
	test_long();
	test_cycle();
	test_again();
	test_pick();
	test_too_short();
	test_whose_fault();
	test_holder();
	test_no_holder();
	test_owner_in_word();
	test_handed_over();
	test_hang();
	test_unknown_owner();
	test_settle();
	test_settle_known();
	test_softirq();
	test_connecting();
	test_reused();
	test_traced();
	test_preempted();
	return tap__done();
}
