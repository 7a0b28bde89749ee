/* SPDX-License-Identifier: GPL-2.0 */
/*
 * `jankbpf top`: rows and faults from records, their values, the history, the pictures at every
 * size, hostile names. To look at it: test_top show [COLUMNS [LINES]]
 */
#include "export/top/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/top/screen.h"
#include "export/top/table.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_fixture_chain.h"
#include "tests/unit/export_record.h"

#define SEC 1000000000ull
#define MS  1000000ull

static struct view view;
static struct text text;

static int read_time(const char *str, uint64_t *ret_ns, struct err *err)
{
	if (strcmp(str, "20ms"))
		return err__set(err, EINVAL, "not a time");
	*ret_ns = 20 * MS;
	return 0;
}

static void begin(unsigned width, bool color, bool ascii)
{
	const struct sink_top_opts opts = {
		.text = { .color = color, .ascii = ascii, .width = width, .stacks = 2, .top = 10 },
		.interval_ns = SEC,
		.hang_ns = 5 * SEC,
		.read_time = read_time,
	};

	view__init(&view, &opts);
	text__init(&text, -1, &opts.text);
	text.width = width;
}

static void end(void)
{
	view__free(&view);
	strbuf__free(&text.out);
}

/* An interval that ends at end_s, of a loop with cnt dispatches of ns. */
static void add_interval(uint64_t end_s, uint32_t pid, const char *process, uint64_t cnt,
			 uint64_t ns, uint64_t open_ns)
{
	struct open_dispatch open = { .pid = pid,
				      .tid = pid,
				      .loop = JANK_LOOP_EPOLL,
				      .comm = "main",
				      .duration_ns = open_ns,
				      .state = JANK_STATE_FUTEX };
	struct loop_hist loop = { .pid = pid,
				  .process = identity__called(process),
				  .loop = JANK_LOOP_EPOLL,
				  .dispatch_cnt = cnt };
	struct interval interval = {
		.facts = JANKBPF__INTERVAL__INIT,
		.cost = JANKBPF__COST__INIT,
		.loops = &loop,
		.loop_cnt = 1,
		.open = &open,
		.open_cnt = open_ns > 0,
	};

	SET(&interval.facts, start_ns, (end_s - 1) * SEC);
	SET(&interval.facts, elapsed_ns, SEC);
	SET(&interval.facts, threshold_ns, 100 * MS);
	SET(&interval.cost, user_cpu_ns, 10 * MS);
	durations__add_many(&loop.durations, ns, cnt);
	if (loops_view__add(&view.loops, record__of_interval(fixture__builder(), &interval)))
		abort();
	loop_hist__clear(&loop);
}

static void add_block(const char *signature, uint64_t start_ns, uint64_t ns)
{
	struct block *block = fixture__cpu();

	block->pid = 4242;
	block->loop_name = NULL;
	block->loop = JANK_LOOP_EPOLL;
	block->start_ns = start_ns;
	block->duration_ns = ns;
	block->start_delay_ns = 0;
	snprintf(block->cause.signature, sizeof(block->cause.signature), "%s", signature);
	if (loops_view__add(&view.loops, fixture__record(block)))
		abort();
	block__free(block);
}

static struct watched_loop *only_loop(void)
{
	return (void *)view.loops.loops.first;
}

static void test_values(void)
{
	struct loop_values values;

	begin(120, false, false);
	add_interval(100, 4242, "redis", 50, 1 * MS, 0);
	add_interval(101, 4242, "redis", 200, 1 * MS, 300 * MS);
	add_block("aaaa", 101 * SEC + 200 * MS, 500 * MS);
	add_interval(102, 4242, "redis", 100, 1 * MS, 300 * MS);
	is_uint(groups__cnt(&view.loops.loops), 1, "one row");
	watched_loop__values(&view.loops, only_loop(), &values);
	ok(values.dispatches_per_s > 99 && values.dispatches_per_s < 101,
	   "the rate of the last second");
	ok(values.has_p50 && values.p50_ns > 980000 && values.p50_ns < 1020000,
	   "the median of all");
	is_uint(values.max_ns, 1 * MS, "the longest");
	is_uint(values.open_ns, 300 * MS, "the open dispatch");
	ok(values.blocks_per_min > 19.9 && values.blocks_per_min < 20.1,
	   "a block in three seconds");
	ok(values.stalled > 0.26 && values.stalled < 0.27,
	   "half a second of the block, and what is open, of three (%f)", values.stalled);
	end();
}

