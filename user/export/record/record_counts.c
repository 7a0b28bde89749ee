/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the counts of a run, and of parts of it, into messages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/record/record.h"
#include "model/concern.h"

static Jankbpf__Bucket **buckets_of(struct record *r, const struct durations *durations,
				    size_t *ret_cnt)
{
	struct durations_bucket bucket;
	Jankbpf__Bucket **ret;
	size_t pos = 0, cnt = 0;

	while (durations__next(durations, &pos, &bucket))
		cnt++;
	ret = record__array(r, cnt, ret_cnt);
	pos = 0;
	for (size_t i = 0; i < cnt && durations__next(durations, &pos, &bucket); i++) {
		ret[i] = NEW(r, bucket);
		if (bucket.upper_ns != UINT64_MAX)
			SET(ret[i], upper_ns, bucket.upper_ns);
		SET(ret[i], count, bucket.cnt);
	}
	return ret;
}

/* For two messages that both have these fields. */
#define SET_QUANTILES(ret, durations)                                                              \
	do {                                                                                       \
		(ret)->has_p50_ns = durations__quantile(durations, 500, &(ret)->p50_ns);           \
		(ret)->has_p90_ns = durations__quantile(durations, 900, &(ret)->p90_ns);           \
		(ret)->has_p99_ns = durations__quantile(durations, 990, &(ret)->p99_ns);           \
		(ret)->has_p999_ns = durations__quantile(durations, 999, &(ret)->p999_ns);         \
		SET_KNOWN(ret, max_ns, (durations)->max_ns);                                       \
	} while (0)

static Jankbpf__StartDelays *start_delays_of(struct record *r, const struct durations *starts)
{
	Jankbpf__StartDelays *ret;

	if (!starts->total)
		return NULL;
	ret = NEW(r, start_delays);
	SET(ret, dispatches, starts->total);
	SET_QUANTILES(ret, starts);
	ret->buckets = buckets_of(r, starts, &ret->n_buckets);
	return ret;
}

static void set_durations(struct record *r, Jankbpf__Loop *ret, const struct durations *durations)
{
	ret->log2 = record__take(r, DURATIONS_LOG2_CNT * sizeof(*ret->log2));
	for (unsigned i = 0; i < DURATIONS_LOG2_CNT; i++) {
		ret->log2[i] = durations__log2(durations, i);
		ret->n_log2 = ret->log2[i] ? i + 1 : ret->n_log2;
	}
	SET_QUANTILES(ret, durations);
	ret->buckets = buckets_of(r, durations, &ret->n_buckets);
}

static Jankbpf__Loop *loop_of(struct record *r, const struct loop_hist *loop)
{
	Jankbpf__Loop *ret = NEW(r, loop);

	if (loop->process)
		SET_PROCESS(r, ret, loop->process);
	ret->loop = record__str(r, hist__loop(loop));
	if (loop->process_cnt)
		SET(ret, processes, loop->process_cnt);
	else
		SET(ret, pid, loop->pid);
	SET(ret, dispatches, loop->dispatch_cnt);
	SET(ret, blocks, loop->block_cnt);
	set_durations(r, ret, &loop->durations);
	ret->start_delays = start_delays_of(r, &loop->starts);
	SET_KNOWN(ret, first_turn_ns, loop->first_turn_ns);
	SET_KNOWN(ret, threshold_ns, loop->threshold_ns);
	return ret;
}

static Jankbpf__Cost *cost_of(struct record *r, const struct summary *summary)
{
	Jankbpf__Cost *ret = NEW(r, cost);

	if (summary->bpf_known) {
		SET(ret, bpf_ns, summary->bpf_ns);
		SET(ret, bpf_runs, summary->bpf_runs);
	}
	SET(ret, user_cpu_ns, summary->user_cpu_ns);
	SET(ret, rss_kb, summary->rss_kb);
	SET_KNOWN(ret, pss_kb, summary->pss_kb);
	SET_KNOWN(ret, start_cpu_ns, summary->start_cpu_ns);
	if (summary->bpf_known && summary->dispatch_cnt)
		SET(ret, ns_per_dispatch, (double)summary->bpf_ns / (double)summary->dispatch_cnt);
	return ret;
}

static Jankbpf__NotWatched *not_watched_of(struct record *r, const struct unwatched *item)
{
	Jankbpf__NotWatched *ret = NEW(r, not_watched);

	SET(ret, pid, item->pid);
	SET_KNOWN(ret, tid, item->tid);
	ret->comm = record__str(r, item->comm);
	ret->reason = (char *)unwatched__word(item->reason);
	if (item->waits_in[0])
		ret->waits_in = (char *)item->waits_in;
	SET_KNOWN(ret, waits_ns, item->waits_ns);
	if (item->waits_at[0])
		ret->waits_at = record__str(r, item->waits_at);
	if (item->loop[0])
		ret->loop = (char *)item->loop;
	SET_KNOWN(ret, late_ns, item->late_ns);
	if (item->thread[0])
		ret->thread = (char *)item->thread;
	SET_KNOWN(ret, from_ns, item->from_ns);
	SET_KNOWN(ret, until_ns, item->until_ns);
	if (item->function[0])
		ret->function = record__str(r, item->function);
	SET_KNOWN(ret, handlers, item->handler_cnt);
	SET_KNOWN(ret, handlers_ns, item->handler_ns);
	SET_KNOWN(ret, pool_threads, item->pool_cnt);
	SET_KNOWN(ret, pool_busy, item->busy_cnt);
	SET_KNOWN(ret, pool_busy_ns, item->busy_ns);
	SET_KNOWN(ret, pool_times, item->busy_times);
	return ret;
}

