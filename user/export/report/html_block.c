/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the page shows of a block: its numbers and verdict, its time by state and stack, its longest
 * spans, and its chain. Times are in ns since the begin of the delay.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export/report/html.h"
#include "export/values.h"

#define SPANS_FULL  60
#define SPANS_BRIEF 8

static void add_number(struct jsonw *w, uint64_t v)
{
	jsonw__u64(w, v > HTML_NUMBER_MAX ? HTML_NUMBER_MAX : v);
}

static void add_known(struct jsonw *w, const char *key, uint64_t v)
{
	if (!v)
		return;
	jsonw__key(w, key);
	add_number(w, v);
}

/* The time since the begin of the delay; negative before it. */
static void add_since(struct jsonw *w, uint64_t due, uint64_t ns)
{
	uint64_t distance = ns > due ? ns - due : due - ns;
	int64_t v = distance > HTML_NUMBER_MAX ? HTML_NUMBER_MAX : (int64_t)distance;

	jsonw__i64(w, ns < due ? -v : v);
}

static void add_time(struct jsonw *w, const Jankbpf__Time *time)
{
	jsonw__array(w);
	for (uint32_t state = 0; state < JANK_STATE_CNT; state++)
		add_number(w, value__in_state(time, state));
	jsonw__array_end(w);
}

/* --- numbers of texts */

static uint32_t waited_text(struct html *h, const Jankbpf__WaitedFor *waited, const char *syscall)
{
	if (!waited)
		return 0;
	strbuf__reset(&h->name);
	wait__add_phrase(&h->name, waited, 0, syscall, true);
	return h->name.len ? html__text(h, strbuf__str(&h->name)) : 0;
}

static uint32_t waker_text(struct html *h, const Jankbpf__Waker *waker)
{
	if (!waker)
		return 0;
	strbuf__reset(&h->name);
	strbuf__addf(&h->name, "%s (%" PRIu32 ")%s", value__name(waker->comm), waker->tid,
		     waker->softirq ? ", soft interrupt" : "");
	return html__text(h, strbuf__str(&h->name));
}

/* --- parts */

static void add_cause(struct html *h, struct jsonw *w, const Jankbpf__Cause *cause)
{
	if (!cause)
		return;
	jsonw__kstr_known(w, "kind", cause->kind);
	jsonw__kstr_known(w, "what", cause->what);
	jsonw__kstr_known(w, "say", cause->summary);
	jsonw__kstr_known(w, "sig", cause->signature);
	if (cause->has_confidence) {
		jsonw__key(w, "conf");
		jsonw__fixed(w, cause->confidence, 2);
	}
	if (cause->frame)
		add_known(w, "frame", html__frame(h, cause->frame));
	jsonw__karray(w, "parts");
	for (size_t i = 0; i < cause->n_parts; i++) {
		const Jankbpf__CausePart *part = cause->parts[i];

		jsonw__array(w);
		jsonw__str(w, part->kind);
		jsonw__str(w, part->what);
		jsonw__fixed(w, value__share(part->share), 3);
		jsonw__u64(w, part->frame ? html__frame(h, part->frame) : 0);
		jsonw__array_end(w);
	}
	jsonw__array_end(w);
}

static int add_weights(struct html *h, struct jsonw *w, const Jankbpf__Block *block)
{
	struct merged *list;
	size_t cnt;
	int res = merged__of(block, &list, &cnt);

	if (res)
		return res;
	jsonw__karray(w, "w");
	for (size_t i = 0; i < cnt; i++) {
		const Jankbpf__Sample *sample = list[i].sample;

		jsonw__array(w);
		jsonw__u64(w, list[i].state);
		add_number(w, list[i].ns);
		jsonw__u64(w, list[i].cnt);
		jsonw__u64(w, sample ? html__stack(h, sample->stack, sample->n_stack) : 0);
		jsonw__u64(w, sample ? html__text(h, sample->syscall) : 0);
		jsonw__array_end(w);
	}
	jsonw__array_end(w);
	free(list);
	return 0;
}

/* --- spans */