/* A block of three seconds is seen where it lasted, not only where it ended. */
static void test_history(void)
{
	struct stalls h = {};
	struct stalls_clock clock = { .end_ns = 100 * SEC, .cell_ns = SEC, .cnt = 60 };

	stalls__add(&h, &clock, 96 * SEC + SEC / 2, 3 * SEC);
	is_uint(stalls__stalled_ns(&h, &clock, 10), 3 * SEC, "all of it is in the last ten cells");
	is_uint(stalls__stalled_ns(&h, &clock, 1), SEC / 2, "half a second in the last one");
	is_uint(stalls__stalled_ns(&h, &clock, 2), SEC + SEC / 2, "a whole one before");
	is_uint(stalls__blocks(&h, &clock, 1), 1, "it ended in the last one");
	stalls__shift(&h);
	clock.end_ns += SEC;
	is_uint(stalls__stalled_ns(&h, &clock, 1), 0, "a second later there is none");
	stalls__add(&h, &clock, 101 * SEC + 1, SEC / 4);
	is_uint(stalls__blocks(&h, &clock, 60), 1, "the cell that has not ended does not count");
	for (int i = 0; i < STALLS_CELLS; i++) {
		stalls__shift(&h);
		clock.end_ns += SEC;
	}
	is_uint(stalls__stalled_ns(&h, &clock, 60), 0, "after five minutes it is forgotten");
	stalls__add(&h, &clock, 0, 400 * SEC);
	is_uint(stalls__stalled_ns(&h, &clock, 60), 58 * SEC,
		"a block that began before the history");
}

static size_t fault_cnt(void)
{
	size_t cnt;

	free(loops_view__faults(&view.loops, only_loop(), &cnt));
	return cnt;
}

static void test_faults(void)
{
	struct loop_fault **list;
	size_t cnt;

	begin(120, false, false);
	add_interval(100, 4242, "redis", 50, 1 * MS, 0);
	add_block("aaaa", 100 * SEC, 200 * MS);
	add_block("bbbb", 101 * SEC, 300 * MS);
	add_block("aaaa", 102 * SEC, 250 * MS);
	list = loops_view__faults(&view.loops, only_loop(), &cnt);
	ok(cnt == 2 && !strcmp(list[0]->signature, "aaaa") && list[0]->block_cnt == 2 &&
		   list[0]->total_ns == 450 * MS && list[0]->max_ns == 250 * MS,
	   "blocks of a signature are one fault, most time first");
	free(list);
	loops_view__mute(&view.loops, "aaaa");
	ok(fault_cnt() == 1 && only_loop()->muted_cnt == 2, "a muted one is counted, not listed");
	add_block("aaaa", 103 * SEC, 250 * MS);
	is_uint(only_loop()->muted_cnt, 3, "as are its later blocks");
	loops_view__mute(&view.loops, NULL);
	ok(fault_cnt() == 2 && !only_loop()->muted_cnt, "until all are shown again");
	for (unsigned i = 0; i < LOOP_FAULTS_MAX + 10; i++) {
		char signature[16];

		snprintf(signature, sizeof(signature), "%x", 0x1000 + i);
		add_block(signature, 104 * SEC, 150 * MS);
	}
	is_uint(fault_cnt(), LOOP_FAULTS_MAX, "there is a limit");
	is_uint(view.loops.no_room_cnt, 12, "and what is beyond it is counted");
	end();
}

static void test_limit(void)
{
	begin(120, false, false);
	for (uint32_t pid = 1; pid <= LOOPS_MAX + 5; pid++)
		add_interval(100, pid, "many", 1, 1 * MS, 0);
	is_uint(groups__cnt(&view.loops.loops), LOOPS_MAX, "a limit of loops");
	is_uint(view.loops.no_room_cnt, 5, "those beyond it are counted");
	for (uint64_t s = 101; s < 500; s += 20)
		add_interval(s, 1, "many", 1, 1 * MS, 0);
	add_interval(500, 5000, "new", 1, 1 * MS, 0);
	ok(groups__cnt(&view.loops.loops) <= LOOPS_MAX && view.loops.no_room_cnt == 5,
	   "one that has been idle for minutes makes room");
	end();
}

