/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks and hangs as log records. The body is the record as JSON text: a third smaller than a
 * kvlist (docs/otlp.md), and a file of bodies is one that `jankbpf report` reads. The attributes
 * are what queries filter and group by.
 */
#include "export/otlp/otlp.h"

#include "base/clock.h"
#include "export/json/json.h"
#include "export/report/report.h"
#include "export/values.h"

static bool is_hang(const Jankbpf__Record *record)
{
	return record->type_case == JANKBPF__RECORD__TYPE_HANG;
}

static void set_severity(Otlp__LogRecord *log, const Jankbpf__Record *record,
			 const Jankbpf__Block *block)
{
	bool stood_still = is_hang(record) || value__is_hang(block) || block->anr;

	log->severity_number = stood_still ? OTLP__SEVERITY_NUMBER__SEVERITY_NUMBER_ERROR
					   : OTLP__SEVERITY_NUMBER__SEVERITY_NUMBER_WARN;
	log->severity_text = (char *)(stood_still ? "ERROR" : "WARN");
}

/* Times stay 0, which is unknown, if the record has none. */
static void set_time(Otlp__LogRecord *log, const Jankbpf__Block *block)
{
	uint64_t start_ns;

	if (!block->start || !clock__read_rfc3339(block->start, &start_ns))
		return;
	log->time_unix_nano = start_ns;
	if (__builtin_add_overflow(start_ns, block->duration_ns, &log->observed_time_unix_nano))
		log->observed_time_unix_nano = start_ns;
}

static char *json_of(struct otlp *o, const Jankbpf__Record *record)
{
	json__add_record(arena__words(&o->arena), record);
	return o->arena.words.len > OTLP_BODY_MAX ? NULL : arena__take_words(&o->arena);
}

/* Stacks are left out of a body that would be too long. NULL: it is too long without them. */
static char *body_of(struct otlp *o, const Jankbpf__Record *record, const Jankbpf__Block *block)
{
	Jankbpf__Record short_record = *record;
	Jankbpf__Block short_block = *block;
	char *ret = json_of(o, record);

	if (ret)
		return ret;
	short_block.n_samples = 0;
	short_block.n_chain = 0;
	short_record.block = &short_block; /* also the hang: members of a union */
	return json_of(o, &short_record);
}

static void add_cause(struct otlp *o, struct list *list, const Jankbpf__Cause *cause)
{
	if (!cause)
		return;
	attr__text(o, list, "jankbpf.cause.kind", cause->kind);
	attr__text(o, list, "jankbpf.cause.what", cause->what);
	if (cause->has_share)
		attr__double(o, list, "jankbpf.cause.share", value__share(cause->share));
	attr__text(o, list, "jankbpf.cause.summary", cause->summary);
	attr__text(o, list, "jankbpf.signature", cause->signature);
	if (cause->has_signature_version)
		attr__int(o, list, "jankbpf.signature.version", cause->signature_version);
	if (!cause->frame)
		return;
	attr__text(o, list, "code.function.name", cause->frame->function);
	attr__text(o, list, "code.file.path", cause->frame->file);
	if (cause->frame->line)
		attr__int(o, list, "code.line.number", cause->frame->line);
	attr__text(o, list, "jankbpf.cause.module", cause->frame->module);
}

static void add_times(struct otlp *o, struct list *list, const Jankbpf__Block *block)
{
	attr__int(o, list, "jankbpf.delay_ns", value__delay(block));
	attr__int(o, list, "jankbpf.duration_ns", block->duration_ns);
	if (block->has_start_delay_ns)
		attr__int(o, list, "jankbpf.start_delay_ns", block->start_delay_ns);
	if (block->has_threshold_ns)
		attr__int(o, list, "jankbpf.threshold_ns", block->threshold_ns);
	if (block->has_cpu_ns)
		attr__int(o, list, "jankbpf.cpu_ns", block->cpu_ns);
}

static void add_attributes(struct otlp *o, struct list *list, const Jankbpf__Block *block)
{
	unsigned pos = 0;
	struct loss_count loss;

	attr__text(o, list, "jankbpf.block.id", block->id);
	attr__text(o, list, "jankbpf.loop", block->loop);
	attr__text(o, list, "jankbpf.severity", block->severity);
	add_times(o, list, block);
	add_cause(o, list, block->cause);
	message__add_phrase(arena__words(&o->arena), block->message);
	attr__text(o, list, "jankbpf.message", arena__take_words(&o->arena));
	if (block->has_tid)
		attr__int(o, list, "thread.id", block->tid);
	attr__text(o, list, "thread.name", block->thread);
	attr__text(o, list, "jankbpf.process.role", block->role);
	if (block->anr)
		attr__int(o, list, "jankbpf.anr", block->anr);
	attr__text(o, list, "jankbpf.reduced", block->reduced);
	if (value__next_loss(block->lost, &pos, &loss))
		attr__bool(o, list, "jankbpf.incomplete", true);
}

static Otlp__LogRecord *log_of(struct otlp *o, const Jankbpf__Record *record,
			       const Jankbpf__Block *block)
{
	Otlp__LogRecord *ret = OTLP_NEW(o, log_record);
	char *body = body_of(o, record, block);
	struct list list = {};

	ret->event_name = (char *)(is_hang(record) ? "jankbpf.hang" : "jankbpf.block");
	set_time(ret, block);
	set_severity(ret, record, block);
	if (body)
		ret->body = otlp__text_value(o, body);
	add_attributes(o, &list, block);
	ret->attributes = (Otlp__KeyValue **)list.at;
	ret->n_attributes = list.cnt;
	return ret;
}

static Otlp__ResourceLogs *resource_logs(struct otlp *o, const struct group *group)
{
	Otlp__ResourceLogs *ret = OTLP_NEW(o, resource_logs);
	Otlp__ScopeLogs *scope = OTLP_NEW(o, scope_logs);

	scope->scope = otlp__scope(o);
	scope->log_records = (Otlp__LogRecord **)group->lists[0].at;
	scope->n_log_records = group->lists[0].cnt;
	ret->resource = group->resource;
	ret->scope_logs = arena__take(&o->arena, sizeof(scope));
	ret->scope_logs[0] = scope;
	ret->n_scope_logs = 1;
	return ret;
}

static ProtobufCMessage *make(struct otlp *o)
{
	Otlp__ExportLogsServiceRequest *ret = OTLP_NEW(o, export_logs_service_request);
	struct list list = {};

	for (size_t i = 0; i < o->batch->record_cnt; i++) {
		const Jankbpf__Record *record = o->batch->records[i];
		const Jankbpf__Block *block = report__block(record);
		struct origin origin;
		struct group *group;

		if (!block)
			continue;
		origin = origin__of_block(block);
		group = otlp__group(o, &origin);
		list__add(o, &group->lists[0], log_of(o, record, block));
	}
	for (size_t i = 0; i < o->groups.cnt; i++)
		list__add(o, &list, resource_logs(o, o->groups.at[i]));
	ret->resource_logs = (Otlp__ResourceLogs **)list.at;
	ret->n_resource_logs = list.cnt;
	return list.cnt ? &ret->base : NULL;
}

int otlp__logs(const struct batch *batch, struct strbuf *ret)
{
	return otlp__encode(batch, make, ret);
}
