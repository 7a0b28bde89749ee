/* SPDX-License-Identifier: GPL-2.0 */
/* Which of a dispatch's waits is explained, and whether the thread that ended it is a link. */
#include "model/chain/chain.h"

#include <sys/syscall.h>

#include "tests/tap.h"
#include "tests/unit/chain_fixture.h"

/*
 * The kind with the most time decides, not the longest wait. Waits that no thread causes do not
 * count.
 */
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
	   "the longest wait of the kind with the most time");
	done(loops, d);
}

/* Many short waits may be the cause, a single one may not. */
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
	ok(d->chain.cnt == 1 && d->chain.links[0].task.tid == 21, "waits of one kind are summed");
	done(loops, d);
}

/*
 * A timer's interrupt may hit a thread that is sending: the interrupted thread did not end the
 * wait.
 */
static void test_timer(void)
{
	for (int after = 0; after < 2; after++) {
		struct loops *loops = fresh();
		struct fixture_stack span = wait_of_main(BEGIN, NS, 21);
		struct jank_rec_waited waited = fixture__waited(MAIN, START, BEGIN, 0);
		struct dispatch *d;

		span.rec.state = JANK_STATE_POLL;
		span.rec.hdr.flags |= JANK_STACK_WAKER_SOFTIRQ;
		waited.hdr.flags = JANK_WAITED_TIMEOUT;
		waited.timeout_ns = after ? 2 * NS : NS;
		feed(loops, &waited);
		feed(loops, &span);
		d = block(loops);
		is_int(d->evidence.samples[0].has_waker, after,
		       after ? "a wait that ended before its time has a waker"
			     : "one that timed out has none");
		done(loops, d);
	}
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

static void test_culprits(void)
{
	static const struct {
		const char *what;
		uint32_t state, waker;
		const char *comm;
		unsigned links;
	} rows[] = {
		{ "a wait for a CPU has no waker", JANK_STATE_RUNNABLE, 21, "x", 0 },
		{ "nor has a wait for a disk", JANK_STATE_DISK, 0, "", 0 },
		{ "a kernel thread is no waker of it", JANK_STATE_DISK, 30, "kworker/3:1", 0 },
		{ "the holder of an inode's lock is", JANK_STATE_DISK, 31, "writer", 1 },
		{ "so is a userfaultfd's pager", JANK_STATE_PAGE_FAULT, 31, "pager", 1 },
		{ "the kernel's memory daemon is not", JANK_STATE_PAGE_FAULT, 30, "kswapd0", 0 },
		{ "the kernel thread that fills a pipe is", JANK_STATE_PIPE, 30, "kworker/3:1", 1 },
		{ "so is the sender of a signal that ends a sleep", JANK_STATE_SLEEP, 31, "x", 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		is_uint(links_of(rows[i].state, rows[i].waker, rows[i].comm), rows[i].links, "%s",
			rows[i].what);
}

/*
 * Ends the dispatch after a wait in this state and system call, which a soft interrupt ended while
 * it interrupted 21.
 */
static struct dispatch *block_woken_in_softirq(struct loops *loops, uint32_t state, int32_t syscall)
{
	struct fixture_stack wait = wait_of_main(BEGIN, NS, 21);

	wait.rec.state = state;
	wait.rec.syscall = syscall;
	wait.rec.hdr.flags |= JANK_STACK_WAKER_SOFTIRQ;
	feed(loops, &wait);
	return block(loops);
}

static void test_softirq(void)
{
	static const struct {
		const char *what;
		int32_t wake_syscall, our_syscall; /* -1: its place at the wake-up is unknown */
		uint32_t state, tid;
	} rows[] = {
		{ "in a soft interrupt the sending thread is the peer", SYS_sendto, SYS_recvfrom,
		  JANK_STATE_SOCKET, 21 },
		{ "also with write", SYS_write, SYS_ppoll, JANK_STATE_POLL, 21 },
		{ "a receiving thread is a bystander", SYS_recvfrom, SYS_recvfrom,
		  JANK_STATE_SOCKET, 0 },
		{ "except for a thread that waits to send", SYS_recvfrom, SYS_sendto,
		  JANK_STATE_SOCKET, 21 },
		{ "a thread in an unknown call may be anybody", -1, SYS_recvfrom, JANK_STATE_SOCKET,
		  0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct fixture_stack wake = fixture__wakes(21, MAIN, END, rows[i].wake_syscall);
		struct loops *loops = fresh();
		struct dispatch *d;

		if (rows[i].wake_syscall >= 0)
			feed(loops, &wake);
		d = block_woken_in_softirq(loops, rows[i].state, rows[i].our_syscall);
		is_uint(d->chain.cnt ? d->chain.links[0].task.tid : 0, rows[i].tid, "%s",
			rows[i].what);
		done(loops, d);
	}
}

static void test_connecting(void)
{
	struct loops *loops = fresh();
	struct fixture_stack wake = fixture__wakes(21, MAIN, END, SYS_write);
	struct jank_rec_waited waited = fixture__waited(MAIN, START, BEGIN, 0);
	struct dispatch *d;

	feed(loops, &wake);
	waited.hdr.flags = JANK_WAITED_SOCKET;
	waited.state = 2;
	feed(loops, &waited);
	d = block_woken_in_softirq(loops, JANK_STATE_SOCKET, SYS_connect);
	is_uint(d->chain.cnt, 0, "no thread that writes meanwhile is to blame for a connect");
	done(loops, d);
}

int main(void)
{
	test_pick();
	test_too_short();
	test_timer();
	test_culprits();
	test_softirq();
	test_connecting();
	return tap__done();
}