/* --- pictures */

static unsigned lines_of(const char *str, unsigned *ret_width)
{
	unsigned cnt = 1;

	*ret_width = 0;
	for (;; str++) {
		size_t len = strcspn(str, "\n");
		char *line = strndup(str, len);
		unsigned width = cells__width(line);

		free(line);
		*ret_width = width > *ret_width ? width : *ret_width;
		str += len;
		if (!*str)
			return cnt;
		cnt++;
	}
}

static void fill(void)
{
	add_interval(100, 4242, "redis\n\033[2J\xff server of a long name", 5000, 1 * MS, 700 * MS);
	for (uint32_t pid = 10; pid < 60; pid++)
		add_interval(100, pid, "worker", pid, 3 * MS, 0);
	for (unsigned i = 0; i < 30; i++) {
		char signature[16];

		snprintf(signature, sizeof(signature), "%08x", 0x10000000 + i);
		add_block(signature, 100 * SEC, (110 + i) * MS);
	}
}

static void draws(unsigned columns, unsigned lines, const char *what)
{
	unsigned width, cnt;

	text.width = columns;
	if (view__draw(&view, &text, lines))
		abort();
	cnt = lines_of(strbuf__str(&text.out), &width);
	if (columns < 40 || lines < 8)
		lines = 1;
	if (cnt != lines || width > columns || strchr(strbuf__str(&text.out), '\033'))
		ok(false, "%s in %ux%u has %u lines of %u columns", what, columns, lines, cnt,
		   width);
}

static void press(const char *keys)
{
	uint64_t ns;

	for (; *keys; keys++)
		view__key(&view, *keys == '\n' ? SCREEN_ENTER : *keys, &ns);
}

static void test_pictures(void)
{
	static const char *const keys[] = { "",	  "jjjj", "\t", "jj", "ss", "/red\n",
					    "\n", "jjj",  "q",	"?",  "q",  "t20" };

	begin(120, false, false);
	draws(80, 24, "nothing yet");
	fill();
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		press(keys[i]);
		for (unsigned columns = 1; columns < 250; columns += columns < 50 ? 7 : 33)
			for (unsigned lines = 2; lines < 60; lines += 5)
				draws(columns, lines, keys[i]);
	}
	ok(true, "pictures of every size have their lines, and no control bytes");
	end();
}

static void test_keys(void)
{
	uint64_t ns = 0;

	begin(150, false, false);
	fill();
	draws(150, 40, "rows");
	ok(strstr(strbuf__str(&text.out), "10000 dispatch") == NULL, "the head is there");
	press("t");
	press("1h");
	is_int(view__key(&view, SCREEN_ENTER, &ns), ACTION_NONE, "a threshold that is no time");
	is_str(view.message, "not a time", "is refused with its reason");
	press("t");
	press("20ms");
	ok(view__key(&view, SCREEN_ENTER, &ns) == ACTION_THRESHOLD && ns == 20 * MS, "a threshold");
	press("/zzz\n");
	draws(150, 40, "no row");
	ok(!view.loop_cnt, "a filter that fits no row");
	press("\n");
	ok(view.mode == VIEW_LOOPS && view.message[0], "there is no record then");
	press("m");
	press("d");
	ok(view.message[0], "and nothing to save or to mute");
	is_int(view__key(&view, 'q', &ns), ACTION_END, "q ends it");
	is_int(view__key(&view, SCREEN_CLOSED, &ns), ACTION_END, "so does a closed terminal");
	end();
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "show")) {
		begin(argc > 2 ? (unsigned)atoi(argv[2]) : 140, true, false);
		fill();
		view__draw(&view, &text, argc > 3 ? (unsigned)atoi(argv[3]) : 40);
		puts(strbuf__str(&text.out));
		end();
		return 0;
	}
	test_values();
	test_history();
	test_faults();
	test_limit();
	test_pictures();
	test_keys();
	record__free(fixture_builder);
	return tap__done();
}
