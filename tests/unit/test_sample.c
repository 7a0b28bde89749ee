/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Thinning of too many samples: first, last and longest stay, and an even selection that represents
 * the rest.
 */
#include "model/sample.h"

#include <stdlib.h>

#include "tests/tap.h"

#define CNT 1000

static struct sample *samples;
static size_t cnt;

static void fresh(void)
{
	samples = calloc(CNT + 1, sizeof(*samples));
	cnt = 0;
}

static void add(uint32_t state, uint64_t ns)
{
	samples[cnt] = (struct sample){ .t_ns = cnt, .ns = ns, .state = state, .stands_for = 1 };
	samples[cnt++].stack.addresses = malloc(8); /* the sanitizer finds leaks and double frees */
}

static void halve(void)
{
	cnt = thin__halve(samples, cnt);
}

static uint64_t stood_for(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < cnt; i++)
		sum += samples[i].stands_for;
	return sum;
}

static size_t count(uint32_t state, uint64_t ns)
{
	size_t ret = 0;

	for (size_t i = 0; i < cnt; i++)
		ret += samples[i].state == state && samples[i].ns == ns;
	return ret;
}

static uint64_t widest_gap(void)
{
	uint64_t ret = 0;

	for (size_t i = 1; i < cnt; i++)
		if (samples[i].t_ns - samples[i - 1].t_ns > ret)
			ret = samples[i].t_ns - samples[i - 1].t_ns;
	return ret;
}

static void test_ticks(void)
{
	fresh();
	for (size_t i = 0; i < CNT; i++)
		add(JANK_STATE_RUNNING, 0);
	halve();
	is_uint(cnt, CNT / 2 + 1, "of %d ticks about half are left", CNT);
	halve();
	halve();
	ok(cnt <= CNT / 8 + 2 && cnt > CNT / 10, "then an eighth: %zu", cnt);
	ok(samples[0].t_ns == 0 && samples[cnt - 1].t_ns == CNT - 1, "with the first and the last");
	ok(widest_gap() <= 24, "evenly spread: the widest gap is %lu", (unsigned long)widest_gap());
	is_uint(stood_for(), CNT, "together they represent all");
	samples__free(samples, cnt);
}

/* A dispatch goes on after it was thinned: later samples are thinned more often. */
static void test_going_on(void)
{
	uint64_t gap;

	fresh();
	for (size_t i = 0; i < 20 * CNT; i++) {
		add(JANK_STATE_RUNNING, 0);
		samples[cnt - 1].t_ns = i;
		if (cnt == CNT)
			halve();
	}
	is_uint(stood_for(), 20 * CNT, "after many times they still represent all");
	cnt = thin__even_ticks(samples, cnt);
	gap = widest_gap();
	ok(cnt > CNT / 8 && gap < 20 * CNT / CNT * 16, "%zu ticks, at most %lu apart", cnt,
	   (unsigned long)gap);
	ok(samples[cnt * 1 / 4].t_ns > 20 * CNT / 8 && samples[cnt * 3 / 4].t_ns < 20 * CNT / 8 * 7,
	   "about as many in the first half as in the second");
	samples__free(samples, cnt);
}

static void test_spans(void)
{
	fresh();
	for (size_t i = 0; i < CNT; i++)
		add(i % 2 ? JANK_STATE_FUTEX : JANK_STATE_DISK, i % 2 ? 2 : 3);
	samples[500].ns = 90;
	samples[501].ns = 80;
	for (int i = 0; i < 4; i++)
		halve();
	is_uint(stood_for(), CNT, "spans represent all, too");
	ok(count(JANK_STATE_DISK, 90) == 1 && count(JANK_STATE_FUTEX, 80) == 1,
	   "the longest span of each state stays");
	ok(count(JANK_STATE_DISK, 3) > 20 && count(JANK_STATE_FUTEX, 2) > 20,
	   "shorter spans of one state are not thinned for longer ones of another");
	samples__free(samples, cnt);
}

static void test_longer(void)
{
	fresh();
	for (size_t i = 0; i < CNT; i++)
		add(JANK_STATE_SOCKET, i % 10 == 5 ? 10 : 1);
	halve();
	halve();
	is_uint(count(JANK_STATE_SOCKET, 10), CNT / 10, "long spans stay while short ones can go");
	samples__free(samples, cnt);
}

/* The lowest number that can always be thinned. */
static void test_least(void)
{
	bool less = true;

	fresh();
	for (size_t i = 0; i <= THIN_MIN; i++)
		add(i % JANK_STATE_CNT, i);
	halve();
	ok(cnt <= THIN_MIN, "%d of all states can be thinned: %zu", THIN_MIN + 1, cnt);
	samples__free(samples, cnt);
	srand(3);
	for (int round = 0; round < 2000; round++) {
		size_t before;

		fresh();
		for (before = THIN_MIN + 1 + rand() % 60; cnt < before;)
			add(rand() % JANK_STATE_CNT, rand() % 5);
		while (cnt > THIN_MIN && less) {
			size_t had = cnt;

			halve();
			less = cnt < had && stood_for() == before && samples[0].t_ns == 0 &&
			       samples[cnt - 1].t_ns == before - 1;
		}
		samples__free(samples, cnt);
	}
	ok(less, "more become fewer, first and last stay, and together they represent all");
	fresh();
	add(JANK_STATE_RUNNING, 0);
	halve();
	is_uint(cnt, 1, "one sample stays");
	samples__free(samples, cnt);
}

int main(void)
{
	test_ticks();
	test_going_on();
	test_spans();
	test_longer();
	test_least();
	return tap__done();
}
