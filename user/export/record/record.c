/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts blocks and summaries into messages. */
#include "export/record/record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/json/json.h"
#include "export/report/report.h"
#include "export/values.h"
#include "model/concern.h"

static Jankbpf__Lost *lost_of(struct record *r, const struct block_loss *lost, size_t cnt)
{
	Jankbpf__Lost *ret = NEW(r, lost);

	for (size_t i = 0; i < cnt; i++)
		record__set_named(&ret->base, lost[i].reason, lost[i].cnt);
	return ret;
}

static Jankbpf__Symbol *symbol_of(struct record *r, const struct message_name *name)
{
	Jankbpf__Symbol *ret;

	if (!message_name__is_known(name))
		return NULL;
	ret = NEW(r, symbol);
	ret->symbol = record__str(r, name->symbol);
	ret->module = record__str(r, name->module);
	if (!name->symbol)
		SET(ret, offset, name->offset);
	return ret;
}

static char *events_of(struct record *r, uint32_t events)
{
	if (!events)
		return NULL;
	message__add_events(record__words(r), events);
	return record__take_words(r);
}

static Jankbpf__ReadyFd *ready_of(struct record *r, const struct message_fd *fd)
{
	Jankbpf__ReadyFd *ret = NEW(r, ready_fd);

	if (fd->fd < 0)
		return ret;
	SET(ret, fd, fd->fd);
	ret->fd_target = record__str(r, fd->target);
	ret->events = events_of(r, fd->events);
	return ret;
}

static Jankbpf__Message *message_of(struct record *r, const struct message *message)
{
	Jankbpf__Message *ret;

	if (!message__is_known(message))
		return NULL;
	ret = NEW(r, message);
	ret->what = record__str(r, message->what);
	ret->handler = symbol_of(r, &message->handler);
	ret->callback = symbol_of(r, &message->callback);
	ret->source = symbol_of(r, &message->source);
	if (message->fd.fd >= 0) {
		SET(ret, fd, message->fd.fd);
		ret->fd_target = record__str(r, message->fd.target);
		ret->events = events_of(r, message->fd.events);
	}
	SET_KNOWN(ret, ready, message->ready_cnt);
	ret->also_ready = record__array(r, message->also_cnt, &ret->n_also_ready);
	for (size_t i = 0; i < ret->n_also_ready; i++)
		ret->also_ready[i] = ready_of(r, &message->also[i]);
	if (message->was_queued)
		SET(ret, queued_ns, message->queued_ns);
	SET_KNOWN(ret, too_many_fds, message->too_many_fds);
	return ret;
}

static Jankbpf__CausePart *part_of(struct record *r, const struct cause_part *part)
{
	Jankbpf__CausePart *ret = NEW(r, cause_part);

	ret->kind = record__str(r, part->kind);
	ret->what = record__str(r, part->what);
	SET(ret, share, value__share(part->share));
	ret->frame = part->frame ? record__frame(r, part->frame) : NULL;
	return ret;
}

/* The confidence refers to the sentence, so it is set only with a sentence. */
static Jankbpf__Cause *cause_of(struct record *r, const struct cause *cause)
{
	Jankbpf__Cause *ret;

	if (!cause->kind)
		return NULL;
	ret = NEW(r, cause);
	ret->kind = record__str(r, cause->kind);
	ret->what = record__str(r, cause->what);
	SET(ret, share, value__share(cause->share));
	ret->summary = record__str(r, cause->summary);
	if (cause->summary)
		SET(ret, confidence, value__share(cause->confidence));
	ret->frame = cause->frame ? record__frame(r, cause->frame) : NULL;
	ret->signature = cause->signature[0] ? (char *)cause->signature : NULL;
	ret->parts = record__array(r, cause->part_cnt, &ret->n_parts);
	for (size_t i = 0; i < ret->n_parts; i++)
		ret->parts[i] = part_of(r, &cause->parts[i]);
	return ret;
}

static bool is_pct(double pct)
{
	return pct >= 0 && isfinite(pct);
}