static Jankbpf__NotWatched **list_not_watched(struct record *r, const struct unwatched_list *list,
					      size_t *ret_cnt)
{
	Jankbpf__NotWatched **ret = record__array(r, list->cnt, ret_cnt);

	for (size_t i = 0; i < *ret_cnt; i++)
		ret[i] = not_watched_of(r, &list->items[i]);
	return ret;
}

static Jankbpf__Loop **list_loops(struct record *r, const struct loop_hist *loops, size_t cnt,
				  size_t *ret_cnt)
{
	Jankbpf__Loop **ret = record__array(r, cnt, ret_cnt);

	for (size_t i = 0; i < *ret_cnt; i++)
		ret[i] = loop_of(r, &loops[i]);
	return ret;
}

static Jankbpf__OverShare *over_share_of(struct record *r, const struct over_share *user)
{
	Jankbpf__OverShare *ret = NEW(r, over_share);

	if (user->uid != UID_UNKNOWN)
		SET(ret, uid, user->uid);
#define SET_SHARE(nr, NAME, field) SET_KNOWN(ret, field, user->cnt[nr]);
	JANK_SHARES(SET_SHARE)
#undef SET_SHARE
	return ret;
}

static void set_over_share(struct record *r, Jankbpf__Summary *ret,
			   const struct over_shares *shares)
{
	ret->over_share = record__array(r, shares->cnt, &ret->n_over_share);
	for (size_t i = 0; i < ret->n_over_share; i++)
		ret->over_share[i] = over_share_of(r, &shares->users[i]);
}

static Jankbpf__Reactions *reactions_of(struct record *r, const struct summary_reactions *reactions)
{
	Jankbpf__Reactions *ret = reactions->known ? NEW(r, reactions) : NULL;

	if (!ret)
		return NULL;
	SET(ret, run, reactions->run_cnt);
	SET_KNOWN(ret, failed, reactions->failed_cnt);
	SET_KNOWN(ret, timed_out, reactions->timed_out_cnt);
	SET_KNOWN(ret, skipped, reactions->skipped_cnt);
	return ret;
}

static Jankbpf__Histories *histories_of(struct record *r, const struct summary_histories *histories)
{
	Jankbpf__Histories *ret = histories->known ? NEW(r, histories) : NULL;

	if (!ret)
		return NULL;
	SET(ret, written, histories->cnt);
	SET_KNOWN(ret, incomplete, histories->incomplete_cnt);
	SET_KNOWN(ret, gaps, histories->gap_cnt);
	SET_KNOWN(ret, blocks_left_out, histories->left_out_cnt);
	return ret;
}

static void set_ignored(struct record *r, Jankbpf__Summary *ret, const struct summary *summary)
{
	if (!summary->ignored_cnt)
		return;
	ret->ignored = record__array(r, summary->ignored_cnt, &ret->n_ignored);
	for (size_t i = 0; i < ret->n_ignored; i++) {
		ret->ignored[i] = NEW(r, ignored);
		ret->ignored[i]->pattern = record__str(r, summary->ignored[i].pattern);
		SET(ret->ignored[i], records, summary->ignored[i].cnt);
	}
}

static void set_not_shown(struct record *r, Jankbpf__Summary *ret,
			  const struct not_shown *not_shown)
{
	Jankbpf__NotShown **list = record__array(r, NOT_SHOWN_CNT, &ret->n_not_shown);

	ret->not_shown = list;
	ret->n_not_shown = 0;
	for (int i = 0; i < NOT_SHOWN_CNT; i++) {
		Jankbpf__NotShown *item;

		if (!not_shown->cnt[i])
			continue;
		list[ret->n_not_shown++] = item = NEW(r, not_shown);
		item->reason = (char *)not_shown__word(i);
		SET(item, blocks, not_shown->cnt[i]);
	}
}

static Jankbpf__Stalled *stalled_of(struct record *r, const struct stalled *stalled)
{
	Jankbpf__Stalled *ret = stalled->ns ? NEW(r, stalled) : NULL;

	if (!ret)
		return NULL;
	SET(ret, ns, stalled->ns);
	SET(ret, cpu_wait_ns, stalled->cpu_wait_ns);
	SET(ret, throttled_ns, stalled->throttled_ns);
	if (stalled->busy_pct >= 0)
		SET(ret, busy_pct, stalled->busy_pct);
	ret->quota_cgroup = record__str(r, stalled->cgroup);
	return ret;
}

