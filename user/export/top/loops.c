/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/top/loops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/sink.h"
#include "export/values.h"

#define RECORD_BYTES_MAX (32 << 20)

static void clear_fault(void *at)
{
	struct loop_fault *fault = at;

	strbuf__free(&fault->last);
	free(fault->kind);
	free(fault->summary);
}

static void clear_loop(void *at)
{
	struct watched_loop *loop = at;

	groups__free(&loop->faults);
	free(loop->process);
	free(loop->loop);
}

void loops_view__init(struct loops_view *v, uint64_t interval_ns)
{
	*v = (struct loops_view){ .clock.cell_ns = interval_ns };
	groups__init(&v->loops, sizeof(struct watched_loop), LOOPS_MAX, clear_loop);
}

void loops_view__free(struct loops_view *v)
{
	groups__free(&v->loops);
	loops_view__mute(v, NULL);
	free(v->end);
	*v = (struct loops_view){};
}

static int set_text(char **at, const char *text)
{
	char *copy = strdup(text ?: "");

	if (!copy)
		return -ENOMEM;
	free(*at);
	*at = copy;
	return 0;
}

/* --- entries */

/* True if nothing has been seen of it in all of its cells. */
static bool is_idle(const struct loops_view *v, const struct watched_loop *loop)
{
	return !loop->dispatch_cnt && !loop->open_ns && !loop->dispatches[0].total &&
	       !loop->dispatches[1].total &&
	       !stalls__blocks(&loop->stalls, &v->clock, STALLS_CELLS);
}

static void drop_loop(struct loops_view *v, struct watched_loop *loop)
{
	const struct loop_fault *fault;

	GROUPS_EACH(&loop->faults, fault)
	v->record_bytes -= fault->last.cap;
	groups__drop(&v->loops, loop);
}

static void make_room(struct loops_view *v)
{
	struct watched_loop *loop;

	GROUPS_EACH(&v->loops, loop)
	{
		if (is_idle(v, loop)) {
			drop_loop(v, loop);
			return;
		}
	}
}

/* NULL: out of memory; the loop is dropped. */
static struct watched_loop *begin_loop(struct loops_view *v, struct watched_loop *loop,
				       uint32_t pid, const char *kind)
{
	loop->key = group__key(loop);
	loop->pid = pid;
	groups__init(&loop->faults, sizeof(struct loop_fault), LOOP_FAULTS_MAX, clear_fault);
	if (!set_text(&loop->loop, kind))
		return loop;
	groups__drop(&v->loops, loop);
	return NULL;
}

/* NULL: no room or no memory, which is counted. */
static struct watched_loop *get_loop(struct loops_view *v, uint32_t pid, const char *kind,
				     const char *process)
{
	struct watched_loop *loop;
	char key[96];

	snprintf(key, sizeof(key), "%u %.80s", pid, kind ?: "?");
	loop = groups__find_text(&v->loops, key);
	if (!loop) {
		if (groups__is_full(&v->loops))
			make_room(v);
		loop = groups__get_text(&v->loops, key);
		loop = loop ? begin_loop(v, loop, pid, kind ?: "?") : NULL;
	}
	if (!loop)
		v->no_room_cnt++;
	else if (process && (!loop->process || strcmp(loop->process, process)))
		set_text(&loop->process, process);
	return loop;
}

static bool is_muted(const struct loops_view *v, const char *signature)
{
	for (size_t i = 0; i < v->muted_cnt; i++)
		if (!strcmp(v->muted[i], signature))
			return true;
	return false;
}

static struct loop_fault *get_fault(struct loops_view *v, struct watched_loop *loop,
				    const char *signature)
{
	struct loop_fault *fault = groups__get_text(&loop->faults, signature);

	if (!fault) {
		v->no_room_cnt++;
	} else if (!fault->loop) {
		fault->loop = loop;
		fault->signature = group__key(fault);
		fault->muted = is_muted(v, signature);
	}
	return fault;
}

/* --- records */

static void add_loop(struct loops_view *v, const Jankbpf__Loop *from)
{
	const Jankbpf__StartDelays *starts = from->start_delays;
	struct watched_loop *loop = get_loop(v, from->pid, from->loop, from->process);

	if (!loop)
		return;
	loop->dispatch_cnt += from->dispatches;
	value__add_buckets(&loop->dispatches[0], from->buckets, from->n_buckets, from->max_ns);
	if (starts)
		value__add_buckets(&loop->starts[0], starts->buckets, starts->n_buckets,
				   starts->max_ns);
}

/* They are sorted: the first of a loop is its longest. */
static void add_open(struct loops_view *v, const Jankbpf__OpenDispatch *open)
{
	struct watched_loop *loop = get_loop(v, open->pid, open->loop, NULL);

	if (!loop || loop->open_ns)
		return;
	loop->open_ns = open->duration_ns + open->start_delay_ns;
	snprintf(loop->open_state, sizeof(loop->open_state), "%s", open->state ?: "not begun");
	snprintf(loop->open_thread, sizeof(loop->open_thread), "%s", value__name(open->thread));
	if (!loop->process)
		set_text(&loop->process, open->thread);
}

/* The older half of the last minute is dropped. */
static void turn_window(struct watched_loop *loop)
{
	loop->dispatches[1] = loop->dispatches[0];
	loop->starts[1] = loop->starts[0];
	loop->dispatches[0] = (struct durations){};
	loop->starts[0] = (struct durations){};
}

