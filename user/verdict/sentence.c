/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread, then a clause for each part. States only what was observed; omits what is not known.
 */
#include "verdict/sentence.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "model/stack.h"
#include "verdict/analysis.h"

#define CLAUSE_MAX   2 /* of a clause more only the parts in the record tell */
#define NEARLY_ALL   0.9
#define PRESSURE_PCT 5 /* threshold for mentioning it */
#define ENDERS_SHOWN 3 /* `enders` has all of them */

/* --- a clause for time off the CPU: the object of the wait, and the place */

/* True if it is a span like the described one, in the function of that frame (NULL: in any). */
static bool is_span_in(const struct clause *c, size_t i, const struct frame *frame)
{
	const struct sample *sample = &c->block->samples[i];
	const struct frame *other = frame ? stack__app_frame(&sample->stack) : NULL;

	return c->analysis->part[i] == (int)c->nr &&
	       analysis__is_same(c->analysis, c->sample, sample, c->same | SAME_CALL) &&
	       (!frame || (other && stack__same_code(frame, other)));
}

static uint64_t ns_in(const struct clause *c, const struct frame *frame)
{
	uint64_t ret = 0;

	for (size_t i = 0; c->sample && i < c->block->sample_cnt; i++)
		if (is_span_in(c, i, frame))
			ret += analysis__weight(c->analysis, i, c->nr);
	return ret;
}

static void add_of_it(struct clause *c, uint64_t ns)
{
	strbuf__adds(c->sb, ", ");
	clock__add_duration(c->sb, ns);
	strbuf__adds(c->sb, " of it");
	c->ns = ns;
}

/*
 * Adds ", 301 ms of it" if the call named next has clearly less than the clause's time. That time
 * includes waits too short to be sent as spans; they belong to no call.
 */
static void add_part_of_it(struct clause *c, const struct frame *frame)
{
	uint64_t ns = ns_in(c, frame);

	if (ns && (double)ns < NEARLY_ALL * (double)c->ns)
		add_of_it(c, ns);
}

/* True if " for the disk" is true of all waits of the part; their files come with the call. */
static bool is_all_for_disk(const struct clause *c)
{
	for (size_t i = 0; i < c->block->sample_cnt; i++)
		if (c->analysis->part[i] == (int)c->nr &&
		    !sentence__is_for_disk(c->block->samples[i].state, c->analysis->reasons[i]))
			return false;
	return sentence__is_for_disk(c->part->state, c->part->what);
}

/*
 * Decides which waits of the part the clause describes, and so which time is theirs. The object is
 * left out if less than half of the time is for one object. Returns the time of the described ones
 * if that is not nearly all of the part; it comes after the verb. Else 0, and the clause's time
 * leaves out the others.
 */
static uint64_t choose_waits(struct clause *c)
{
	uint64_t seen = analysis__seen_ns(c->analysis, c->nr), all, own;

	if (!c->sample)
		return 0;
	all = analysis__same_ns(c->analysis, c->nr, c->sample, 0);
	own = analysis__same_ns(c->analysis, c->nr, c->sample, SAME_OBJECT);
	if (own < all - own) /* less than half */
		own = all;
	else
		c->same = SAME_OBJECT;
	if ((double)own < NEARLY_ALL * (double)seen && is_all_for_disk(c))
		return 0;
	if ((double)own < NEARLY_ALL * (double)seen)
		return analysis__same_ns(c->analysis, c->nr, c->sample, c->same | SAME_CALL);
	c->ns = c->ns > seen - own ? c->ns - (seen - own) : own;
	return 0;
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
		add_part_of_it(c, frame);
	if (sentence__add_call(c->sb, m, frame)) {
		clause__add_frame(c, frame);
		clause__add_handler(c, frame);
	}
}

/*
 * Adds " in f (clock_nanosleep of 150 ms)". Short sleeps that no span shows are like the seen ones.
 */