static int by_length(const void *pa, const void *pb)
{
	const Jankbpf__Sample *a = *(Jankbpf__Sample *const *)pa,
			      *b = *(Jankbpf__Sample *const *)pb;

	return (a->ns < b->ns) - (a->ns > b->ns) ?: (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

static int by_begin(const void *pa, const void *pb)
{
	const Jankbpf__Sample *a = *(Jankbpf__Sample *const *)pa,
			      *b = *(Jankbpf__Sample *const *)pb;

	return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

static void add_span(struct html *h, struct jsonw *w, uint64_t due, const Jankbpf__Sample *span)
{
	const Jankbpf__Waker *waker = span->waker;

	jsonw__array(w);
	add_since(w, due, span->t_ns);
	add_number(w, span->ns);
	jsonw__u64(w, value__state(span->state));
	add_number(w, span->runnable_ns);
	jsonw__u64(w, html__text(h, span->syscall));
	jsonw__u64(w, waited_text(h, span->waited_for, span->syscall));
	jsonw__u64(w, waker_text(h, waker));
	jsonw__u64(w, waker ? html__stack(h, waker->stack, waker->n_stack) : 0);
	jsonw__u64(w, html__stack(h, span->stack, span->n_stack));
	jsonw__array_end(w);
}

/* An even spread: the first tick of each of max parts. */
static bool is_spread(size_t n, size_t cnt, size_t max)
{
	return cnt <= max || !n || n * max / cnt != (n - 1) * max / cnt;
}

static void add_ticks(struct html *h, struct jsonw *w, const Jankbpf__Block *block, size_t cnt,
		      size_t max)
{
	uint64_t due = value__due(block);
	size_t n = 0;

	jsonw__karray(w, "ticks");
	for (size_t i = 0; i < block->n_samples; i++) {
		const Jankbpf__Sample *tick = block->samples[i];

		if (!value__is_tick(tick) || !is_spread(n++, cnt, max))
			continue;
		jsonw__array(w);
		add_since(w, due, tick->t_ns);
		jsonw__u64(w, html__stack(h, tick->stack, tick->n_stack));
		jsonw__array_end(w);
	}
	jsonw__array_end(w);
}

static int add_spans(struct html *h, struct jsonw *w, const Jankbpf__Block *block, size_t max)
{
	Jankbpf__Sample **spans = calloc(block->n_samples + 1, sizeof(*spans));
	size_t cnt = 0, shown;

	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < block->n_samples; i++)
		if (!value__is_tick(block->samples[i]))
			spans[cnt++] = block->samples[i];
	qsort(spans, cnt, sizeof(*spans), by_length);
	shown = cnt < max ? cnt : max;
	qsort(spans, shown, sizeof(*spans), by_begin);
	jsonw__karray(w, "spans");
	for (size_t i = 0; i < shown; i++)
		add_span(h, w, value__due(block), spans[i]);
	jsonw__array_end(w);
	add_known(w, "more", cnt - shown);
	add_ticks(h, w, block, block->n_samples - cnt, max);
	free(spans);
	return 0;
}

/* --- the chain */

static void add_link(struct html *h, struct jsonw *w, uint64_t due, const Jankbpf__Link *link)
{
	jsonw__array(w);
	jsonw__str(w, value__name(link->role));
	jsonw__u64(w, link->pid);
	jsonw__u64(w, link->tid);
	jsonw__u64(w, html__text(h, link->comm));
	jsonw__u64(w, html__text(h, link->process));
	add_since(w, due, link->t_ns);
	add_number(w, link->ns);
	jsonw__u64(w, value__state(link->state));
	add_time(w, link->time);
	jsonw__u64(w, html__text(h, link->syscall));
	jsonw__u64(w, waited_text(h, link->waited_for, link->syscall));
	jsonw__u64(w, html__stack(h, link->stack, link->n_stack));
	jsonw__u64(w, html__stack(h, link->wake_stack, link->n_wake_stack));
	jsonw__array_end(w);
}

static void add_chain(struct html *h, struct jsonw *w, const Jankbpf__Block *block)
{
	if (!block->n_chain)
		return;
	jsonw__karray(w, "chain");
	for (size_t i = 0; i < block->n_chain; i++)
		add_link(h, w, value__due(block), block->chain[i]);
	jsonw__array_end(w);
	if (block->has_chain_sample) {
		jsonw__key(w, "explains");
		add_since(w, value__due(block), block->chain_sample);
	}
}

int html__add_block(struct html *h, struct jsonw *w, const Jankbpf__Block *block, bool is_hang,
		    bool full)
{
	uint64_t due = value__due(block);
	int res;

	jsonw__object(w);
	add_known(w, "hang", is_hang);
	add_known(w, "o", html__thread(h, block));
	jsonw__kstr_known(w, "id", block->id);
	jsonw__kstr_known(w, "start", block->start);
	if (block->start)
		add_known(w, "real", value__real_ns(block, due) / 1000);
	add_known(w, "mono", block->start_ns);
	add_known(w, "dur", block->duration_ns);
	add_known(w, "sd", block->start_delay_ns);
	add_known(w, "delay", value__delay(block));
	add_known(w, "cpu", block->cpu_ns);
	if (block->n_preemptors > html__preemptors(full))
		add_known(w, "ran", block->n_preemptors - html__preemptors(full));
	add_known(w, "behind", block->behind);
	jsonw__key(w, "time");
	add_time(w, block->time);
	add_cause(h, w, block->cause);
	res = add_weights(h, w, block);
	if (!res)
		res = add_spans(h, w, block, full ? SPANS_FULL : SPANS_BRIEF);
	add_chain(h, w, block);
	jsonw__object_end(w);
	return res;
}
