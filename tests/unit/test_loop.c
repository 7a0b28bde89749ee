/* SPDX-License-Identifier: GPL-2.0 */
/* Records become dispatches with the evidence of each, and no other. */
#include "model/loop.h"

#include <errno.h>

#include "model/sample.h"
#include "tests/tap.h"
#include "tests/unit/loops_fixture.h"

#define SAMPLE_MAX     2048
#define PREEMPTOR_MAX  64
#define THREAD_MAX     65536
#define DISPATCH_BYTES (512u << 10)
#define HOSTILE	       2000

static void feed_stack(struct loops *loops, uint32_t tid, uint64_t dispatch_ns, uint64_t t_ns,
		       uint64_t ns)
{
	struct fixture_stack stack = fixture__stack(tid, dispatch_ns, t_ns, ns);

	feed(loops, &stack);
}

/* Feeds a block or hang; the caller frees the dispatch. */
static struct dispatch *complete(struct loops *loops, struct jank_rec_block rec)
{
	struct dispatch *dispatch;

	is_int(fixture__feed(loops, &rec, &dispatch), 0, "a %s is taken",
	       rec.hdr.kind == JANK_REC_HANG ? "hang" : "block");
	return dispatch;
}

static void test_evidence(void)
{
	struct loops *loops = fresh();
	struct fixture_stack span = fixture__stack(11, 100, 30 * MS, 5 * MS);
	const struct sample *sample;
	struct dispatch *d;

	span.rec.runnable_ns = MS;
	span.rec.hdr.cpu = 3;
	span.rec.hdr.flags = JANK_STACK_WAKER | JANK_STACK_WAKER_SOFTIRQ | JANK_STACK_CUT_USER;
	span.rec.waker = (struct jank_task){ .tgid = 70, .tid = 71 };
	memset(span.rec.waker.comm, 'w', JANK_COMM_SZ);
	feed(loops, &span);
	feed_stack(loops, 11, 100, 20 * MS, 0);
	d = complete(loops, fixture__block(11, 100, 50 * MS));
	ok(d && !d->hang && !d->hang_reported, "a dispatch is complete");
	is_uint(d->rec.duration_ns, 50 * MS, "with its record");
	is_uint(d->evidence.sample_cnt, 2, "and its two samples");
	is_uint(d->evidence.samples[0].t_ns, 20 * MS, "which are put in time order");
	ok(d->evidence.samples[0].state == JANK_STATE_RUNNING &&
		   d->evidence.samples[0].syscall == -1 && !d->evidence.samples[0].syscall_name &&
		   !d->evidence.samples[0].has_waker,
	   "a tick has no system call and no waker");
	sample = &d->evidence.samples[1];
	ok(sample->ns == 5 * MS && sample->runnable_ns == MS && sample->state == JANK_STATE_SLEEP,
	   "the span keeps its times");
	is_str(sample->syscall_name, "nanosleep", "and its system call, named");
	ok(sample->has_waker && sample->waker_softirq && !sample->open, "and its flags");
	is_uint(sample->cpu, 3, "and its CPU");
	is_str(sample->waker.comm, "wwwwwwwwwwwwwwww", "and its waker's whole name");
	is_uint(sample->waker.pid * 1000 + sample->waker.tid, 70071, "and ids");
	ok(sample->stack.kernel_cnt == 2 && sample->stack.user_cnt == 3 &&
		   sample->stack.addresses[4] == 0x403000,
	   "and its addresses");
	ok(sample->stack.flags & JANK_STACK_CUT_USER, "and that its stack was truncated");
	dispatch__free(d);
	loops__free(loops);
}

