/* SPDX-License-Identifier: GPL-2.0 */
/* Windows of histories, what is missing in them, and copies of buffers that are overwritten. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/history.h"
#include "probes/history_buffers.h"
#include "tests/tap.h"

#define S NS_PER_SEC

/* --- windows */

static void test_window(void)
{
	struct history_window w = history_window__of(30 * S, 32 * S, 20 * S, 0);

	is_uint(w.begin_ns, 10 * S, "a window begins so long before its block");
	is_uint(w.end_ns, 33 * S, "and ends a second after it");
	w = history_window__of(30 * S, 32 * S, 20 * S, 25 * S);
	is_uint(w.begin_ns, 25 * S, "but not before the recording");
	w = history_window__of(30 * S, 32 * S, 20 * S, 40 * S);
	ok(w.begin_ns == 40 * S && w.end_ns == 40 * S,
	   "a block before the recording has an empty one");
	w = history_window__of(5 * S, UINT64_MAX, 20 * S, 0);
	ok(!w.begin_ns && w.end_ns == UINT64_MAX && w.last_ns == UINT64_MAX,
	   "times that no block has do not overflow");
}

static void test_join(void)
{
	struct history_window w = history_window__of(30 * S, 31 * S, 20 * S, 0), other;

	other = history_window__of(35 * S, 36 * S, 20 * S, 0);
	ok(history_window__join(&w, &other) && w.begin_ns == 10 * S && w.end_ns == 37 * S,
	   "a later block extends the window");
	other = history_window__of(29 * S, 30 * S, 20 * S, 0);
	ok(history_window__join(&w, &other) && w.begin_ns == 9 * S && w.end_ns == 37 * S,
	   "one that began earlier moves the begin");
	other = history_window__of(40 * S, 42 * S, 20 * S, 0);
	ok(!history_window__join(&w, &other) && w.end_ns == 37 * S,
	   "at most by half the time: then a new window begins");
	other = history_window__of(100 * S, 101 * S, 20 * S, 0);
	ok(!history_window__join(&w, &other), "windows that do not overlap are two");
}

/* --- gaps */

static struct jank_history_entry entry(unsigned kind, uint64_t t_ns, uint32_t from, uint32_t to)
{
	return (struct jank_history_entry){
		.t_ns = t_ns, .tid = to, .other_tid = from, .kind = kind
	};
}

#define SWITCH(t, from, to) entry(JANK_HISTORY_SWITCH, t, from, to)

/* "begin+length …" of the CPU's gaps. */
static const char *gaps_of(const struct jank_history_entry *entries, size_t cnt, uint64_t begin,
			   uint64_t end)
{
	static char text[256];
	struct history_cpu cpu = { .entries = (struct jank_history_entry *)entries, .cnt = cnt };
	const struct history_window window = { begin, end, end };

	text[0] = '\0';
	if (history_cpu__find_gaps(&cpu, &window))
		return "out of memory";
	for (size_t i = 0; i < cpu.gap_cnt; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%llu+%llu",
			 i ? " " : "", (unsigned long long)cpu.gaps[i].begin_ns,
			 (unsigned long long)(cpu.gaps[i].end_ns - cpu.gaps[i].begin_ns));
	free(cpu.gaps);
	return text;
}

static void test_gaps(void)
{
	const struct jank_history_entry whole[] = { SWITCH(90, 1, 2),
						    SWITCH(110, 2, 0),
						    entry(JANK_HISTORY_WAKE, 120, 5, 7),
						    SWITCH(130, 0, 7),
						    entry(JANK_HISTORY_TICK, 140, 0, 7),
						    SWITCH(150, 7, 2) };
	const struct jank_history_entry holes[] = { SWITCH(120, 1, 2), SWITCH(130, 2, 3),
						    SWITCH(150, 9, 4), SWITCH(160, 4, 5),
						    SWITCH(170, 8, 6), SWITCH(180, 7, 0) };

	is_str(gaps_of(whole, 6, 100, 200), "", "all switches are there: no gap");
	is_str(gaps_of(whole, 6, 80, 200), "80+10", "before the first one nothing is known");
	is_str(gaps_of(whole + 2, 1, 100, 200), "100+100", "a wake-up does not tell what runs");
	is_str(gaps_of(NULL, 0, 100, 200), "100+100", "without entries all is a gap");
	is_str(gaps_of(NULL, 0, 100, 100), "", "an empty window has none");
	is_str(gaps_of(holes, 6, 100, 200), "100+20 130+20 160+10 170+10",
	       "a switch from another thread than the last one: one between them is missing");
	is_str(gaps_of(holes, 6, 140, 155), "140+10", "only the part in the window counts");
}