static void add_sleep(struct clause *c, const struct activity *m)
{
	const struct wait_object *waited = m->waited;
	const struct frame *call = wait_reason__frame(m), *frame = stack__app_frame(m->stack);
	uint64_t seen_ns = analysis__seen_ns(c->analysis, c->nr);

	if (!frame)
		frame = c->part->frame;
	if (frame && culprit__stands(c->analysis, c->nr, frame)) {
		if ((double)ns_in(c, frame) < NEARLY_ALL * (double)seen_ns)
			add_part_of_it(c, frame);
		strbuf__adds(c->sb, " in ");
		clause__add_frame(c, frame);
		clause__add_handler(c, frame);
	}
	if (!call && !m->syscall)
		return;
	strbuf__adds(c->sb, " (");
	if (call)
		words__add_function(c->sb, call);
	else
		strbuf__adds(c->sb, m->syscall);
	if ((double)c->sample->ns < NEARLY_ALL * (double)c->ns) {
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

	if (c->part->state == JANK_STATE_PAGE_FAULT && faults > 1)
		strbuf__addf(c->sb, ", %" PRIu64 " major page faults", faults);
	if ((words__is(reason, "reclaim") || words__is(reason, "swap_in") ||
	     words__is(reason, "memory_limit")) &&
	    c->block->live->cpu->psi->memory >= PRESSURE_PCT)
		strbuf__addf(c->sb, ", the machine's memory pressure at %.0f %%",
			     c->block->live->cpu->psi->memory);
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
	    waited->raw.timeout_ns == UINT64_MAX || wait_reason__is_slice(m))
		return;
	if (activity__timed_out(m) && c->ns / 3 * 2 > waited->raw.timeout_ns) {
		strbuf__adds(c->sb, ", more than once until a timeout of ");
	} else {
		strbuf__adds(c->sb,
			     activity__timed_out(m) ? ", until its timeout of " : ", timeout ");
	}
	clock__add_duration(c->sb, waited->raw.timeout_ns);
}

static void add_wait_verb(struct clause *c, bool sleeps)
{
	if (sentence__is_spent(c->part->what)) {
		strbuf__adds(c->sb, c->open ? " has spent " : " spent ");
		clock__add_duration(c->sb, c->ns);
	} else if (sleeps) {
		clause__add_verb(c, "slept", "sleeping");
	} else {
		clause__add_verb(c, "waited", "waiting");
	}
}

/* The object of the wait, who ended it, and the place: a chain comes last. */
static void add_wait_details(struct clause *c, const struct activity *m, bool chain)
{
	bool gc = words__is(c->part->what, "gc");

	if (chain && !gc)
		add_place(c, m);
	if (chain && c->block->deadlock) {
		sentence__add_deadlock(c->sb, c->block, m->waited);
		return;
	}
	sentence__add_object(c->sb, c->block, m, c->part->what);
	if (chain) {
		sentence__add_chain(c->sb, c->block, m, c->part->what, c->ns);
		return;
	}
	if (c->sample && c->same & SAME_OBJECT)
		sentence__add_other(c->sb, c->block, c->sample, c->part->what);
	if (gc)
		sentence__add_collector(c->sb, c->block, m);
	else
		add_place(c, m);
	add_details(c, m);
}

/* A thread that sleeps is frozen in its sleep: then only the end of it is known. */
static void add_frozen(struct clause *c)
{
	const struct sample *sample = c->sample;
	bool asleep = c->part->state != JANK_STATE_STOPPED;

	clause__add_verb(c, asleep ? "waited" : "was frozen for", asleep ? "waiting" : "frozen");
	strbuf__adds(c->sb, asleep ? ", at last frozen with its cgroup" : " with its cgroup");
	if (sample && sample->has_waker)
		words__add_thawer(c->sb, &sample->waker);
}

static void add_wait(struct clause *c)
{
	static const struct stack nowhere;
	struct activity m = { .state = c->part->state, .stack = &nowhere };
	uint64_t own_ns;
	bool chain, sleeps;

	c->sample = analysis__main_wait(c->analysis, c->nr);
	own_ns = choose_waits(c);
	chain = c->same & SAME_OBJECT && analysis__has_chain(c->analysis, c->nr);
	/* Prefer the wait with the chain: another may be as long, but explains less. */
	if (chain) {
		c->sample = &c->block->samples[c->block->chain_sample];
		m = activity__of_chain(c->block);
	} else if (c->sample) {
		m = activity__of_sample(c->sample);
	}
	if (!(c->same & SAME_OBJECT))
		m.waited = NULL;
	if (words__is(c->part->what, "frozen")) {
		add_frozen(c);
		return;
	}
	if (m.state == JANK_STATE_STOPPED && !c->part->what) {
		clause__add_verb(c, "was stopped for", "stopped");
		strbuf__adds(c->sb, ", by a debugger or a signal");
		return;
	}
	sleeps = m.state == JANK_STATE_SLEEP || wait_reason__is_sleep(&m);
	add_wait_verb(c, sleeps);
	if (own_ns)
		add_of_it(c, own_ns);
	if (sleeps)
		add_sleep(c, &m);
	else
		add_wait_details(c, &m, chain);
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
	return !any && c->part->state == JANK_STATE_RUNNING;
}