#define SET_PCT(message, field, value)                                                             \
	((message)->has_##field = is_pct(value), (message)->field = (value))

static Jankbpf__Cpu *cpu_of(struct record *r, const struct machine_load *load)
{
	Jankbpf__Cpu *ret = NEW(r, cpu);
	Jankbpf__Psi *psi = NEW(r, psi);

	SET(ret, busy, load->busy);
	SET_PCT(ret, total_pct, load->total_pct);
	SET_PCT(ret, process_pct, load->process_pct);
	SET_PCT(ret, user_pct, load->user_pct);
	SET_PCT(ret, system_pct, load->system_pct);
	SET_PCT(ret, iowait_pct, load->iowait_pct);
	SET_PCT(ret, steal_pct, load->steal_pct);
	SET_PCT(psi, cpu, load->psi_cpu_pct);
	SET_PCT(psi, memory, load->psi_memory_pct);
	SET_PCT(psi, io, load->psi_io_pct);
	ret->psi = psi->has_cpu || psi->has_memory || psi->has_io ? psi : NULL;
	return ret;
}

static Jankbpf__Scheduling *scheduling_of(struct record *r, const struct facts *facts)
{
	Jankbpf__Scheduling *ret = NEW(r, scheduling);
	ProtobufCMessage base = ret->base;

	*ret = facts->live;
	ret->base = base;
	ret->quota_cgroup = record__str(r, ret->quota_cgroup);
	ret->priority = record__priority(r, facts->prio);
	ret->policy = (char *)policy__name(facts->policy);
	SET_KNOWN(ret, cpus_allowed, facts->cpus_allowed);
	SET(ret, throttled_ns, facts->throttled_ns);
	SET(ret, stolen_ns, facts->stolen_ns);
	return ret;
}

static Jankbpf__Faults *faults_of(struct record *r, const struct facts *facts)
{
	Jankbpf__Faults *ret = NEW(r, faults);

	SET(ret, major, facts->maj_flt_cnt);
	SET(ret, minor, facts->min_flt_cnt);
	return ret;
}

static Jankbpf__Display *display_of(struct record *r, const struct missed_frames *frames)
{
	Jankbpf__Display *ret;

	if (!frames->missed)
		return NULL;
	ret = NEW(r, display);
	SET(ret, missed, frames->missed);
	if (frames->hz > 0 && isfinite(frames->hz))
		SET(ret, refresh_hz, frames->hz);
	SET(ret, crtc, frames->crtc);
	return ret;
}

static void set_machine(struct record *r, Jankbpf__Block *ret, const struct block *block)
{
	ret->cpu = cpu_of(r, &block->load);
	if (block->facts.known) {
		ret->scheduling = scheduling_of(r, &block->facts);
		ret->faults = faults_of(r, &block->facts);
	}
	ret->preemptors =
		record__preemptors(r, block->preemptors, block->preemptor_cnt, &ret->n_preemptors);
}

static Jankbpf__Host *host_of(struct record *r, const struct host_info *host)
{
	Jankbpf__Host *ret = NEW(r, host);

	ret->name = record__str(r, host->name);
	ret->kernel = record__str(r, host->kernel);
	ret->arch = record__str(r, host->arch);
	SET(ret, cpus, host->cpus);
	SET(ret, mem_total_kb, host->mem_total_kb);
	SET(ret, mem_free_kb, host->mem_free_kb);
	SET(ret, mem_available_kb, host->mem_available_kb);
	return ret;
}

static void set_process(struct record *r, Jankbpf__Block *ret, const struct block *block)
{
	SET(ret, pid, block->pid);
	SET(ret, tid, block->tid);
	ret->process = record__str(r, block->process);
	ret->thread = record__str(r, block->thread);
	ret->role = record__str(r, block->role);
	ret->network = record__str(r, block->network);
	ret->app_build_id = record__str(r, block__app_build_id(block));
	ret->exe = record__str(r, block->exe);
	if (block->uid != UINT32_MAX)
		SET(ret, uid, block->uid);
	ret->cgroup = record__str(r, block->cgroup);
	ret->container = record__str(r, block->container);
	ret->pod = record__str(r, block->pod);
	ret->unit = record__str(r, block->unit);
	SET_KNOWN(ret, names_uid, block->names_uid);
	SET_KNOWN(ret, ns_pid, block->ns_pid);
	ret->loop = record__str(r, block__loop(block));
}

static Jankbpf__Block *block_of(struct record *r, const struct block *block)
{
	Jankbpf__Block *ret = NEW(r, block);

	ret->id = record__str(r, block->id);
	clock__add_rfc3339(record__words(r), block->start_ns + (uint64_t)block->real_offset_ns);
	ret->start = record__take_words(r);
	SET(ret, start_ns, block->start_ns);
	SET(ret, duration_ns, block->duration_ns);
	SET(ret, threshold_ns, block->threshold_ns);
	if (block->start_known) {
		SET(ret, start_delay_ns, block->start_delay_ns);
		SET(ret, delay_ns, block__delay(block));
	}
	ret->host = host_of(r, &block->host);
	set_process(r, ret, block);
	ret->message = message_of(r, block->message);
	ret->severity = (char *)block__severity(block);
	SET_KNOWN(ret, anr, anr__exceeded(block__delay(block)));
	if (block->behind)
		SET(ret, behind, block->behind - 1);
	if (block__turns_unknown(block))
		ret->turns = "unknown";
	SET_KNOWN(ret, hang_reported, block->hang_reported);
	SET_KNOWN(ret, thread_ended, block->ended_by_exit);
	SET(ret, dropped_frames, block->dropped_frames);
	ret->frames = display_of(r, &block->frames);
	SET(ret, cpu_ns, block->cpu_ns);
	ret->time = record__time(r, block->state_ns);
	ret->cause = cause_of(r, &block->cause);
	set_machine(r, ret, block);
	record__set_chain(r, ret, block);
	record__set_samples(r, ret, block);
	quality__add(record__words(r), block);
	ret->stack_quality = record__take_words(r);
	ret->lost = block->lost_cnt ? lost_of(r, block->lost, block->lost_cnt) : NULL;
	return ret;
}

static Jankbpf__Record *record_of(struct record *r)
{
	Jankbpf__Record *ret = NEW(r, record);

	ret->schema = (char *)BLOCK_SCHEMA;
	return ret;
}

/* The union's members are pointers of the same place: only the set one is a field. */
static void redact(struct record *r, Jankbpf__Record *record)
{
	const ProtobufCMessageDescriptor *descriptor = record->base.descriptor;

	for (unsigned i = 0; r->redaction.classes && i < descriptor->n_fields; i++)
		if (descriptor->fields[i].id == (uint32_t)record->type_case)
			record__redact(r, &record->block->base, fields__of_record[i].fields);
}

const Jankbpf__Record *record__of_block(struct record *r, const struct block *block)
{
	Jankbpf__Record *ret;

	if (setjmp(r->out_of_memory))
		return NULL;
	record__begin(r, true);
	ret = record_of(r);
	ret->block = block_of(r, block);
	ret->type_case = block->type == BLOCK_HANG ? JANKBPF__RECORD__TYPE_HANG
						   : JANKBPF__RECORD__TYPE_BLOCK;
	redact(r, ret);
	return ret;
}

Jankbpf__Block *record__without_stacks(struct record *r, const struct block *block)
{
	if (setjmp(r->out_of_memory))
		return NULL;
	record__begin(r, false);
	return block_of(r, block);
}

Jankbpf__Frame **record__frames(struct record *r, const struct frame *frames, size_t cnt)
{
	Jankbpf__Frame **ret;

	if (setjmp(r->out_of_memory))
		return NULL;
	record__begin(r, true);
	ret = record__array(r, cnt, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		ret[i] = record__frame(r, &frames[i]);
		ret[i]->has_app = false; /* the journal has its own list of these */
	}
	return ret;
}

Jankbpf__Lost *record__losses(struct record *r, const struct block_loss *lost, size_t cnt)
{
	if (setjmp(r->out_of_memory))
		return NULL;
	record__begin(r, true);
	return lost_of(r, lost, cnt);
}

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

	ret->loop = record__str(r, hist__loop(loop));
	SET(ret, pid, loop->pid);
	ret->process = record__str(r, loop->process);
	SET(ret, dispatches, loop->dispatch_cnt);
	SET(ret, blocks, loop->block_cnt);
	set_durations(r, ret, &loop->durations);
	ret->start_delays = start_delays_of(r, &loop->starts);
	ret->unit = record__str(r, loop->unit);
	ret->container = record__str(r, loop->container);
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
	if (item->loop[0])
		ret->loop = (char *)item->loop;
	SET_KNOWN(ret, late_ns, item->late_ns);
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

static Jankbpf__Summary *summary_of(struct record *r, const struct summary *summary)
{
	Jankbpf__Summary *ret = NEW(r, summary);

	SET(ret, elapsed_ns, summary->elapsed_ns);
	SET(ret, dispatches, summary->dispatch_cnt);
	SET(ret, blocks, summary->block_cnt);
	SET(ret, hangs, summary->hang_cnt);
	ret->lost = lost_of(r, summary->lost, summary->lost_cnt);
	ret->cost = cost_of(r, summary);
	ret->loops = list_loops(r, summary->loops, summary->loop_cnt, &ret->n_loops);
	ret->not_watched = list_not_watched(r, &summary->unwatched, &ret->n_not_watched);
	SET_KNOWN(ret, not_watched_more, summary->unwatched.more_cnt);
	SET_KNOWN(ret, stopped_blocks, summary->stopped_cnt);
	SET_KNOWN(ret, idle_loop, summary->idle_loop);
	set_over_share(r, ret, &summary->over_share);
	ret->reactions = reactions_of(r, &summary->reactions);
	set_ignored(r, ret, summary);
	ret->histories = histories_of(r, &summary->histories);
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
	return ret;
}

static Jankbpf__Cost *cost_of_interval(struct record *r, const struct interval *interval)
{
	Jankbpf__Cost *ret = NEW(r, cost);

	SET(ret, user_cpu_ns, interval->user_cpu_ns);
	SET(ret, rss_kb, interval->rss_kb);
	return ret;
}

static Jankbpf__Interval *interval_of(struct record *r, const struct interval *interval)
{
	Jankbpf__Interval *ret = NEW(r, interval);

	clock__add_rfc3339(record__words(r),
			   interval->start_ns + (uint64_t)interval->real_offset_ns);
	ret->start = record__take_words(r);
	SET(ret, start_ns, interval->start_ns);
	SET(ret, elapsed_ns, interval->elapsed_ns);
	SET(ret, threshold_ns, interval->threshold_ns);
	SET(ret, dispatches, 0);
	SET(ret, blocks, 0);
	SET(ret, hangs, interval->hang_cnt);
	ret->loops = list_loops(r, interval->loops, interval->loop_cnt, &ret->n_loops);
	for (size_t i = 0; i < ret->n_loops; i++) {
		ret->dispatches += ret->loops[i]->dispatches;
		ret->blocks += ret->loops[i]->blocks;
	}
	ret->open = record__array(r, interval->open_cnt, &ret->n_open);
	for (size_t i = 0; i < ret->n_open; i++)
		ret->open[i] = open_of(r, &interval->open[i]);
	ret->lost = lost_of(r, interval->lost, interval->lost_cnt);
	ret->cost = cost_of_interval(r, interval);
	ret->not_watched = list_not_watched(r, &interval->unwatched, &ret->n_not_watched);
	if (interval->unwatched_known)
		SET(ret, not_watched_count, interval->unwatched_cnt);
	if (interval->host.name) {
		ret->host = host_of(r, &interval->host);
		ret->host->boot_id = record__str(r, interval->host.boot_id);
	}
	return ret;
}

const Jankbpf__Record *record__of_interval(struct record *r, const struct interval *interval)
{
	Jankbpf__Record *ret;

	if (setjmp(r->out_of_memory))
		return NULL;
	record__begin(r, true);
	ret = record_of(r);
	r->interval = ret->interval = interval_of(r, interval);
	ret->type_case = JANKBPF__RECORD__TYPE_INTERVAL;
	redact(r, ret);
	return ret;
}

/* The blocks are redacted already. */
const Jankbpf__Record *record__of_history(struct record *r, const struct history *history,
					  Jankbpf__Block **blocks, size_t cnt)
{
	struct intern *threads = intern__new();
	Jankbpf__Record *ret;

	if (!threads)
		return NULL;
	if (setjmp(r->out_of_memory)) {
		intern__free(threads);
		return NULL;
	}
	record__begin(r, true);
	ret = record_of(r);
	ret->history = record__history(r, history, threads);
	ret->type_case = JANKBPF__RECORD__TYPE_HISTORY;
	redact(r, ret);
	ret->history->blocks = blocks;
	ret->history->n_blocks = cnt;
	if (cnt && blocks[0]->host)
		ret->history->kernel = blocks[0]->host->kernel;
	intern__free(threads);
	return ret;
}

const Jankbpf__Record *record__of_summary(struct record *r, const struct summary *summary)
{
	Jankbpf__Record *ret;

	if (setjmp(r->out_of_memory))
		return NULL;
	record__begin(r, true);
	ret = record_of(r);
	r->summary = ret->summary = summary_of(r, summary);
	ret->type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	redact(r, ret);
	return ret;
}

int record__add_faults(struct record *r, struct faults *faults, enum fault_order order)
{
	Jankbpf__Summary *ret = r->summary;
	Jankbpf__Fault **list;
	size_t cnt;
	int res = faults__list(faults, order, &list, &cnt);

	if (!res && setjmp(r->out_of_memory))
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