/* --- buffers, as the probes write them */

static struct history_buffers make(uint32_t entry_cnt, uint32_t cpu_cnt)
{
	return (struct history_buffers){
		calloc((size_t)entry_cnt * cpu_cnt, sizeof(struct jank_history_entry)),
		calloc(cpu_cnt, sizeof(struct jank_history_head)),
		{ entry_cnt, cpu_cnt },
	};
}

static void drop(struct history_buffers *b)
{
	free((void *)b->entries);
	free((void *)b->heads);
}

static void put(struct history_buffers *b, uint32_t cpu, struct jank_history_entry new)
{
	struct jank_history_head *head = (struct jank_history_head *)&b->heads[cpu];
	uint32_t cnt = b->size.entry_cnt;

	((struct jank_history_entry *)b->entries)[cpu * cnt + head->cnt++ % cnt] = new;
}

/* A chain of switches at 0, 10, 20, … ns; from the second CPU on by other threads. */
static void fill(struct history_buffers *b, uint32_t cpu, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		put(b, cpu, SWITCH(10 * i, 1000 * cpu + i, 1000 * cpu + i + 1));
}

static size_t copy(const struct history_buffers *b, uint32_t cpu, uint64_t begin, uint64_t end,
		   struct jank_history_entry **ret)
{
	size_t cnt = 0;

	is_int(history_buffers__copy(b, cpu, begin, end, ret, &cnt), 0, "a copy");
	return cnt;
}

static void test_copy(void)
{
	struct history_buffers b = make(64, 2);
	struct jank_history_entry *got;
	size_t cnt;

	cnt = copy(&b, 1, 0, 1000, &got);
	is_uint(cnt, 0, "a CPU without an entry");
	ok(!history_buffers__has(&b, 1), "is offline");
	free(got);
	fill(&b, 0, 10);
	fill(&b, 1, 20);
	cnt = copy(&b, 1, 105, 150, &got);
	ok(cnt == 6 && got[0].t_ns == 100 && got[5].t_ns == 150 && got[0].tid == 1011,
	   "from the switch before the window to its end, of this CPU");
	free(got);
	put(&b, 1, entry(JANK_HISTORY_TICK, 195, 0, 1020));
	put(&b, 1, entry(JANK_HISTORY_WAKE, 196, 0, 7));
	cnt = copy(&b, 1, 197, 300, &got);
	ok(cnt == 3 && got[0].t_ns == 190, "the switch before the window counts, not a tick");
	free(got);
	drop(&b);
}

static void test_overwritten(void)
{
	struct history_buffers b = make(64, 1);
	struct jank_history_entry *got;
	size_t cnt;

	is_uint(history_buffers__reach(&b, 5000), UINT64_MAX, "nothing was overwritten yet");
	fill(&b, 0, 200);
	cnt = copy(&b, 0, 0, 5000, &got);
	/* the last 64, but for a sixteenth that is overwritten next */
	ok(cnt == 60 && got[0].t_ns == 1400 && got[59].t_ns == 1990,
	   "what is left is copied in order");
	is_str(gaps_of(got, cnt, 1000, 2000), "1000+400", "and the rest is a gap");
	is_uint(history_buffers__reach(&b, 2000), 600, "so far back the buffer reaches");
	free(got);
	cnt = copy(&b, 0, 0, 1000, &got);
	is_str(gaps_of(got, cnt, 100, 1000), "100+900", "a window that is gone is one gap");
	free(got);
	cnt = copy(&b, 0, 1700, 1800, &got);
	ok(cnt == 11 && got[0].t_ns == 1700, "a window in its middle");
	is_str(gaps_of(got, cnt, 1700, 1800), "", "is complete");
	free(got);
	drop(&b);
}