static void test_newer_drops_older(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_stack(loops, 11, 100, 110, 0);
	feed_stack(loops, 12, 100, 111, 0);
	feed_stack(loops, 11, 200, 210, 0);
	d = complete(loops, fixture__block(11, 200, MS));
	is_uint(d->evidence.sample_cnt, 1, "evidence of a newer dispatch replaces the older one's");
	is_uint(d->evidence.samples[0].t_ns, 210, "the newer dispatch's stays");
	dispatch__free(d);
	d = complete(loops, fixture__block(12, 100, MS));
	is_uint(d->evidence.sample_cnt, 1, "another thread's is unchanged");
	dispatch__free(d);
	feed_stack(loops, 11, 300, 310, 0);
	d = complete(loops, fixture__block(11, 400, MS));
	is_uint(d->evidence.sample_cnt, 0, "a block takes no evidence of another dispatch");
	dispatch__free(d);
	d = complete(loops, fixture__block(11, 400, MS));
	is_uint(d->evidence.sample_cnt, 0, "and evidence is used only once");
	dispatch__free(d);
	loops__free(loops);
}

/* An outside check may come too late and report a dispatch that has ended. */
static void test_late_evidence(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_stack(loops, 11, 200, 210, 0);
	feed_stack(loops, 11, 100, 209, 0);
	d = complete(loops, fixture__hang(11, 100, MS));
	ok(d->hang && !d->evidence.sample_cnt,
	   "a late hang of an older dispatch has no evidence left");
	dispatch__free(d);
	d = complete(loops, fixture__block(11, 200, MS));
	is_uint(d->evidence.sample_cnt, 1, "and does not take the newer dispatch's");
	ok(!d->hang_reported, "which is no hang");
	dispatch__free(d);
	loops__free(loops);
}

static void test_hang(void)
{
	struct loops *loops = fresh();
	struct fixture_stack part = fixture__stack(11, 100, 120, 30);
	struct dispatch *hang, *block;

	part.rec.hdr.flags = JANK_STACK_OPEN;
	fixture__slice(&part, 77, 5);
	feed_stack(loops, 11, 100, 110, 0);
	feed(loops, &part);
	hang = complete(loops, fixture__hang(11, 100, 50));
	ok(hang->hang && !hang->hang_reported, "a hang is an open dispatch");
	is_uint(hang->evidence.sample_cnt, 2, "it has the evidence so far");
	ok(hang->evidence.samples[1].open, "with the span that is open");
	is_uint(hang->evidence.preemptor_cnt, 1, "and the preemptors");
	feed_stack(loops, 11, 100, 120, 90);
	feed_stack(loops, 11, 100, 220, 0);
	block = complete(loops, fixture__block(11, 100, 150));
	ok(!block->hang && block->hang_reported, "its end says that it was reported");
	is_uint(block->hang_told_ns, 50, "and at which age");
	is_uint(block->evidence.sample_cnt, 3, "it has all of the evidence, the open span once");
	ok(!block->evidence.samples[1].open && block->evidence.samples[1].ns == 90,
	   "with its full length");
	is_uint(block->evidence.preemptor_cnt, 1, "preemptors too");
	is_uint(hang->evidence.sample_cnt + hang->evidence.samples[1].stack.addresses[4],
		2 + 0x403000, "the hang's own copy is unchanged");
	dispatch__free(hang);
	dispatch__free(block);
	block = complete(loops, fixture__block(11, 300, 150));
	ok(!block->hang_reported && !block->hang_told_ns, "the next block was not reported before");
	dispatch__free(block);
	loops__free(loops);
}

/* Only the same span that was open is replaced. */
static void test_open_part(void)
{
	struct loops *loops = fresh();
	struct fixture_stack part = fixture__stack(11, 100, 120, 30);
	struct dispatch *d;

	part.rec.hdr.flags = JANK_STACK_OPEN;
	feed(loops, &part);
	feed_stack(loops, 11, 100, 121, 20);
	feed_stack(loops, 11, 100, 121, 25);
	d = complete(loops, fixture__block(11, 100, 150));
	is_uint(d->evidence.sample_cnt, 3, "a span of another begin replaces none");
	dispatch__free(d);
	loops__free(loops);
}

