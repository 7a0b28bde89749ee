/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged records through decoder, loops, judge, blame and exports: what is accepted keeps its
 * promises.
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "export/json/json.h"
#include "export/record/record.h"
#include "export/sink.h"
#include "model/chain/chain.h"
#include "model/loop.h"
#include "model/stack.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message.h"
#include "tests/tap.h"
#include "tests/unit/export_record.h"
#include "tests/unit/model_fixture.h"
#include "verdict/blame.h"

#define RECORDS_PER_ROUND 400
#define SAMPLE_MAX	  2048

static struct {
	struct fuzz fuzz;
	struct loops *loops;
	struct sink *text;
	size_t bytes; /* of this round */
	uint64_t records, decoded, blocks, links, read, refused;
	const char *broken; /* the broken promise */
} run;

/* A stack, of a dispatch or of another thread, with random tails. */
static size_t make_stack(void *buf, uint32_t tid, uint64_t dispatch_ns)
{
	static const uint16_t prios[] = { 1, 122, UINT16_MAX };
	struct fuzz *f = &run.fuzz;
	struct fixture_stack stack =
		fixture__stack(tid, dispatch_ns, fuzz__below(f, 9), fuzz__below(f, 20));

	stack.rec.state = fuzz__below(f, JANK_STATE_CNT);
	stack.rec.hdr.flags = fuzz__below(f, 64);
	stack.rec.hdr.ts_ns = fuzz__chance(f, 9) ? fuzz__number(f) : fuzz__below(f, 20);
	stack.rec.runnable_ns = fuzz__below(f, 3);
	if (!fuzz__chance(f, 4))
		stack.rec.hdr.flags &= ~JANK_STACK_WAKER_SOFTIRQ;
	stack.rec.waker.tid = 10 + fuzz__below(f, 5);
	stack.rec.waker.tgid = 10;
	if (fuzz__chance(f, 3)) {
		stack.rec.hdr.kind = JANK_REC_OTHER;
		stack.rec.dispatch_ns = 0;
		stack.rec.hdr.flags |= fuzz__chance(f, 2) ? 0 : JANK_STACK_BEFORE;
	}
	if (stack.rec.hdr.kind == JANK_REC_OTHER && fuzz__chance(f, 4)) {
		stack.rec.hdr.flags = JANK_STACK_WAKES;
		stack.rec.ns = 0;
	}
	for (size_t i = fuzz__below(f, 4); i; i--)
		fixture__slice(&stack, fuzz__below(f, 99), fuzz__number(f));
	if (fuzz__chance(f, 2))
		fixture__prios(&stack, prios);
	memcpy(buf, &stack, stack.rec.hdr.size);
	return stack.rec.hdr.size;
}

static size_t make_waited(void *buf, uint32_t tid, uint64_t dispatch_ns)
{
	struct fuzz *f = &run.fuzz;
	struct jank_rec_waited rec = fixture__waited(tid, fuzz__chance(f, 2) ? dispatch_ns : 0,
						     fuzz__below(f, 9), 10 + fuzz__below(f, 5));

	rec.hdr.flags = fuzz__below(f, 32);
	rec.futex_word = fuzz__below(f, 4);
	rec.args[0] = fuzz__below(f, 2);
	rec.args[1] = fuzz__below(f, 16);
	rec.args[2] = 2;
	memcpy(buf, &rec, sizeof(rec));
	return sizeof(rec);
}

/* A valid record of any kind; returns its size. */
static size_t make(void *buf)
{
	struct fuzz *f = &run.fuzz;
	uint32_t tid = 10 + fuzz__below(f, 4);
	uint64_t dispatch_ns = 100 + (fuzz__chance(f, 8) ? fuzz__below(f, 3) : 0);
	uint64_t ns = fuzz__chance(f, 2) ? fuzz__number(f) >> 8 : fuzz__below(f, 200);
	struct jank_rec_block block = fixture__block(tid, dispatch_ns, ns);
	struct jank_rec_facts facts = fixture__facts(tid, dispatch_ns, fuzz__number(f));
	struct jank_rec_thread thread = fixture__thread(tid, 5, 1);
	const struct jank_rec *rec = &block.hdr;

	switch (fuzz__below(f, 16)) {
	case 0:
	case 1:
		fixture__spend(&block, fuzz__below(f, JANK_STATE_CNT), ns ? fuzz__below(f, ns) : 0);
		block.hdr.kind = fuzz__chance(f, 3) ? JANK_REC_HANG : JANK_REC_BLOCK;
		break;
	case 2:
		rec = &thread.hdr;
		break;
	case 3:
		rec = &facts.hdr;
		break;
	case 4:
	case 5:
		return make_waited(buf, tid, dispatch_ns);
	default:
		return make_stack(buf, tid, dispatch_ns);
	}
	memcpy(buf, rec, rec->size);
	return rec->size;
}

