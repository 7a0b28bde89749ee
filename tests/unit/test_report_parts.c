/* SPDX-License-Identifier: GPL-2.0 */
/* What reports share: the division of a block's time, hangs, and tables of texts. */
#include <errno.h>
#include <stdio.h>

#include "export/report/report.h"
#include "export/values.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_record.h"

/* --- weights */

static uint64_t sum(const struct weight *weights, size_t cnt, uint32_t state)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < cnt; i++)
		ns += state == JANK_STATE_CNT || weights[i].state == state ? weights[i].ns : 0;
	return ns;
}

static void check_block(const char *name, struct block *block)
{
	const Jankbpf__Block *record = fixture__record(block)->block;
	struct weight *weights;
	size_t cnt;

	if (!is_int(weights__of(record, &weights, &cnt), 0, "%s is divided", name))
		return;
	is_uint(sum(weights, cnt, JANK_STATE_CNT), record->duration_ns, "to the nanosecond");
	for (uint32_t state = 0; state < JANK_STATE_CNT; state++)
		if (sum(weights, cnt, state) != value__in_state(record->time, state))
			ok(false, "%s: the sum of %s is the account's", name,
			   value__state_word(state));
	free(weights);
}

static void test_weights(void)
{
	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct block *block = fixtures[i].make();

		check_block(fixtures[i].name, block);
		block__free(block);
	}
}

/* The wait for a CPU after a wake-up is no time of the lock. */
static void test_late(void)
{
	struct block *block = fixture__lock();
	struct weight *weights;
	size_t cnt;

	is_int(weights__of(fixture__record(block)->block, &weights, &cnt), 0, "a lock is divided");
	is_uint(weights[0].ns, 1000 * FIXTURE_MS, "the span without the wait for a CPU");
	is_uint(weights[0].state, JANK_STATE_FUTEX, "is of its state");
	is_uint(weights[1].ns, 3 * FIXTURE_MS, "the wait for a CPU");
	is_uint(weights[1].state, JANK_STATE_RUNNABLE, "is runnable");
	ok(weights[0].sample == weights[1].sample && weights[1].cnt == 0, "and the same sample");
	free(weights);
	block__free(block);
}

/* A span that claims more than the account has, and a block without an account. */
static void test_contradictions(void)
{
	struct block *block = fixture__lock();
	struct weight *weights;
	size_t cnt;

	block->state_ns[JANK_STATE_FUTEX] = 5;
	block->duration_ns = 46 * FIXTURE_MS + 4 * FIXTURE_MS + 5 + 200 * FIXTURE_MS + 7;
	check_block("a span that is too long", block);
	block__free(block);
	block = fixture__lock();
	{
		Jankbpf__Block bare = *fixture__record(block)->block;

		bare.time = NULL;
		is_int(weights__of(&bare, &weights, &cnt), 0, "a block without an account");
		is_uint(cnt, 0, "has no weight");
		free(weights);
	}
	block__free(block);
}

/* The first frame of a span's stack that a profile has. Names of the kernel begin with "k:". */
static size_t first_frame(uint32_t state, const char *const *names)
{
	struct block *block = fixture__lock();
	Jankbpf__Block bare = *fixture__record(block)->block;
	Jankbpf__Frame frames[6], *stack[6];
	Jankbpf__Sample sample = *bare.samples[0], *list[] = { &sample };
	struct weight *weights;
	size_t cnt, ret;

	for (sample.n_stack = 0; names[sample.n_stack]; sample.n_stack++) {
		const char *name = names[sample.n_stack];
		Jankbpf__Frame *frame = &frames[sample.n_stack];

		jankbpf__frame__init(frame);
		frame->kernel = !strncmp(name, "k:", 2);
		frame->function = (char *)name + (frame->kernel ? 2 : 0);
		stack[sample.n_stack] = frame;
	}
	sample.stack = stack;
	sample.state = (char *)value__state_word(state);
	sample.ns = FIXTURE_MS;
	bare.samples = list;
	bare.n_samples = 1;
	if (weights__of(&bare, &weights, &cnt))
		abort();
	ret = weights[0].first;
	free(weights);
	block__free(block);
	return ret;
}

