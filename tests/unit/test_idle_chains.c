/* SPDX-License-Identifier: GPL-2.0 */
/* Which of a thread's waits is its idle place: by visits, stack depth and rest. */
#include "catalogue/idle_places.h"

#include "base/clock.h"
#include "tests/tap.h"

#define MS NS_PER_MS

/* The callers of a wait at that place: the number of frames outside the C library. */
static enum idle_verdict visit(struct idle_chains *chains, uint64_t place, uint32_t depth,
			       uint64_t ms, uint64_t cpu_ms)
{
	const uint64_t addresses[] = { 1, 2, place };
	const struct idle_visit it = {
		.addresses = addresses,
		.cnt = 3,
		.depth = depth,
		.now_ns = ms * MS,
		.cpu_ns = cpu_ms * MS,
	};

	return idle_chains__visit(chains, &it);
}

static void test_turns(void)
{
	struct idle_chains *chains = idle_chains__new();

	is_int(visit(chains, 7, 3, 1, 0), IDLE_UNKNOWN, "one visit is not enough");
	visit(chains, 7, 3, 50, 0);
	is_int(visit(chains, 7, 3, 100, 1), IDLE_UNKNOWN, "nor are three in such a short time");
	is_int(visit(chains, 7, 3, 700, 2), IDLE_YES, "it returns again and again");
	is_int(visit(chains, 8, 5, 710, 2), IDLE_NO,
	       "a wait deeper in the stack: the idle place is further out");
	is_int(visit(chains, 7, 3, 1000, 3), IDLE_YES, "it stays the idle place");
	is_int(visit(chains, 9, 3, 1100, 3), IDLE_YES,
	       "another wait as far out is one, too: with and without a timeout");
	is_int(visit(chains, 10, 2, 1200, 3), IDLE_UNKNOWN, "one further out, once");
	idle_chains__free(chains);
}

static bool is_idle(const struct idle_chains *chains, uint64_t place, int32_t nr, bool sleeps)
{
	const uint64_t addresses[] = { 1, 2, place };
	const struct idle_visit it = {
		.addresses = addresses,
		.cnt = 3,
		.nr = nr,
		.sleeps = sleeps,
	};

	return idle_chains__is_idle(chains, &it);
}

static void test_late_answer(void)
{
	struct idle_chains *chains = idle_chains__new();

	visit(chains, 7, 3, 1, 0);
	ok(!is_idle(chains, 7, 0, false), "no idle place is known yet");
	visit(chains, 7, 3, 50, 0);
	visit(chains, 7, 3, 700, 2);
	visit(chains, 9, 5, 710, 2);
	ok(is_idle(chains, 7, 0, false), "the idle place");
	ok(!is_idle(chains, 8, 0, false), "callers that were not asked about");
	ok(!is_idle(chains, 9, 0, false), "a handler's wait");
	ok(!is_idle(chains, 7, 1, false), "another call");
	ok(!is_idle(chains, 7, 0, true), "a sleep");
	idle_chains__free(chains);
}

static void test_outer(void)
{
	struct idle_chains *chains = idle_chains__new();

	for (int i = 0; i < 7; i++)
		visit(chains, 8, 5, 1 + i, 0);
	is_int(visit(chains, 8, 5, 600, 0), IDLE_YES, "no place further out is known");
	is_int(visit(chains, 7, 3, 700, 0), IDLE_UNKNOWN, "one visit further out");
	is_int(visit(chains, 8, 5, 800, 0), IDLE_YES, "does not replace a place with eight");
	visit(chains, 7, 3, 850, 0);
	is_int(visit(chains, 8, 5, 860, 0), IDLE_UNKNOWN, "two visits make it uncertain");
	is_int(visit(chains, 7, 3, 900, 0), IDLE_OUTER, "three replace it");
	is_int(visit(chains, 8, 5, 1000, 0), IDLE_NO, "the earlier place was a handler's");
	is_int(visit(chains, 7, 3, 1100, 0), IDLE_YES, "which is reported once");
	idle_chains__free(chains);
}

/*
 * emacs: the place where a command sleeps is visited as often as the one where it waits for keys.
 */