static Jankbpf__Summary *summary_of(struct record *r, const struct summary *summary)
{
	Jankbpf__Summary *ret = NEW(r, summary);

	SET(ret, elapsed_ns, summary->elapsed_ns);
	SET(ret, dispatches, summary->dispatch_cnt);
	SET(ret, blocks, summary->block_cnt);
	SET(ret, hangs, summary->hang_cnt);
	ret->lost = record__lost(r, summary->lost, summary->lost_cnt);
	ret->cost = cost_of(r, summary);
	ret->loops = list_loops(r, summary->loops, summary->loop_cnt, &ret->n_loops);
	ret->not_watched = list_not_watched(r, &summary->unwatched, &ret->n_not_watched);
	SET_KNOWN(ret, not_watched_more, summary->unwatched.more_cnt);
	SET_KNOWN(ret, stopped_blocks, summary->not_shown.cnt[NOT_SHOWN_STOPPED]);
	set_not_shown(r, ret, &summary->not_shown);
	SET_KNOWN(ret, idle_loop, summary->idle_loop);
	ret->stalled = stalled_of(r, &summary->stalled);
	set_over_share(r, ret, &summary->over_share);
	ret->reactions = reactions_of(r, &summary->reactions);
	set_ignored(r, ret, summary);
	ret->histories = histories_of(r, &summary->histories);
	SET_KNOWN(ret, paused_ns, summary->paused_ns);
	SET_KNOWN(ret, blind_ns, summary->blind_ns);
	SET_KNOWN(ret, incomplete, summary->incomplete_cnt);
	SET_KNOWN(ret, governor_steps, summary->governor_step_cnt);
	return ret;
}

static Jankbpf__OpenDispatch *open_of(struct record *r, const struct open_dispatch *open)
{
	Jankbpf__OpenDispatch *ret = NEW(r, open_dispatch);

	SET(ret, pid, open->pid);
	SET(ret, tid, open->tid);
	ret->thread = record__str(r, open->comm);
	ret->loop = record__str(r, open->loop_name ?: loop__name(open->loop));
	SET(ret, duration_ns, open->duration_ns);
	SET(ret, start_delay_ns, open->delay_ns);
	if (open->duration_ns)
		ret->state = (char *)state__name(open->state);
	if (open->process) {
		record__take_fields(r, &ret->base, &open->process->base);
		ret->process = record__str(r, open->process->name);
	}
	return ret;
}

static Jankbpf__Interval *interval_of(struct record *r, const struct interval *interval)
{
	Jankbpf__Interval *ret = NEW(r, interval);

	*ret = interval->facts;
	clock__add_rfc3339(record__words(r), ret->start_ns + (uint64_t)interval->real_offset_ns);
	ret->start = record__take_words(r);
	SET(ret, dispatches, 0);
	SET(ret, blocks, 0);
	ret->loops = list_loops(r, interval->loops, interval->loop_cnt, &ret->n_loops);
	for (size_t i = 0; i < ret->n_loops; i++) {
		ret->dispatches += ret->loops[i]->dispatches;
		ret->blocks += ret->loops[i]->blocks;
	}
	ret->open = record__array(r, interval->open_cnt, &ret->n_open);
	for (size_t i = 0; i < ret->n_open; i++)
		ret->open[i] = open_of(r, &interval->open[i]);
	ret->lost = record__lost(r, interval->lost, interval->lost_cnt);
	ret->cost = NEW(r, cost);
	*ret->cost = interval->cost;
	ret->not_watched = list_not_watched(r, &interval->unwatched, &ret->n_not_watched);
	if (interval->host.name) {
		ret->host = record__host(r, &interval->host);
		ret->host->boot_id = record__str(r, interval->host.boot_id);
	}
	return ret;
}

const Jankbpf__Record *record__of_interval(struct record *r, const struct interval *interval)
{
	Jankbpf__Record *ret;

	if (setjmp(r->arena.out_of_memory))
		return NULL;
	record__begin(r, true);
	ret = record__new_message(r);
	r->interval = ret->interval = interval_of(r, interval);
	ret->type_case = JANKBPF__RECORD__TYPE_INTERVAL;
	record__finish(r, ret);
	return ret;
}

const Jankbpf__Record *record__of_summary(struct record *r, const struct summary *summary)
{
	Jankbpf__Record *ret;

	if (setjmp(r->arena.out_of_memory))
		return NULL;
	record__begin(r, true);
	ret = record__new_message(r);
	r->summary = ret->summary = summary_of(r, summary);
	ret->type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	record__finish(r, ret);
	return ret;
}

int record__add_faults(struct record *r, struct faults *faults, enum fault_order order)
{
	Jankbpf__Summary *ret = r->summary;
	Jankbpf__Fault **list;
	size_t cnt;
	int res = faults__list(faults, order, &list, &cnt);

	if (!res && setjmp(r->arena.out_of_memory))
		res = -ENOMEM;
	if (!res && cnt) {
		ret->grouped_by = (char *)faults__grouped_by(faults);
		ret->faults = record__array(r, cnt, &ret->n_faults);
		memcpy(ret->faults, list, cnt * sizeof(*list));
		SET_KNOWN(ret, faults_more, faults__more(faults));
	}
	free(list);
	return res;
}
