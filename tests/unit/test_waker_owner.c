/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits in slices, and waits that are not: the thread that ended the last slice is the waker of all
 * of them.
 */
#include "model/chain/chain.h"

#include "tests/tap.h"
#include "tests/unit/model_fixture.h"

#define CNT	 20
#define SLICE_NS (5 * MS)
#define BEGIN	 (10 * MS)
#define CONDVAR	 0x7000

static struct wait_object waited[CNT];
static struct sample samples[CNT];

/*
 * A slice of 5 ms every 5.1 ms, on the condition variable's two words in turn; thread 21 ends the
 * last one.
 */
static void make(void)
{
	for (size_t i = 0; i < CNT; i++) {
		waited[i] = (struct wait_object){ .raw = { .hdr.flags = JANK_WAITED_ARGS |
									JANK_WAITED_TIMEOUT,
							   .timeout_ns = SLICE_NS - 10000,
							   .args = { CONDVAR + i % 2 * 8 } } };
		samples[i] = (struct sample){ .t_ns = BEGIN + i * (SLICE_NS + MS / 10),
					      .ns = SLICE_NS,
					      .state = JANK_STATE_FUTEX,
					      .waited = &waited[i] };
	}
	samples[CNT - 1].has_waker = true;
	samples[CNT - 1].waker = (struct other_task){ .pid = 10, .tid = 21 };
	samples[CNT - 1].ns = 2 * MS;
}

static struct wait last_wait(void)
{
	return retry_waits__wait(samples, CNT - 1, 10, 11);
}

static void test_whole(void)
{
	unsigned cnt = 0;
	struct wait wait;

	make();
	for (size_t i = 0; i < CNT; i++)
		cnt += retry_waits__goes_on(samples, CNT, i);
	is_uint(cnt, CNT - 1, "each slice but the last goes on");
	wait = last_wait();
	is_uint(wait.begin, BEGIN, "the wait begins with the first slice");
	is_uint(wait.end, samples[CNT - 1].t_ns + 2 * MS, "and ends with the last");
	ok(wait.has_waker && wait.waker.tid == 21, "by the thread that ended it");
	wait = retry_waits__wait(samples, 0, 10, 11);
	ok(wait.begin == BEGIN && wait.end == BEGIN + SLICE_NS,
	   "the first one is a wait of its own");
}

static void check_break(const char *what)
{
	is_uint(last_wait().begin, samples[10].t_ns, "%s", what);
	make();
}

static void test_broken(void)
{
	make();
	samples[9].has_waker = true;
	check_break("a slice that a thread ended is the end of another wait");
	samples[9].ns = 4 * MS;
	samples[9].t_ns += MS;
	check_break("so is one that ended before its timeout");
	samples[9].t_ns -= 2 * MS;
	check_break("a thread that ran for a while meanwhile did not just retry");
	waited[9].raw.args[0] += 4096;
	check_break("nor did one that waited for something else");
	waited[9].raw.hdr.flags = 0;
	check_break("or for something unknown");
	samples[9].waited = NULL;
	check_break("or without any facts");
	samples[9].state = JANK_STATE_SLEEP;
	check_break("a sleep is no wait for a lock");
	samples[9].open = true;
	check_break("an open slice has none after it");
}

/*
 * Longer waits without a waker do not hide a series: each series is one wait, not as many as it has
 * slices.
 */
static void test_chosen(void)
{
	struct losses losses = { 0 };
	struct thread_history *history = thread_history__new(HISTORY_BYTES_MAX, &losses);
	const struct chain_ask ask = { samples, CNT, 10, 11, MS };
	struct chain chain;

	make();
	samples[12].has_waker = true; /* itself: no thread caused it */
	samples[12].waker = (struct other_task){ .pid = 10, .tid = 11 };
	is_int(chain__build(history, &ask, &chain), 0, "a chain");
	ok(chain.cnt == 1 && chain.links[0].task.tid == 21, "of the series that a thread ended");
	is_uint(chain.sample, CNT - 1, "by its last slice");
	if (chain.cnt)
		is_uint(chain.links[0].t_ns, samples[13].t_ns, "from its first one on");
	chain__clear(&chain);
	thread_history__free(history);
}

int main(void)
{
	test_whole();
	test_broken();
	test_chosen();
	return tap__done();
}