static void test_by_turns(void)
{
	struct idle_chains *chains = idle_chains__new();
	bool wrong = false;

	for (uint64_t i = 0; i < 20; i++) {
		wrong |= visit(chains, 7, 14, 1 + i * 500, 0) == IDLE_NO;
		wrong |= visit(chains, 8, 24, 100 + i * 500, 0) == IDLE_YES;
	}
	ok(!wrong, "of two alternating places, the one with more frames is never the idle place");
	is_int(visit(chains, 7, 14, 20000, 0), IDLE_YES, "the other one is");
	idle_chains__free(chains);
}

static void test_batch(void)
{
	struct idle_chains *chains = idle_chains__new();

	visit(chains, 7, 3, 1, 1000);
	visit(chains, 7, 3, 2, 1000);
	is_int(visit(chains, 7, 3, 1001, 1900), IDLE_UNKNOWN,
	       "a thread that works 90 %% of the time waits for its helpers");
	is_int(visit(chains, 7, 3, 3001, 2000), IDLE_YES, "until it rests");
	idle_chains__free(chains);
}

static void test_many(void)
{
	struct idle_chains *chains = idle_chains__new();
	enum idle_verdict last = IDLE_UNKNOWN;

	visit(chains, 99, 2, 1, 0);
	visit(chains, 99, 2, 1, 0);
	for (uint64_t i = 0; i < 40; i++)
		last = visit(chains, 100 + i, 3, 2 + i, 0);
	is_int(last, IDLE_UNKNOWN, "forty places, once each");
	visit(chains, 139, 3, 1000, 0);
	is_int(visit(chains, 139, 3, 1000, 0), IDLE_YES, "the last one, three times");
	is_int(visit(chains, 99, 2, 1001, 0), IDLE_UNKNOWN, "the first one is forgotten");
	idle_chains__free(chains);
}

/* Chromium: the probes know its idle place, so visits there are no longer asked about. */
static void test_kept(void)
{
	struct idle_chains *chains = idle_chains__new();
	bool wrong = false;

	for (uint64_t i = 0; i < 3; i++)
		visit(chains, 99, 3, 1 + i * 500, 0);
	for (uint64_t i = 0; i < 120; i++)
		wrong |= visit(chains, 100 + i / 3, 5, 2000 + i * 100, 0) != IDLE_NO;
	ok(!wrong, "forty places of handlers, three visits each, replace no idle place");
	is_int(visit(chains, 99, 3, 60000, 0), IDLE_YES, "which is still known");
	idle_chains__free(chains);
}

/*
 * An interpreter makes all its calls from one depth: the first place that is visited again is the
 * loop's.
 */
static void test_beside(void)
{
	const uint64_t waits = 0x1000, reads = 0x2000, sleeps = 0x3000;
	struct idle_visit wait = { .addresses = &waits, .cnt = 1, .depth = 5, .nr = 1 };
	struct idle_visit read = { .addresses = &reads, .cnt = 1, .depth = 5, .nr = 2 };
	struct idle_visit sleep = { .addresses = &sleeps, .cnt = 1, .depth = 5, .sleeps = true };
	struct idle_chains *chains = idle_chains__new();
	bool wrong = false;

	for (uint64_t i = 1; i <= 60; i++) {
		wait.now_ns = read.now_ns = sleep.now_ns = i * 50 * MS;
		idle_chains__visit(chains, &wait);
		wrong |= idle_chains__visit(chains, &sleep) == IDLE_YES;
		wrong |= idle_chains__visit(chains, &read) == IDLE_YES;
	}
	ok(!wrong, "a handler's read and sleep from the same depth are never the idle place");
	is_int(idle_chains__visit(chains, &wait), IDLE_YES, "the loop's wait is");
	idle_chains__free(chains);
}

/*
 * A frame loop sleeps until the next frame. A program that checks something every second has
 * nothing to handle.
 */
static void test_sleeps(void)
{
	const uint64_t address = 0x1000;
	struct idle_visit it = { .addresses = &address, .cnt = 1, .depth = 1, .sleeps = true };
	struct idle_chains *frames = idle_chains__new(), *seconds = idle_chains__new();
	enum idle_verdict frame = IDLE_UNKNOWN, second = IDLE_UNKNOWN;

	for (uint64_t i = 1; i <= 60; i++) {
		it.now_ns = i * 16 * MS;
		frame = idle_chains__visit(frames, &it);
		it.now_ns = i * 1000 * MS;
		second = idle_chains__visit(seconds, &it);
	}
	is_int(frame, IDLE_YES, "a sleep that is visited 60 times a second");
	is_int(second, IDLE_UNKNOWN, "one that is visited once a second is no idle place");
	idle_chains__free(frames);
	idle_chains__free(seconds);
}

