/* SPDX-License-Identifier: GPL-2.0 */
/* When a process's marks are on: by its rate of dispatches, and by what was slow. */
#include "session/process_table.h"

#include "base/clock.h"
#include "tests/tap.h"

#define BUSY 10000
#define CALM 100

struct run {
	struct mark_duty duty;
	uint64_t now_ns, cnt;
	bool on;
};

/* Some seconds at that rate of dispatches. */
static void go(struct run *run, unsigned seconds, unsigned rate)
{
	for (unsigned i = 0; i < seconds; i++) {
		run->now_ns += NS_PER_SEC;
		run->cnt += rate;
		run->on = mark_duty__look(&run->duty, run->now_ns, run->cnt);
	}
}

static struct run fresh(void)
{
	struct run run = { .now_ns = 1000 * NS_PER_SEC, .cnt = 7 * BUSY };

	run.on = mark_duty__look(&run.duty, run.now_ns, run.cnt);
	return run;
}

static void test_rates(void)
{
	struct run run = fresh();

	ok(!run.on, "off at first, whatever it did before");
	go(&run, 1, CALM);
	ok(run.on, "on after a second at a low rate");
	go(&run, 60, CALM);
	ok(run.on, "and they stay on");
	mark_duty__slow(&run.duty);
	go(&run, 2, CALM);
	ok(run.on, "slow or not");
	go(&run, 1, BUSY);
	ok(!run.on, "off one second after the rate becomes high");
	go(&run, 200, BUSY);
	ok(!run.on, "as long as nothing is slow");
	go(&run, 60, 1000);
	ok(!run.on, "and at a rate in between: without marks there are fewer dispatches");
	go(&run, 1, CALM);
	ok(run.on, "on again as soon as the rate is low");
	go(&run, 1, 1999);
	ok(run.on, "up to the limit");
	go(&run, 1, 2000);
	ok(!run.on, "where a high rate begins");
}

/* Between two looks, a thread meets marks at the busy rate. */
static void test_busy(void)
{
	struct run run = fresh();

	go(&run, 3, CALM);
	mark_duty__busy(&run.duty, run.now_ns, BUSY);
	ok(!mark_duty__look(&run.duty, run.now_ns, run.cnt), "off at once");
	go(&run, 1, 1000);
	ok(!run.on, "without marks the rate must be low");
	go(&run, 1, CALM);
	ok(run.on, "then they return");
	go(&run, 1, BUSY);
	mark_duty__slow(&run.duty);
	go(&run, 46, BUSY);
	ok(run.on, "on in a busy process, because something was slow");
	mark_duty__busy(&run.duty, run.now_ns, BUSY);
	ok(mark_duty__look(&run.duty, run.now_ns, run.cnt), "that stays");
}

static unsigned seconds_on(struct run *run, unsigned seconds, bool slow)
{
	unsigned on = 0;

	for (unsigned i = 0; i < seconds; i++) {
		if (slow)
			mark_duty__slow(&run->duty);
		go(run, 1, BUSY);
		on += run->on;
	}
	return on;
}

static void test_slow(void)
{
	struct run run = fresh();
	unsigned on;

	go(&run, 10, BUSY);
	ok(!run.on, "a process that is busy from the start has none");
	mark_duty__slow(&run.duty);
	go(&run, 30, BUSY);
	ok(!run.on, "they rest, although something was slow");
	go(&run, 10, BUSY);
	ok(run.on, "but not for long");
	go(&run, 5, BUSY);
	ok(!run.on, "and some seconds are enough");
	is_uint(seconds_on(&run, 200, false), 0, "nothing slow, marks off");
	on = seconds_on(&run, 1000, true);
	ok(on >= 80 && on <= 110, "always slow: on for a tenth of the time, %u s of 1000", on);
}

static void test_odd_times(void)
{
	struct run run = fresh();

	go(&run, 1, CALM);
	for (int i = 0; i < 9; i++) {
		run.now_ns += NS_PER_SEC / 10;
		run.cnt += BUSY;
		ok(mark_duty__look(&run.duty, run.now_ns, run.cnt), "no second has passed");
	}
	run.now_ns += NS_PER_SEC / 10;
	ok(!mark_duty__look(&run.duty, run.now_ns, run.cnt), "one has");
	is_uint(run.duty.rate, 9 * BUSY, "with that many dispatches");
	run.now_ns += 10 * NS_PER_SEC;
	ok(mark_duty__look(&run.duty, run.now_ns, 5),
	   "the counts of ended threads are gone: no high rate by that");
	is_uint(run.duty.rate, 0, "but no negative one either");
}

int main(void)
{
	test_rates();
	test_slow();
	test_busy();
	test_odd_times();
	return tap__done();
}