struct writer {
	struct history_buffers *buffers;
	_Atomic bool ends;
};

/* As the probe: the entry, then the head. */
static void *write_on(void *arg)
{
	struct writer *w = arg;
	struct jank_history_head *head = (struct jank_history_head *)&w->buffers->heads[0];
	struct jank_history_entry *entries = (struct jank_history_entry *)w->buffers->entries;
	uint32_t cnt = w->buffers->size.entry_cnt;

	for (uint64_t i = 0; !w->ends; i++) {
		entries[i & (cnt - 1)] = SWITCH(10 * i, (uint32_t)i, (uint32_t)i + 1);
		__atomic_store_n(&head->cnt, i + 1, __ATOMIC_RELEASE);
		if (!(i & (cnt / 2 - 1))) /* a copy takes a millisecond: some must not lose all */
			usleep(2000);
	}
	return NULL;
}

/* Number of entries that do not follow the one before. */
static size_t count_breaks(const struct jank_history_entry *got, size_t cnt)
{
	size_t breaks = 0;

	for (size_t i = 1; i < cnt; i++)
		breaks += got[i].t_ns != got[i - 1].t_ns + 10 || got[i].other_tid != got[i - 1].tid;
	return breaks;
}

/* The writer overtakes the copies: what it overwrote meanwhile is left out, never mixed in. */
static void test_overtaken(void)
{
	struct history_buffers b = make(1 << 16, 1);
	struct writer writer = { .buffers = &b };
	size_t breaks = 0, short_ones = 0, all = 0, readable = (1 << 16) - (1 << 12);
	pthread_t thread;

	pthread_create(&thread, NULL, write_on, &writer);
	while (__atomic_load_n(&b.heads[0].cnt, __ATOMIC_ACQUIRE) < 1 << 17)
		sched_yield();
	for (int i = 0; i < 100; i++) {
		struct jank_history_entry *got;
		size_t cnt = 0;

		if (history_buffers__copy(&b, 0, 0, UINT64_MAX, &got, &cnt))
			break;
		breaks += count_breaks(got, cnt);
		short_ones += cnt < readable;
		all += cnt;
		free(got);
	}
	writer.ends = true;
	pthread_join(thread, NULL);
	is_uint(breaks, 0, "each copy is one piece of the chain");
	ok(all, "of some length (%zu entries in 100 copies, %zu of them cut)", all, short_ones);
	drop(&b);
}

static void test_size(void)
{
	struct history_size size = history_size__of(20 * S, 0, 2);

	is_uint(size.entry_cnt, 1u << 19, "20 s at 25,000 entries a second");
	ok(size.entry_cnt * size.cpu_cnt * sizeof(struct jank_history_entry) <= HISTORY_BUFFERS_MAX,
	   "fit");
	size = history_size__of(600 * S, 0, 4);
	ok(size.entry_cnt == 1u << 18, "ten minutes take what there is");
	size = history_size__of(20 * S, 0, 256);
	ok((uint64_t)size.entry_cnt * 256 * sizeof(struct jank_history_entry) <=
			   HISTORY_BUFFERS_MAX &&
		   size.entry_cnt == 1u << 12,
	   "many CPUs share it");
	size = history_size__of(20 * S, 100, 2);
	is_uint(size.entry_cnt, 128, "a given number becomes a power of two");
	is_uint(history_size__of(20 * S, 1, 2).entry_cnt, 64, "at least 64");
}

int main(void)
{
	test_window();
	test_join();
	test_gaps();
	test_copy();
	test_overwritten();
	test_overtaken();
	test_size();
	return tap__done();
}