static void begin_interval(struct loops_view *v, const Jankbpf__Interval *interval)
{
	uint64_t end_ns = interval->start_ns + interval->elapsed_ns;
	bool turns = end_ns - v->window_ns >= RECENT_NS / 2;
	struct watched_loop *loop;

	GROUPS_EACH(&v->loops, loop)
	{
		struct loop_fault *fault;

		loop->dispatch_cnt = 0;
		loop->open_ns = 0;
		stalls__shift(&loop->stalls);
		GROUPS_EACH(&loop->faults, fault)
		stalls__shift(&fault->stalls);
		if (turns)
			turn_window(loop);
	}
	if (turns)
		v->window_ns = end_ns;
	v->clock.end_ns = end_ns;
	v->clock.cnt += v->clock.cnt < STALLS_CELLS - 1;
}

/* The reasons are constants: compared by their addresses. */
static void add_losses(struct loops_view *v, const Jankbpf__Lost *lost)
{
	struct loss_count loss;
	unsigned pos = 0;

	while (value__next_loss(lost, &pos, &loss)) {
		struct loss_count *sum = v->losses;

		while (sum->reason && sum->reason != loss.reason)
			sum++;
		if (sum == &v->losses[LOSSES_MAX - 1])
			return;
		loss.cnt += sum->cnt;
		*sum = loss;
	}
}

static int add_interval(struct loops_view *v, const Jankbpf__Interval *interval)
{
	struct strbuf end = STRBUF_INIT;
	int res;

	value__add_end(&end, interval);
	res = set_text(&v->end, strbuf__str(&end));
	strbuf__free(&end);
	begin_interval(v, interval);
	add_losses(v, interval->lost);
	v->elapsed_ns = interval->elapsed_ns;
	v->threshold_ns = interval->threshold_ns;
	v->own_cpu_ns = interval->cost ? interval->cost->user_cpu_ns : 0;
	if (interval->n_not_watched)
		v->not_watched_cnt = interval->n_not_watched;
	for (size_t i = 0; i < interval->n_loops; i++)
		add_loop(v, interval->loops[i]);
	for (size_t i = 0; i < interval->n_open; i++)
		add_open(v, interval->open[i]);
	return res;
}

/* The record goes without where there is no room for it. */
static int keep_record(struct loops_view *v, struct loop_fault *fault,
		       const Jankbpf__Record *record)
{
	int res = 0;

	v->record_bytes -= fault->last.cap;
	strbuf__free(&fault->last);
	if (v->record_bytes < RECORD_BYTES_MAX)
		res = stream__pack(&fault->last, record);
	v->record_bytes += fault->last.cap;
	return res;
}

static int add_fault(struct loops_view *v, struct watched_loop *loop, const Jankbpf__Record *record,
		     const Jankbpf__Block *block)
{
	const Jankbpf__Cause *cause = block->cause;
	struct loop_fault *fault = get_fault(v, loop, value__signature(block));
	uint64_t ns = value__delay(block);
	int res;

	if (!fault)
		return 0;
	if (record->type_case == JANKBPF__RECORD__TYPE_BLOCK) {
		fault->block_cnt++;
		fault->total_ns += ns;
		stalls__add(&fault->stalls, &v->clock, value__due(block), ns);
		loop->muted_cnt += fault->muted;
	}
	fault->max_ns = ns > fault->max_ns ? ns : fault->max_ns;
	fault->last_ns = value__due(block) + ns;
	res = set_text(&fault->kind, cause ? cause->kind : NULL);
	if (!res)
		res = set_text(&fault->summary, cause ? cause->summary : NULL);
	return res ?: keep_record(v, fault, record);
}

int loops_view__add(struct loops_view *v, const Jankbpf__Record *record)
{
	const Jankbpf__Block *block =
		record->type_case == JANKBPF__RECORD__TYPE_BLOCK  ? record->block
		: record->type_case == JANKBPF__RECORD__TYPE_HANG ? record->hang
								  : NULL;
	struct watched_loop *loop;

	if (record->type_case == JANKBPF__RECORD__TYPE_INTERVAL)
		return add_interval(v, record->interval);
	if (!block)
		return 0;
	loop = get_loop(v, block->pid, block->loop, block->process);
	if (!loop)
		return 0;
	if (record->type_case == JANKBPF__RECORD__TYPE_BLOCK)
		stalls__add(&loop->stalls, &v->clock, value__due(block), value__delay(block));
	return add_fault(v, loop, record, block);
}

/* --- muting */

static void mark_muted(struct loops_view *v)
{
	struct watched_loop *loop;
	struct loop_fault *fault;

	GROUPS_EACH(&v->loops, loop)
	{
		loop->muted_cnt = 0;
		GROUPS_EACH(&loop->faults, fault)
		{
			fault->muted = is_muted(v, fault->signature);
			loop->muted_cnt += fault->muted ? fault->block_cnt : 0;
		}
	}
}

int loops_view__mute(struct loops_view *v, const char *signature)
{
	char **muted = v->muted, *copy;

	if (!signature) {
		while (v->muted_cnt)
			free(v->muted[--v->muted_cnt]);
		free(v->muted);
		v->muted = NULL;
		mark_muted(v);
		return 0;
	}
	copy = strdup(signature);
	if (copy)
		muted = reallocarray(v->muted, v->muted_cnt + 1, sizeof(*muted));
	if (!copy || !muted) {
		free(copy);
		return -ENOMEM;
	}
	v->muted = muted;
	v->muted[v->muted_cnt++] = copy;
	mark_muted(v);
	return 0;
}