/* If a dispatch has too many samples, they are thinned: each is kept or counted. */
static void test_cap(void)
{
	struct loops *loops = fresh();
	struct fixture_stack part = fixture__stack(11, 100, SAMPLE_MAX + 5, 30);
	struct dispatch *d;
	size_t cnt;

	for (unsigned i = 1; i <= SAMPLE_MAX; i++)
		feed_stack(loops, 11, 100, i, 0);
	is_uint(losses.cnt[LOSS_SAMPLES_CAPPED], 0, "%d samples are kept", SAMPLE_MAX);
	for (unsigned i = SAMPLE_MAX + 1; i < SAMPLE_MAX + 5; i++)
		feed_stack(loops, 11, 100, i, 0);
	part.rec.hdr.flags = JANK_STACK_OPEN;
	feed(loops, &part);
	d = complete(loops, fixture__hang(11, 100, MS));
	cnt = d->evidence.sample_cnt;
	ok(cnt > SAMPLE_MAX / 3 && cnt < SAMPLE_MAX, "of more, about half are kept: %zu", cnt);
	is_uint(cnt + d->evidence.capped_cnt, SAMPLE_MAX + 5, "the others are counted in the hang");
	dispatch__free(d);
	feed_stack(loops, 11, 100, SAMPLE_MAX + 5, 50);
	d = complete(loops, fixture__block(11, 100, MS));
	cnt = d->evidence.sample_cnt;
	is_uint(cnt + d->evidence.capped_cnt, SAMPLE_MAX + 5, "and in the block");
	is_uint(d->evidence.samples[0].t_ns, 1, "the first one is there");
	is_uint(d->evidence.samples[cnt - 1].ns, 50,
		"and the last, with the full span in place of its part");
	dispatch__free(d);
	feed_stack(loops, 11, 200, 210, 0);
	d = complete(loops, fixture__block(11, 200, MS));
	ok(d->evidence.sample_cnt == 1 && !d->evidence.capped_cnt,
	   "the next dispatch starts with none");
	dispatch__free(d);
	loops__free(loops);
}

/* A span with the deepest stack that a record can have. */
static void feed_deep(struct loops *loops, uint32_t tid, uint64_t dispatch_ns, uint64_t t_ns,
		      uint64_t ns)
{
	struct fixture_stack stack = fixture__stack(tid, dispatch_ns, t_ns, ns);

	stack.rec.kernel_cnt = JANK_KSTACK_MAX;
	stack.rec.user_cnt = JANK_USTACK_MAX;
	stack.rec.hdr.size = sizeof(stack.rec) + (JANK_KSTACK_MAX + JANK_USTACK_MAX) * 8;
	feed(loops, &stack);
}

static size_t bytes_of(const struct evidence *evidence)
{
	size_t sum = (evidence->sample_cap - evidence->sample_cnt) * sizeof(struct sample);

	for (size_t i = 0; i < evidence->sample_cnt; i++)
		sum += sample__bytes(&evidence->samples[i]);
	return sum;
}

static void test_deep_stacks(void)
{
	struct loops *loops = fresh();
	bool longest = false;
	struct dispatch *d;

	for (unsigned i = 1; i <= SAMPLE_MAX; i++)
		feed_deep(loops, 11, 100, i * 3 * MS, i == 700 ? 3 * MS : MS + i % 7);
	d = complete(loops, fixture__block(11, 100, MS));
	is_uint(d->evidence.bytes, bytes_of(&d->evidence),
		"the memory of a dispatch is counted right");
	ok(d->evidence.bytes <= DISPATCH_BYTES && d->evidence.sample_cnt > 100,
	   "of deep stacks fewer are kept: %zu in %zu bytes", d->evidence.sample_cnt,
	   d->evidence.bytes);
	is_uint(d->evidence.sample_cnt + d->evidence.capped_cnt, SAMPLE_MAX, "and all counted");
	for (size_t i = 0; i < d->evidence.sample_cnt; i++)
		longest |= d->evidence.samples[i].ns == 3 * MS;
	ok(longest, "the longest span is among them");
	dispatch__free(d);
	loops__free(loops);
}

