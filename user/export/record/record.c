/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts blocks into messages. */
#include "export/record/record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/json/json.h"
#include "export/report/report.h"
#include "export/values.h"

Jankbpf__Lost *record__lost(struct record *r, const struct block_loss *lost, size_t cnt)
{
	Jankbpf__Lost *ret = NEW(r, lost);

	for (size_t i = 0; i < cnt; i++)
		record__set_named(&ret->base, lost[i].reason, lost[i].cnt);
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
	if (ret->signature)
		SET(ret, signature_version, SIGNATURE_VERSION);
	ret->parts = record__array(r, cause->part_cnt, &ret->n_parts);
	for (size_t i = 0; i < ret->n_parts; i++)
		ret->parts[i] = part_of(r, &cause->parts[i]);
	return ret;
}

/* Journals of earlier versions have an offset beside a name. */
static void check_symbol(Jankbpf__Symbol *symbol)
{
	if (symbol && symbol->symbol)
		symbol->has_offset = false;
}

static void check_message(Jankbpf__Message *message)
{
	check_symbol(message->handler);
	check_symbol(message->callback);
	check_symbol(message->source);
	SET_KNOWN(message, ready, message->ready);
	message->has_fd = message->has_fd && message->fd >= 0;
	if (!message->has_fd)
		message->fd_target = message->events = NULL;
	if (message->n_also_ready > JANK_READY_MAX - 1)
		message->n_also_ready = JANK_READY_MAX - 1;
	for (size_t i = 0; i < message->n_also_ready; i++)
		if (message->also_ready[i]->fd < 0)
			jankbpf__ready_fd__init(message->also_ready[i]);
}

static bool says_anything(const Jankbpf__Message *message)
{
	return message &&
	       (message->what || message->handler || message->callback || message->source ||
		message->has_fd || message->ready || message->has_queued_ns);
}

/* What the live system says; a journal may say anything. */
static void set_live(struct record *r, Jankbpf__Block *ret, const struct block *block)
{
	record__take_fields(r, &ret->base, &block->live->base);
	if (!ret->cpu->psi->has_cpu && !ret->cpu->psi->has_memory && !ret->cpu->psi->has_io)
		ret->cpu->psi = NULL;
	if (ret->message)
		check_message(ret->message);
	if (!block->message || !says_anything(ret->message))
		ret->message = NULL;
	if (!ret->frames)
		return;
	SET(ret->frames, crtc, ret->frames->crtc);
	ret->frames->has_refresh_hz = ret->frames->refresh_hz > 0;
	if (!ret->frames->missed)
		ret->frames = NULL;
}

static void set_scheduling(struct record *r, Jankbpf__Scheduling *ret, const struct facts *facts)
{
	ret->priority = record__priority(r, facts->prio);
	ret->policy = (char *)policy__name(facts->policy);
	SET_KNOWN(ret, cpus_allowed, facts->cpus_allowed);
	SET(ret, throttled_ns, facts->throttled_ns);
	SET(ret, stolen_ns, facts->stolen_ns);
}

static Jankbpf__Faults *faults_of(struct record *r, const struct facts *facts)
{
	Jankbpf__Faults *ret = NEW(r, faults);

	SET(ret, major, facts->maj_flt_cnt);
	SET(ret, minor, facts->min_flt_cnt);
	return ret;
}

static void set_machine(struct record *r, Jankbpf__Block *ret, const struct block *block)
{
	set_live(r, ret, block);
	if (block->facts.known) {
		set_scheduling(r, ret->scheduling, &block->facts);
		ret->faults = faults_of(r, &block->facts);
	} else {
		ret->scheduling = NULL;
	}
	ret->preemptors =
		record__preemptors(r, block->preemptors, block->preemptor_cnt, &ret->n_preemptors);
	ret->syncers = record__preemptors(r, block->syncers, block->syncer_cnt, &ret->n_syncers);
}