static const char *nasty(void)
{
	static const char *const names[] = {
		NULL,
		"",
		"f",
		"a.b.c",
		".",
		"..",
		"x [clone .isra.0]",
		" [clone ",
		"\x1b[31m",
		"\xff\xfe",
		"a\nb",
		"operator<<",
		"f<g<h>(int)>(char const*, ...)",
		"((((((",
		"))))",
		"<<<<",
		"/",
		"/a/",
		"[jit]",
		"work.constprop.0.isra.1.cold.2",
		"_start",
		"bpf_prog",
		"\"\\\"",
		"\xe2\x80\xae",
	};

	return names[fuzz__below(&run.fuzz, sizeof(names) / sizeof(names[0]))];
}

/* Names as a symbolizer might find them in a hostile program. */
static void name_stack(struct stack *stack)
{
	uint32_t cnt = stack->kernel_cnt + stack->user_cnt;

	stack->frames = calloc(cnt + 1, sizeof(*stack->frames));
	for (uint32_t j = 0; j < cnt; j++)
		stack->frames[stack->frame_cnt++] = (struct frame){
			.address = stack->addresses[j],
			.function = nasty(),
			.module = nasty(),
			.file = nasty(),
			.build_id = nasty(),
			.offset = fuzz__number(&run.fuzz),
			.line = fuzz__number(&run.fuzz),
			.kernel = j < stack->kernel_cnt,
			.app = fuzz__chance(&run.fuzz, 2),
			.inlined = fuzz__chance(&run.fuzz, 4),
		};
	stack__trim_probe(stack);
	stack__trim_stray(stack);
}

static void name(struct block *block)
{
	for (size_t i = 0; i < block->sample_cnt; i++)
		name_stack(&block->samples[i].stack);
	for (size_t i = 0; i < block->chain_cnt; i++) {
		name_stack(&block->chain[i].stack);
		name_stack(&block->chain[i].wake_stack);
	}
	if (fuzz__chance(&run.fuzz, 2))
		chain__resolve_owners(block);
}

static void promise(bool kept, const char *what)
{
	if (!kept && !run.broken)
		run.broken = what;
}

static void check_chain(const struct block *block)
{
	promise(block->chain_cnt <= CHAIN_MAX, "a chain is bounded");
	if (block->chain_cnt)
		promise(block->chain_sample < block->sample_cnt, "a chain explains a sample");
	for (size_t i = 0; i < block->chain_cnt; i++) {
		const struct link *link = &block->chain[i], *before = link - 1;
		uint64_t left = link->ns;

		for (int j = 0; j < JANK_STATE_CNT; j++) {
			promise(link->part_ns[j] <= left, "parts are within the whole");
			left -= link->part_ns[j];
		}
		promise(link->ns && link->state <= JANK_STATE_CNT, "a link has a time and a state");
		promise(!i || (link->t_ns >= before->t_ns &&
			       link->t_ns + link->ns <= before->t_ns + before->ns),
			"a link's time lies within that of the one before");
		promise(link->task.tid != block->tid, "no thread waits for itself");
	}
	run.links += block->chain_cnt;
}

/* A damaged text or message is refused or read; what was read can be written again. */
static void check_readers(struct strbuf *json)
{
	Jankbpf__Record *record = NULL;
	struct strbuf again = STRBUF_INIT;
	struct err err = { 0 };
	uint64_t unknown_cnt;
	uint8_t *bytes;
	size_t len;

	if (json__read_record(json->data, json->len, &record, &unknown_cnt, &err)) {
		run.refused++;
		return;
	}
	run.read++;
	fuzz__message(&run.fuzz, &record->base);
	len = jankbpf__record__get_packed_size(record);
	bytes = malloc(len);
	jankbpf__record__pack(record, bytes);
	jankbpf__record__free_unpacked(record, NULL);
	fuzz__encoded(&run.fuzz, bytes, len);
	record = jankbpf__record__unpack(NULL, len, bytes);
	if (record)
		json__add_record(&again, record);
	promise(!memchr(again.data ? again.data : "", '\n', again.len), "one line again");
	jankbpf__record__free_unpacked(record, NULL);
	free(bytes);
	fuzz__damage(&run.fuzz, json->data, json->len);
	record = NULL;
	json__read_record(json->data, json->len, &record, &unknown_cnt, &err);
	jankbpf__record__free_unpacked(record, NULL);
	strbuf__free(&again);
}