/*
 * Threads of a hostile program hold the whole budget, in dispatches that do not end. Then another
 * thread stalls.
 */
static void test_budget(void)
{
	struct loops *loops = fresh();
	uint64_t kept = 0, capped = 0;
	struct dispatch *d;

	for (unsigned i = 0; i < 16; i++)
		for (uint32_t tid = 0; tid < HOSTILE; tid++)
			feed_deep(loops, 1000 + tid, 100 + tid, 1000 + i * MS, MS);
	for (unsigned i = 1; i <= 40; i++) {
		feed_stack(loops, 11, 50000, 50000 + i, i == 9 ? 5 : 1);
		for (uint32_t tid = 0; tid < HOSTILE; tid++)
			feed_deep(loops, 1000 + tid, 100 + tid, (1000 + i) * MS, MS);
	}
	d = complete(loops, fixture__block(11, 50000, MS));
	ok(d->evidence.sample_cnt > 8, "a younger dispatch keeps evidence: %zu samples",
	   d->evidence.sample_cnt);
	is_uint(d->evidence.sample_cnt + d->evidence.capped_cnt, 40, "what it lacks is counted");
	kept = d->evidence.sample_cnt;
	capped = d->evidence.capped_cnt;
	dispatch__free(d);
	for (uint32_t tid = 0; tid < HOSTILE; tid++) {
		struct jank_rec_block rec = fixture__block(1000 + tid, 100 + tid, MS);

		if (fixture__feed(loops, &rec, &d))
			break;
		if (d->evidence.sample_cnt + d->evidence.capped_cnt != 56)
			ok(false, "thread %u: %zu + %lu samples", tid, d->evidence.sample_cnt,
			   (unsigned long)d->evidence.capped_cnt);
		kept += d->evidence.sample_cnt;
		capped += d->evidence.capped_cnt;
		dispatch__free(d);
	}
	is_uint(kept + capped, 40 + 56 * HOSTILE, "so is what the others lack");
	is_uint(losses.cnt[LOSS_SAMPLES_CAPPED], capped, "the session counts the same");
	loops__free(loops);
}

static void test_preemptors(void)
{
	struct loops *loops = fresh();
	struct fixture_stack stack = fixture__stack(11, 100, 110, 50);
	struct dispatch *d;

	fixture__slice(&stack, 71, 5);
	fixture__slice(&stack, 72, 9);
	fixture__slice(&stack, 71, 5);
	fixture__slice(&stack, 73, 9);
	feed(loops, &stack);
	d = complete(loops, fixture__block(11, 100, MS));
	is_uint(d->evidence.preemptor_cnt, 3, "a preemptor is one entry, however often it ran");
	ok(d->evidence.preemptors[0].tid == 71 && d->evidence.preemptors[0].ns == 10,
	   "its slices are summed");
	ok(d->evidence.preemptors[1].tid == 72 && d->evidence.preemptors[2].tid == 73,
	   "the longest come first");
	is_str(d->evidence.preemptors[0].comm, "other", "with their names");
	dispatch__free(d);
	loops__free(loops);
}

static void test_preemptor_prio(void)
{
	static const uint16_t prios[] = { 51, 122, 40 };
	struct loops *loops = fresh();
	struct fixture_stack stack = fixture__stack(11, 100, 110, 50);
	struct dispatch *d;

	fixture__slice(&stack, 71, 9);
	fixture__slice(&stack, 72, 5);
	fixture__slice(&stack, 71, 9);
	fixture__prios(&stack, prios);
	feed(loops, &stack);
	stack = fixture__stack(11, 100, 170, 50);
	fixture__slice(&stack, 72, 5);
	fixture__slice(&stack, 73, 1);
	feed(loops, &stack);
	d = complete(loops, fixture__block(11, 100, MS));
	is_uint(d->evidence.preemptors[0].prio, 40,
		"a preemptor has the priority of its last slice");
	is_uint(d->evidence.preemptors[1].prio, 122, "a slice without one does not change it");
	is_uint(d->evidence.preemptors[2].prio, 0, "and 0 if none was sent");
	dispatch__free(d);
	loops__free(loops);
}