/* The innermost kernel functions of a preemption are left out, others never. */
static void test_preemption(void)
{
#define K(name) "k:" name
	static const struct {
		uint32_t state;
		size_t first;
		const char *stack[6], *what;
	} cases[] = {
		{ JANK_STATE_RUNNABLE,
		  2,
		  { K("irqentry_exit_to_user_mode"), K("asm_sysvec_apic_timer_interrupt"), "spin" },
		  "after an interrupt" },
		{ JANK_STATE_RUNNABLE,
		  3,
		  { K("exit_to_user_mode_loop"), K("do_syscall_64"),
		    K("entry_SYSCALL_64_after_hwframe"), "write", "main" },
		  "after a system call" },
		{ JANK_STATE_RUNNABLE,
		  3,
		  { K("el0_interrupt"), K("__el0_irq_handler_common"), K("el0t_64_irq"), "spin" },
		  "arm64" },
		{ JANK_STATE_RUNNABLE,
		  1,
		  { K("__cond_resched"), K("copy_page_range"), K("do_syscall_64"), "fork" },
		  "within the kernel" },
		{ JANK_STATE_RUNNABLE,
		  0,
		  { K("do_sched_yield"), K("do_syscall_64"), "sched_yield" },
		  "a thread that yields" },
		{ JANK_STATE_RUNNABLE, 0, { "schedule", "main" }, "a function of the program" },
		{ JANK_STATE_RUNNABLE, 0, { K("asm_sysvec_x"), K("do_syscall_64") }, "no others" },
		{ JANK_STATE_FUTEX, 0, { K("schedule"), K("futex_wait"), "lock" }, "a wait" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is_uint(first_frame(cases[i].state, cases[i].stack), cases[i].first,
			"the first frame: %s", cases[i].what);
}

/* --- hangs */

struct counting {
	struct report report;
	unsigned blocks, hangs, summaries;
};

static int counting__init(struct report *report)
{
	return 0;
}

static int counting__record(struct report *report, const Jankbpf__Record *record)
{
	struct counting *c = (struct counting *)report;

	c->blocks += record->type_case == JANKBPF__RECORD__TYPE_BLOCK;
	c->hangs += record->type_case == JANKBPF__RECORD__TYPE_HANG;
	c->summaries += record->type_case == JANKBPF__RECORD__TYPE_SUMMARY;
	return 0;
}

static void counting__free(struct report *report)
{
}

static const struct report_ops counting = {
	.name = "counting",
	.size = sizeof(struct counting),
	.init = counting__init,
	.record = counting__record,
	.finish = counting__init,
	.free = counting__free,
};

static void give(struct hangs *hangs, struct report *report, struct block *block)
{
	is_int(hangs__record(hangs, report, fixture__record(block)), 0, "a record is taken");
	block__free(block);
}

static void test_hangs(void)
{
	struct report_out out = { .fd = -1 };
	struct report *report = report__new(&counting, &out);
	struct counting *c = (struct counting *)report;
	struct hangs *hangs = hangs__new();
	struct block *other = fixture__hang();

	give(hangs, report, fixture__hang());
	give(hangs, report, fixture__hang());
	is_uint(c->blocks + c->hangs, 0, "a hang waits for its block");
	give(hangs, report, fixture__hang_end());
	is_uint(c->blocks, 1, "which is used");
	free(other->id);
	other->id = strdup("another");
	give(hangs, report, other);
	is_int(hangs__finish(hangs, report), 0, "the end");
	is_uint(c->hangs, 1, "a hang without a block is used once");
	is_uint(c->blocks, 1, "no block twice");
	hangs__free(hangs);
	report__free(report);
}

/* A field with tag 0, as in a damaged file: the record can be packed, but not read again. */
static void test_damaged_hang(void)
{
	struct report_out out = { .fd = -1 };
	struct report *report = report__new(&counting, &out);
	struct hangs *hangs = hangs__new();
	uint8_t nine = 9;
	ProtobufCMessageUnknownField field = { .tag = 0, .wire_type = 0, .len = 1, .data = &nine };
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Block hang = JANKBPF__BLOCK__INIT;

	hang.id = (char *)"x";
	hang.base.n_unknown_fields = 1;
	hang.base.unknown_fields = &field;
	record.type_case = JANKBPF__RECORD__TYPE_HANG;
	record.hang = &hang;
	is_int(hangs__record(hangs, report, &record), 0, "a damaged hang is held");
	is_int(hangs__finish(hangs, report), 0, "the report can be finished");
	is_uint(report->cut_cnt, 1, "and counts what it lacks");
	hangs__free(hangs);
	report__free(report);
}

static void test_held_hang_is_freed(void)
{
	struct report_out out = { .fd = -1 };
	struct report *report = report__new(&counting, &out);
	struct hangs *hangs = hangs__new();

	give(hangs, report, fixture__hang());
	hangs__free(hangs);
	report__free(report);
}

/* --- tables */

static void test_intern(void)
{
	struct intern *table = intern__new();
	char key[32];
	bool is_new;
	size_t len;

	is_uint(intern__get(table, "a", 1, &is_new), 1, "the first key has number 1");
	ok(is_new, "and is new");
	is_uint(intern__get(table, "", 0, &is_new), 2, "an empty key has a number, too");
	is_uint(intern__get(table, "a", 1, &is_new), 1, "a known key keeps its number");
	ok(!is_new, "and is not new");
	for (int i = 0; i < 100000; i++)
		intern__get(table, key, (size_t)snprintf(key, sizeof(key), "key %d", i), &is_new);
	is_uint(intern__cnt(table), 100002, "all have numbers");
	is_uint(intern__get(table, "key 777", 7, &is_new), 780, "in order");
	ok(!memcmp(intern__key(table, 780, &len), "key 777", 7) && len == 7,
	   "a number has its key");
	intern__reset(table);
	is_uint(intern__get(table, "a", 1, &is_new), 1, "after a reset numbers begin again");
	intern__free(table);
}

static void test_full(void)
{
	struct intern *table = intern__new();
	size_t len = 1 << 20;
	char *key = calloc(1, len);
	uint32_t last = 1, cnt = 0;
	bool is_new;

	for (; last; cnt++) {
		memcpy(key, &cnt, sizeof(cnt));
		last = intern__get(table, key, len, &is_new);
	}
	ok(cnt > 20 && cnt <= 32, "a table holds 32 MiB: %u keys of 1 MiB", cnt - 1);
	is_uint(intern__get(table, key, len, &is_new), 0, "a full table has no number");
	memset(key, 0, len);
	is_uint(intern__get(table, key, len, &is_new), 1, "but finds what it has");
	free(key);
	intern__free(table);
}

int main(void)
{
	test_weights();
	test_late();
	test_preemption();
	test_contradictions();
	test_hangs();
	test_held_hang_is_freed();
	test_damaged_hang();
	test_intern();
	test_full();
	return tap__done();
}