/* The first part of a start-up, of which only the CPU time is known. */
static bool is_unseen(const struct clause *c)
{
	return block__is_startup(c->block) && c->part->state == JANK_STATE_OTHER &&
	       !analysis__seen_ns(c->analysis, c->nr);
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
	uint32_t state = c.part->state;

	c.ns = (uint64_t)(c.part->share * (double)block__delay(analysis->block) + 0.5);
	c.open = is_open(analysis, &c);
	if (is_unseen(&c)) {
		strbuf__adds(sb, " was not watched for ");
		clock__add_duration(sb, c.ns);
		return;
	}
	if (state == JANK_STATE_RUNNING)
		clause__add_busy(&c);
	else if (state == JANK_STATE_RUNNABLE)
		clause__add_runnable(&c);
	else
		add_wait(&c);
}

/*
 * Adds "; meanwhile x (pid 12) synced files of the same device for 80 ms, and 2 others". One that
 * is in its call during a hang syncs now.
 */
static void add_syncers(struct strbuf *sb, const struct block *block)
{
	const struct other_task *first = block->syncers;

	if (!block->syncer_cnt)
		return;
	strbuf__adds(sb, "; meanwhile ");
	words__add_task(sb, block, first, NULL);
	strbuf__adds(sb, first->ns ? " synced files of the same device for "
				   : " syncs files of the same device");
	if (first->ns)
		clock__add_duration(sb, first->ns);
	if (block->syncer_cnt > 1)
		strbuf__addf(sb, ", and %zu other%s", block->syncer_cnt - 1,
			     block->syncer_cnt > 2 ? "s" : "");
}

/* Adds "; any of x (pid 12), y (pid 13) and 2 others may end that". */
static void add_enders(struct strbuf *sb, const struct block *block)
{
	size_t shown = block->ender_cnt > ENDERS_SHOWN ? ENDERS_SHOWN : block->ender_cnt;
	size_t others = block->ender_cnt - shown;

	for (size_t i = 0; i < shown; i++) {
		const struct other_task *task = &block->enders[i];

		strbuf__adds(sb, !i ? "; any of " : i + 1 == block->ender_cnt ? " and " : ", ");
		if (task->pid == block->pid)
			strbuf__adds(sb, "its own process");
		else
			words__add_task(sb, block, task, NULL);
	}
	if (others)
		strbuf__addf(sb, " and %zu other%s", others, others > 1 ? "s" : "");
	if (shown)
		strbuf__adds(sb, " may end that");
}

static void add_startup(struct strbuf *sb, const struct block *block)
{
	bool lasts = block->type == BLOCK_HANG;

	strbuf__adds(sb, lasts ? "start-up takes " : "start-up took ");
	clock__add_duration(sb, block->duration_ns);
	strbuf__adds(sb, lasts ? " so far: " : " until its first turn: ");
}

char *sentence__make(const struct analysis *analysis)
{
	struct strbuf sb = STRBUF_INIT;

	if (block__is_startup(analysis->block))
		add_startup(&sb, analysis->block);
	words__add_thread(&sb, analysis->block);
	for (size_t i = 0; i < analysis->block->cause.part_cnt && i < CLAUSE_MAX; i++) {
		if (i)
			strbuf__adds(&sb, "; also");
		add_clause(&sb, analysis, i);
	}
	add_syncers(&sb, analysis->block);
	add_enders(&sb, analysis->block);
	if (sb.failed) {
		strbuf__free(&sb);
		return NULL;
	}
	return sb.data;
}