static void feed_waited(struct loops *loops, uint32_t tid, uint64_t dispatch_ns, uint64_t t_ns,
			uint32_t owner)
{
	struct jank_rec_waited rec = fixture__waited(tid, dispatch_ns, t_ns, owner);

	feed(loops, &rec);
}

static uint32_t owner(const struct dispatch *d, size_t sample)
{
	const struct wait_object *waited = d->evidence.samples[sample].waited;

	return waited ? waited->raw.owner : 0;
}

static void test_waited(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_waited(loops, 11, 100, 110, 70);
	feed_waited(loops, 12, 100, 110, 71);
	feed_stack(loops, 11, 100, 110, 5);
	feed_stack(loops, 11, 100, 120, 5);
	feed_waited(loops, 11, 100, 130, 72);
	feed_stack(loops, 11, 100, 140, 5);
	feed_waited(loops, 11, 100, 150, 73);
	feed_waited(loops, 11, 100, 151, 74);
	feed_stack(loops, 11, 100, 151, 5);
	feed_waited(loops, 11, 100, 160, 75);
	d = complete(loops, fixture__block(11, 100, MS));
	is_uint(d->evidence.sample_cnt, 4, "what was waited for is no sample");
	is_uint(owner(d, 0), 70, "it belongs to the next span");
	is_uint(owner(d, 1), 0, "and to no other");
	is_uint(owner(d, 2), 0, "nor to one with another begin");
	is_uint(owner(d, 3), 74, "if its span was lost, the next one replaces it");
	dispatch__free(d);
	feed_waited(loops, 11, 200, 210, 76);
	feed_stack(loops, 11, 300, 210, 5);
	d = complete(loops, fixture__block(11, 300, MS));
	is_uint(owner(d, 0), 0, "an older dispatch's is dropped");
	dispatch__free(d);
	loops__free(loops);
}

static void test_waited_in_hang(void)
{
	struct loops *loops = fresh();
	struct fixture_stack part = fixture__stack(11, 100, 120, 30);
	struct dispatch *hang, *block;

	part.rec.hdr.flags = JANK_STACK_OPEN;
	feed_waited(loops, 11, 100, 120, 70);
	feed(loops, &part);
	hang = complete(loops, fixture__hang(11, 100, 50));
	feed_stack(loops, 11, 100, 120, 90);
	block = complete(loops, fixture__block(11, 100, 150));
	ok(owner(hang, 0) == 70 && owner(block, 0) == 70,
	   "a hang and its end both have what was waited for");
	dispatch__free(block);
	is_uint(owner(hang, 0), 70, "each its own copy");
	dispatch__free(hang);
	feed_waited(loops, 11, 200, 220, 70);
	part.rec.dispatch_ns = 200;
	part.rec.t_ns = 220;
	feed(loops, &part);
	feed_waited(loops, 11, 200, 220, 71);
	feed_stack(loops, 11, 200, 220, 90);
	block = complete(loops, fixture__block(11, 200, 150));
	is_uint(owner(block, 0), 71, "that of the full span replaces that of the part");
	dispatch__free(block);
	loops__free(loops);
}

static void test_facts(void)
{
	struct loops *loops = fresh();
	struct jank_rec_facts facts = fixture__facts(11, 100, 7);
	struct dispatch *d;

	feed(loops, &facts);
	d = complete(loops, fixture__hang(11, 100, MS));
	ok(d->evidence.facts.known && d->evidence.facts.throttled_ns == 7, "a hang has its facts");
	dispatch__free(d);
	facts.throttled_ns = 9;
	feed(loops, &facts);
	d = complete(loops, fixture__block(11, 100, MS));
	is_uint(d->evidence.facts.throttled_ns, 9, "its end has newer ones");
	ok(d->evidence.facts.stolen_ns == 2 && d->evidence.facts.maj_flt_cnt == 3 &&
		   d->evidence.facts.min_flt_cnt == 4 && d->evidence.facts.prio == 122 &&
		   d->evidence.facts.policy == 1 && d->evidence.facts.cpus_allowed == 2,
	   "all of them");
	dispatch__free(d);
	feed(loops, &facts);
	d = complete(loops, fixture__block(11, 200, MS));
	ok(!d->evidence.facts.known, "another dispatch's are not used");
	dispatch__free(d);
	loops__free(loops);
}