/* Beside hundreds of unknown threads, one may ask only about a few of its waits. */
static void test_few_questions(void)
{
	const uint64_t address = 0x1000;
	struct idle_visit it = { .addresses = &address, .cnt = 1, .depth = 1, .sleeps = true };
	struct idle_chains *frames = idle_chains__new(), *seconds = idle_chains__new();
	enum idle_verdict frame = IDLE_UNKNOWN, second = IDLE_UNKNOWN;

	for (uint64_t i = 1; i <= 10; i++) {
		it.now_ns = i * 1000 * MS;
		it.in_row = i * 60;
		frame = idle_chains__visit(frames, &it);
		it.in_row = 60;
		second = idle_chains__visit(seconds, &it);
	}
	is_int(frame, IDLE_YES, "60 sleeps a second, and one question");
	is_int(second, IDLE_UNKNOWN, "sixty in a row, but then others");
	idle_chains__free(frames);
	idle_chains__free(seconds);
}

/* In an interpreter: the same C callers, or others, with interpreter frames. */
static enum idle_verdict script(struct idle_chains *chains, uint32_t script, uint32_t script_depth,
				uint64_t address, uint32_t depth, int32_t nr, bool one_call)
{
	static uint64_t now_ns;
	const struct idle_visit it = {
		.addresses = &address,
		.cnt = 1,
		.depth = depth,
		.nr = nr,
		.one_call = one_call,
		.script = script,
		.script_depth = script_depth,
		.now_ns = now_ns += 200 * MS,
	};

	return idle_chains__visit(chains, &it);
}

static void test_script(void)
{
	struct idle_chains *chains = idle_chains__new();
	enum idle_verdict get = IDLE_UNKNOWN, lock = IDLE_UNKNOWN;

	for (int i = 0; i < 20; i++) {
		lock = script(chains, 2, 2, 0x1000, 9, 1, false);
		get = script(chains, 1, 1, 0x1000, 9, 1, false);
	}
	ok(get == IDLE_YES && lock == IDLE_NO,
	   "the same C callers: fewer Python frames are further out");
	is_int(script(chains, 3, 1, 0x2000, 5, 1, false), IDLE_YES,
	       "as many Python frames, fewer in C: as far out, with and without a timeout");
	is_int(script(chains, 3, 1, 0x2008, 5, 2, false), IDLE_NO,
	       "another call from the same place");
	is_int(script(chains, 1, 1, 0x3000, 12, 1, false), IDLE_NO,
	       "deeper in C from the same Python frames: a handler of a loop in C");
	idle_chains__free(chains);
}

/* A sleep of a main thread at `ms`, in the dispatch that began at `since_ms`. */
static enum idle_verdict sleep_at(struct idle_chains *chains, uint32_t script, uint32_t depth,
				  uint64_t since_ms, uint64_t ms)
{
	const uint64_t address = 0x1000;
	const struct idle_visit it = {
		.addresses = &address,
		.cnt = 1,
		.sleeps = true,
		.script = script,
		.script_depth = depth,
		.dispatch_ns = since_ms * MS,
		.now_ns = ms * MS,
	};

	return idle_chains__pause(chains, &it);
}

/* In a dispatch of its own. */
static enum idle_verdict pause_at(struct idle_chains *chains, uint32_t script, uint32_t depth,
				  uint64_t ms)
{
	return sleep_at(chains, script, depth, ms, ms);
}

static void test_pause(void)
{
	struct idle_chains *chains = idle_chains__new();
	int pauses = 0;

	is_int(pause_at(chains, 9, 1, 1), IDLE_UNKNOWN, "a sleep, while no idle place is known");
	for (int i = 0; i < 4; i++)
		script(chains, 1, 1, 0x1000, 9, 1, false);
	is_int(pause_at(chains, 9, 2, 5000), IDLE_NO, "a deeper one is a handler's");
	for (int i = 0; i < 15; i++)
		pauses += pause_at(chains, 9, 1, 5000 + i * 150) != IDLE_UNKNOWN;
	is_int(pauses, 0, "some jobs in a row may sleep as far out as the idle place");
	is_int(pause_at(chains, 9, 1, 5000 + 15 * 150), IDLE_YES,
	       "a sleep that stays as frequent is a pause");
	for (int i = 0; i < 20; i++)
		pauses += pause_at(chains, 8, 1, 9000 + i * 400) != IDLE_UNKNOWN;
	is_int(pauses, 0, "a seldom one may be a handler's");
	is_int(script(chains, 1, 1, 0x1000, 9, 1, false), IDLE_YES, "the idle place stays known");
	idle_chains__free(chains);
}