Jankbpf__Host *record__host(struct record *r, const struct host_info *host)
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
	SET_PROCESS(r, ret, block->process);
	SET(ret, pid, block->pid);
	SET(ret, tid, block->tid);
	ret->thread = record__str(r, block->thread);
	ret->app_build_id = record__str(r, block__app_build_id(block));
	ret->reduced = (char *)block->reduced;
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
	ret->host = record__host(r, &block->host);
	set_process(r, ret, block);
	ret->severity = (char *)block__severity(block);
	SET_KNOWN(ret, anr, anr__exceeded(block__delay(block)));
	if (block->behind)
		SET(ret, behind, block->behind - 1);
	if (block__turns_unknown(block))
		ret->turns = "unknown";
	if (block__began_before(block))
		ret->began = "before the trace";
	if (block__is_startup(block))
		ret->phase = "startup";
	SET_KNOWN(ret, hang_reported, block->hang_reported);
	SET_KNOWN(ret, thread_ended, block->ended_by_exit);
	SET(ret, dropped_frames, block->dropped_frames);
	SET(ret, cpu_ns, block->cpu_ns);
	ret->time = record__time(r, block->state_ns);
	ret->cause = cause_of(r, &block->cause);
	set_machine(r, ret, block);
	record__set_chain(r, ret, block);
	record__set_samples(r, ret, block);
	quality__add(record__words(r), block);
	ret->stack_quality = record__take_words(r);
	ret->lost = block->lost_cnt ? record__lost(r, block->lost, block->lost_cnt) : NULL;
	return ret;
}

Jankbpf__Record *record__new_message(struct record *r)
{
	Jankbpf__Record *ret = NEW(r, record);

	ret->schema = (char *)BLOCK_SCHEMA;
	return ret;
}

/* The union's members are pointers of the same place: only the set one is a field. */
void record__finish(struct record *r, Jankbpf__Record *record)
{
	const ProtobufCMessageDescriptor *descriptor = record->base.descriptor;

	for (unsigned i = 0; r->redaction.classes && i < descriptor->n_fields; i++)
		if (descriptor->fields[i].id == (uint32_t)record->type_case)
			record__redact(r, &record->block->base, fields__of_record[i].fields);
}

const Jankbpf__Record *record__of_block(struct record *r, const struct block *block)
{
	Jankbpf__Record *ret;

	if (setjmp(r->arena.out_of_memory))
		return NULL;
	record__begin(r, true);
	ret = record__new_message(r);
	ret->block = block_of(r, block);
	ret->type_case = block->type == BLOCK_HANG ? JANKBPF__RECORD__TYPE_HANG
						   : JANKBPF__RECORD__TYPE_BLOCK;
	record__finish(r, ret);
	return ret;
}

Jankbpf__Block *record__without_stacks(struct record *r, const struct block *block)
{
	if (setjmp(r->arena.out_of_memory))
		return NULL;
	record__begin(r, false);
	return block_of(r, block);
}

Jankbpf__Frame **record__frames(struct record *r, const struct frame *frames, size_t cnt)
{
	Jankbpf__Frame **ret;

	if (setjmp(r->arena.out_of_memory))
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
	if (setjmp(r->arena.out_of_memory))
		return NULL;
	record__begin(r, true);
	return record__lost(r, lost, cnt);
}

/* The blocks are redacted already. */
const Jankbpf__Record *record__of_history(struct record *r, const struct history *history,
					  Jankbpf__Block **blocks, size_t cnt)
{
	struct intern *threads = intern__new();
	Jankbpf__Record *ret;

	if (!threads)
		return NULL;
	if (setjmp(r->arena.out_of_memory)) {
		intern__free(threads);
		return NULL;
	}
	record__begin(r, true);
	ret = record__new_message(r);
	ret->history = record__history(r, history, threads);
	ret->type_case = JANKBPF__RECORD__TYPE_HISTORY;
	record__finish(r, ret);
	ret->history->blocks = blocks;
	ret->history->n_blocks = cnt;
	if (cnt && blocks[0]->host)
		ret->history->kernel = blocks[0]->host->kernel;
	intern__free(threads);
	return ret;
}