static void check_block(const struct block *block)
{
	struct strbuf json = STRBUF_INIT;
	json_error_t error = { 0 };
	uint64_t sum = 0;
	json_t *tree;

	for (int i = 0; i < JANK_STATE_CNT; i++)
		sum += block->state_ns[i];
	promise(sum == block->duration_ns, "the account is the duration");
	promise(block->sample_cnt <= SAMPLE_MAX, "samples are bounded");
	for (size_t i = 1; i < block->sample_cnt; i++)
		promise(block->samples[i - 1].t_ns <= block->samples[i].t_ns,
			"samples are in time order");
	for (size_t i = 1; i < block->preemptor_cnt; i++)
		promise(block->preemptors[i - 1].ns >= block->preemptors[i].ns,
			"the longest come first");
	check_chain(block);
	promise(block->cause.share >= 0 && block->cause.share <= 1, "a share is from 0 to 1");
	promise(strlen(block->cause.signature) == CAUSE_SIGNATURE_LEN,
		"a signature has its length");
	fixture__add_block(&json, block);
	tree = json_loads(strbuf__str(&json), JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL,
			  &error);
	if (!tree)
		diag("%s at %d: %.60s", error.text, error.position,
		     strbuf__str(&json) + (error.position > 40 ? error.position - 40 : 0));
	promise(tree && !strchr(strbuf__str(&json), '\n'), "JSON is JSON, in one line");
	json_decref(tree);
	check_readers(&json);
	strbuf__free(&json);
}

static void judge(struct dispatch *dispatch)
{
	static const struct host_info host = { .name = (char *)"h", .boot_id = (char *)"b" };
	struct fuzz *f = &run.fuzz;
	struct judge j = {
		.threshold_ns = fuzz__below(f, 10),
		.fps = fuzz__number(f),
		.debugging = fuzz__chance(f, 2),
		.host = &host,
		.real_offset_ns = fuzz__chance(f, 4) ? (int64_t)fuzz__number(f) : 0,
	};
	Jankbpf__Cpu *cpu;
	struct block *block;

	if (judge__dispatch(&j, dispatch, NULL, &block) <= 0)
		return;
	run.blocks++;
	cpu = block->live->cpu;
	cpu->has_total_pct = cpu->has_user_pct = cpu->has_system_pct = true;
	cpu->total_pct = fuzz__below(f, 100);
	cpu->user_pct = 1e300;
	cpu->system_pct = -0.0;
	cpu->busy = true;
	name(block);
	blame__block(block);
	check_block(block);
	promise(!run.text->ops->record(run.text, fixture__record(block)), "text is written");
	block__free(block);
}

static void feed(void)
{
	union {
		struct fixture_stack stacks[2];
		struct jank_rec_thread thread;
	} room;
	void *buf = &room;
	size_t len = make(buf);
	struct dispatch *dispatch = NULL;
	struct event event;
	void *exact;

	if (fuzz__chance(&run.fuzz, 2))
		for (size_t i = fuzz__below(&run.fuzz, 4); i; i--)
			fuzz__damage(&run.fuzz, buf, len);
	if (fuzz__chance(&run.fuzz, 8))
		len = fuzz__below(&run.fuzz, sizeof(room));
	exact = fixture__exact(buf, len);
	run.records++;
	run.bytes += len;
	if (!decode__record(exact, len, &event)) {
		run.decoded++;
		promise(!loops__event(run.loops, &event, &dispatch), "loops accept every event");
	}
	free(exact);
	if (dispatch)
		judge(dispatch);
	dispatch__free(dispatch);
}

static void list_all(void)
{
	struct loop_hist *list;
	size_t cnt;

	promise(!hists__list(loops__ended(run.loops), &list, &cnt), "counts are listed");
	free(list);
}

int main(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct losses losses = { 0 };

	run.fuzz = fuzz__begin(60);
	run.text = sink_text__new(null, &(struct sink_text_opts){ .ascii = true, .verbosity = 2 });
	while (!run.broken && fuzz__goes_on(&run.fuzz)) {
		run.loops = loops__new(&losses);
		run.bytes = 0;
		for (int i = 0; i < RECORDS_PER_ROUND && !run.broken; i++)
			feed();
		list_all();
		loops__free(run.loops);
		cost__end(&run.fuzz.cost, run.bytes);
	}
	run.text->ops->free(run.text);
	close(null);
	diag("%llu records, %llu decoded, %llu blocks, %llu links in %llu rounds",
	     (unsigned long long)run.records, (unsigned long long)run.decoded,
	     (unsigned long long)run.blocks, (unsigned long long)run.links,
	     (unsigned long long)run.fuzz.round);
	ok(!run.broken, "damaged records break no promise%s%s", run.broken ? ": " : "",
	   run.broken ? run.broken : "");
	ok(run.decoded > run.records / 4 && run.decoded < run.records && run.blocks > 100 &&
		   run.links > 20,
	   "some were accepted, some not, and there were blocks with chains");
	ok(run.read > 10,
	   "records were read again (%llu, %llu refused for numbers that JSON's reader has no type for)",
	   (unsigned long long)run.read, (unsigned long long)run.refused);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