/* After its work a main thread only sleeps. */
static void test_only_sleeps(void)
{
	struct idle_chains *chains = idle_chains__new();

	for (int i = 0; i < 4; i++)
		script(chains, 1, 1, 0x1000, 9, 2, false);
	is_int(sleep_at(chains, 7, 1, 9000, 9000), IDLE_UNKNOWN,
	       "a first sleep further out than the idle place may be a handler's");
	is_int(sleep_at(chains, 7, 1, 9000, 10000), IDLE_UNKNOWN, "a second one, too");
	is_int(sleep_at(chains, 7, 1, 9000, 11001), IDLE_LEFT,
	       "after two seconds of them the thread rests there");
	is_int(sleep_at(chains, 8, 3, 9000, 12000), IDLE_NO, "deeper ones are a handler's");
	is_int(sleep_at(chains, 6, 1, 9000, 12000), IDLE_UNKNOWN, "another place is another sleep");
	is_int(sleep_at(chains, 6, 1, 15000, 15001), IDLE_UNKNOWN, "as in the next dispatch");
	idle_chains__free(chains);
}

/* Ruby's queue and sleep in the same code, both in ppoll: of other threads than the main one. */
static void test_pauses(void)
{
	const uint64_t address = 0x1000;
	struct idle_visit queue = {
		.addresses = &address,
		.cnt = 1,
		.depth = 14,
		.nr = 271,
		.one_call = true,
		.script = 5,
		.script_depth = 1,
	};
	struct idle_visit other = queue;
	struct idle_chains *chains = idle_chains__new();

	for (int i = 0; i < 5; i++, queue.now_ns += 300 * MS)
		idle_chains__visit(chains, &queue);
	is_int(idle_chains__visit(chains, &queue), IDLE_YES, "Ruby's queue is the idle place");
	other.depth = 12;
	other.script = 6;
	is_int(idle_chains__visit(chains, &other), IDLE_YES,
	       "so is another wait from the same code, as one with a timeout");
	other.script = 7;
	other.pauses = true;
	for (int i = 0; i < 4; i++)
		is_int(idle_chains__visit(chains, &other), IDLE_NO, "a sleep there is a handler's");
	is_int(idle_chains__visit(chains, &queue), IDLE_YES, "the queue stays the idle place");
	idle_chains__free(chains);
}

static void test_lock(void)
{
	const uint64_t address = 0x1000;
	struct idle_visit it = { .addresses = &address, .cnt = 1, .sleeps = true };
	struct idle_chains *chains = idle_chains__new();
	enum idle_verdict last = IDLE_UNKNOWN;

	idle_chains__lock(chains);
	for (uint64_t i = 1; i <= 60; i++) {
		it.now_ns = i * 16 * MS;
		last = idle_chains__visit(chains, &it);
	}
	is_int(last, IDLE_UNKNOWN,
	       "a sleep of a thread that also waits for locks is no frame loop's");
	idle_chains__free(chains);
}

static void test_one_call(void)
{
	struct idle_chains *chains = idle_chains__new();

	for (int i = 0; i < 4; i++)
		script(chains, 1, 1, 0x1000, 9, 1, true);
	is_int(script(chains, 1, 1, 0x2000, 12, 2, true), IDLE_YES,
	       "Ruby: one of its calls waits by several system calls");
	is_int(script(chains, 2, 1, 0x2000, 12, 2, true), IDLE_NO,
	       "another one does not wait for work");
	idle_chains__free(chains);
}

int main(void)
{
	test_turns();
	test_late_answer();
	test_outer();
	test_by_turns();
	test_batch();
	test_many();
	test_kept();
	test_beside();
	test_sleeps();
	test_few_questions();
	test_script();
	test_one_call();
	test_pause();
	test_only_sleeps();
	test_pauses();
	test_lock();
	return tap__done();
}