static void test_preemptor_cap(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	for (uint32_t i = 0; i < PREEMPTOR_MAX + 6; i += 10) {
		struct fixture_stack stack = fixture__stack(11, 100, 110 + i, 50);

		for (uint32_t j = 0; j < 10; j++)
			fixture__slice(&stack, 1000 + i + j, 5);
		feed(loops, &stack);
	}
	d = complete(loops, fixture__block(11, 100, MS));
	is_uint(d->evidence.preemptor_cnt, PREEMPTOR_MAX, "at most %d preemptors are kept",
		PREEMPTOR_MAX);
	is_uint(losses.cnt[LOSS_PREEMPTORS_CAPPED], 6, "the others' slices are counted");
	dispatch__free(d);
	loops__free(loops);
}

static void test_thread_end(void)
{
	struct loops *loops = fresh();
	struct jank_rec_thread end = fixture__thread(11, 7, 2);
	struct hist_totals totals;
	struct dispatch *d;

	feed_stack(loops, 11, 100, 110, 0);
	feed(loops, &end);
	totals = hists__totals(loops__ended(loops));
	ok(totals.dispatch_cnt == 7 && totals.block_cnt == 2, "a thread's end brings its counts");
	d = complete(loops, fixture__block(11, 100, MS));
	is_uint(d->evidence.sample_cnt, 0, "and drops its evidence: the id may be reused");
	dispatch__free(d);
	loops__free(loops);
}

static void test_thread_cap(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	for (uint32_t tid = 1; tid <= THREAD_MAX; tid++)
		dispatch__free(
			(fixture__feed(loops,
				       &(struct jank_rec_block[]){ fixture__block(tid, 1, 1) }, &d),
			 d));
	is_uint(losses.cnt[LOSS_THREADS_CAPPED], 0, "%d threads are known", THREAD_MAX);
	feed_stack(loops, THREAD_MAX + 1, 100, 110, 0);
	is_uint(losses.cnt[LOSS_THREADS_CAPPED], 1,
		"a sample of a further thread is counted as lost");
	d = complete(loops, fixture__block(THREAD_MAX + 1, 100, MS));
	ok(d && !d->evidence.sample_cnt, "its block is reported without evidence");
	is_uint(losses.cnt[LOSS_THREADS_CAPPED], 2, "which is counted");
	dispatch__free(d);
	loops__free(loops);
}

static void test_others(void)
{
	struct loops *loops = fresh();
	struct jank_rec_loop loop = { .hdr = fixture__hdr(JANK_REC_LOOP, sizeof(loop), 11) };
	struct jank_rec_exec exec = { .hdr = fixture__hdr(JANK_REC_EXEC, sizeof(exec), 11) };

	feed(loops, &loop);
	feed(loops, &exec);
	is_uint(losses__total(&losses), 0, "records of loops and programs are accepted");
	dispatch__free(NULL);
	loops__free(loops);
	loops__free(NULL);
}

int main(void)
{
	test_evidence();
	test_newer_drops_older();
	test_late_evidence();
	test_hang();
	test_open_part();
	test_cap();
	test_deep_stacks();
	test_budget();
	test_preemptors();
	test_preemptor_prio();
	test_preemptor_cap();
	test_waited();
	test_waited_in_hang();
	test_facts();
	test_thread_end();
	test_thread_cap();
	test_others();
	return tap__done();
}
