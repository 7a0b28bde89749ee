/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread, then a clause for each part. States only what was observed; omits what is not known.
 */
#include "verdict/sentence.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "model/stack.h"
#include "verdict/analysis.h"

#define CLAUSE_MAX   3
#define NEARLY_ALL   0.9
#define PRESSURE_PCT 5 /* threshold for mentioning it */

static void add_who(struct strbuf *sb, const struct block *block)
{
	if (block->tid == block->pid)
		strbuf__adds(sb, "main thread");
	else if (block->thread && *block->thread) {
		strbuf__adds(sb, "thread '");
		words__add_name(sb, block->thread);
		strbuf__adds(sb, "'");
	} else
		strbuf__addf(sb, "thread %" PRIu32, block->tid);
}

/* --- a clause for time off the CPU: the object of the wait, and the place */

/*
 * True if it is a span of the part in that call, from that application function (NULL: from any).
 */
static bool is_span_in(const struct clause *c, size_t i, const struct activity *m,
		       const struct frame *frame)
{
	const struct sample *sample = &c->block->samples[i];
	const struct frame *other = frame ? stack__app_frame(&sample->stack) : NULL;

	if (!analysis__weight(c->analysis, i, c->nr) || sample->state != m->state ||
	    !text__same(sample->syscall_name, m->syscall))
		return false;
	return !frame || (other && stack__same_code(frame, other));
}

/*
 * Adds ", 301 ms of it" if the call named next has clearly less than the clause's time. That time
 * includes waits too short to be sent as spans; they belong to no call.
 */
static void add_part_of_it(struct clause *c, const struct activity *m, const struct frame *frame)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < c->block->sample_cnt; i++)
		if (is_span_in(c, i, m, frame))
			ns += c->block->samples[i].ns - c->block->samples[i].runnable_ns;
	if (!ns || (double)ns >= NEARLY_ALL * (double)c->ns)
		return;
	strbuf__adds(c->sb, ", ");
	clock__add_duration(c->sb, ns);
	strbuf__adds(c->sb, " of it");
}

/* Adds the place of the part's time, if one place has enough of it. */
static void add_place(struct clause *c, const struct activity *m)
{
	const struct frame *frame = stack__app_frame(m->stack);

	if (!frame)
		frame = c->part->frame;
	if (frame && !culprit__stands(c->analysis, c->nr, frame))
		frame = NULL;
	if (m->syscall || frame)
		add_part_of_it(c, m, frame);
	if (sentence__add_call(c->sb, m, frame))
		clause__add_frame(c, frame);
}

static void add_sleep(struct clause *c, const struct activity *m)
{
	const struct wait_object *waited = m->waited;

	clause__add_verb(c, "slept", "sleeping");
	if (c->part->frame && culprit__stands(c->analysis, c->nr, c->part->frame)) {
		strbuf__adds(c->sb, " in ");
		clause__add_frame(c, c->part->frame);
	}
	if (!m->syscall)
		return;
	strbuf__addf(c->sb, " (%s", m->syscall);
	if (c->sample->ns < c->ns / 2) {
		strbuf__adds(c->sb, ", more than once");
	} else if (waited && waited->raw.hdr.flags & JANK_WAITED_TIMEOUT &&
		   waited->raw.timeout_ns != UINT64_MAX) {
		strbuf__adds(c->sb, " of ");
		clock__add_duration(c->sb, waited->raw.timeout_ns);
	}
	strbuf__adds(c->sb, ")");
}

/* Adds the number of major faults and the machine's memory pressure. */
static void add_memory(struct clause *c)
{
	const char *reason = c->part->what;
	uint64_t faults = c->block->facts.known ? c->block->facts.maj_flt_cnt : 0;

	if (part__state(c->part) == JANK_STATE_PAGE_FAULT && faults > 1)
		strbuf__addf(c->sb, ", %" PRIu64 " major page faults", faults);
	if ((words__is(reason, "reclaim") || words__is(reason, "swap_in") ||
	     words__is(reason, "memory_limit")) &&
	    c->block->load.psi_memory_pct >= PRESSURE_PCT)
		strbuf__addf(c->sb, ", the machine's memory pressure at %.0f %%",
			     c->block->load.psi_memory_pct);
}

/* Adds further facts about the wait: its file, its timeout. */
static void add_details(struct clause *c, const struct activity *m)
{
	const struct wait_object *waited = m->waited;

	if (m->state == JANK_STATE_DISK && waited && waited->path &&
	    !words__is(c->part->what, "fuse")) {
		strbuf__adds(c->sb, " (");
		sentence__add_file(c->sb, waited);
		strbuf__adds(c->sb, ")");
	}
	add_memory(c);
	if (!waited || !(waited->raw.hdr.flags & JANK_WAITED_TIMEOUT) ||
	    waited->raw.timeout_ns == UINT64_MAX || words__is(c->part->what, "gil"))
		return;
	if (activity__timed_out(m) && c->ns / 3 * 2 > waited->raw.timeout_ns) {
		strbuf__adds(c->sb, ", more than once until a timeout of ");
	} else {
		strbuf__adds(c->sb,
			     activity__timed_out(m) ? ", until its timeout of " : ", timeout ");
	}
	clock__add_duration(c->sb, waited->raw.timeout_ns);
}

static void add_wait(struct clause *c)
{
	static const struct stack nowhere;
	struct activity m = { .state = part__state(c->part), .stack = &nowhere };
	bool chain = analysis__has_chain(c->analysis, c->nr);

	/* Prefer the wait with the chain: another may be as long, but explains less. */
	if (chain) {
		c->sample = &c->block->samples[c->block->chain_sample];
		m = activity__of_chain(c->block);
	} else if (c->sample) {
		m = activity__of_sample(c->sample);
	}
	if (m.state == JANK_STATE_SLEEP) {
		add_sleep(c, &m);
		return;
	}
	if (m.state == JANK_STATE_STOPPED && !c->part->what) {
		clause__add_verb(c, "was stopped for", "stopped");
		strbuf__adds(c->sb, ", by a debugger or a signal");
		return;
	}
	if (sentence__is_spent(c->part->what)) {
		strbuf__adds(c->sb, c->open ? " has spent " : " spent ");
		clock__add_duration(c->sb, c->ns);
	} else {
		clause__add_verb(c, "waited", "waiting");
	}
	if (chain && !words__is(c->part->what, "gc"))
		add_place(c, &m);
	sentence__add_object(c->sb, c->block, &m, c->part->what);
	if (chain) {
		sentence__add_chain(c->sb, c->block, 0, &m, c->part->what);
		return;
	}
	if (c->sample)
		sentence__add_other(c->sb, c->block, c->sample, c->part->what);
	if (words__is(c->part->what, "gc"))
		sentence__add_collector(c->sb, c->block, &m);
	else
		add_place(c, &m);
	add_details(c, &m);
}

/* --- the sentence */

/* True if the part still lasts. A running part does if no sample's span is open. */
static bool is_open(const struct analysis *analysis, const struct clause *c)
{
	bool any = false;

	if (analysis->block->type != BLOCK_HANG || c->nr)
		return false;
	if (!analysis->block->duration_ns) /* it has not started */
		return true;
	for (size_t i = 0; i < analysis->block->sample_cnt; i++) {
		any |= analysis->block->samples[i].open;
		if (analysis->block->samples[i].open && analysis__weight(analysis, i, c->nr))
			return true;
	}
	return !any && part__state(c->part) == JANK_STATE_RUNNING;
}

static void add_clause(struct strbuf *sb, const struct analysis *analysis, size_t nr)
{
	struct clause c = {
		.sb = sb,
		.analysis = analysis,
		.block = analysis->block,
		.nr = nr,
		.part = &analysis->block->cause.parts[nr],
		.sample = analysis__main_sample(analysis, nr),
	};
	uint32_t state = part__state(c.part);

	c.ns = (uint64_t)(c.part->share * (double)block__delay(analysis->block) + 0.5);
	c.open = is_open(analysis, &c);
	if (state == JANK_STATE_RUNNING)
		clause__add_busy(&c);
	else if (state == JANK_STATE_RUNNABLE)
		clause__add_runnable(&c);
	else
		add_wait(&c);
}

char *sentence__make(const struct analysis *analysis)
{
	struct strbuf sb = STRBUF_INIT;

	add_who(&sb, analysis->block);
	for (size_t i = 0; i < analysis->block->cause.part_cnt && i < CLAUSE_MAX; i++) {
		if (i)
			strbuf__adds(&sb, "; also");
		add_clause(&sb, analysis, i);
	}
	if (sb.failed) {
		strbuf__free(&sb);
		return NULL;
	}
	return sb.data;
}
