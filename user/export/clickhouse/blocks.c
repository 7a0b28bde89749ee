/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of blocks and hangs. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "export/clickhouse/rows.h"
#include "export/values.h"

#define BOOT_ID_LEN 36 /* of a block's id, before the thread's number */

static void put_identity(struct row *row, const Jankbpf__Block *block)
{
	char boot[BOOT_ID_LEN + 1] = "";

	if (block->id && strnlen(block->id, BOOT_ID_LEN + 1) > BOOT_ID_LEN)
		memcpy(boot, block->id, BOOT_ID_LEN);
	row__text(row, "host", block->host ? block->host->name : NULL);
	row__text(row, "boot_id", boot);
	row__text(row, "kernel", block->host ? block->host->kernel : NULL);
	row__text(row, "unit", block->unit);
	row__text(row, "container", block->container);
	row__text(row, "pod", block->pod);
	row__text(row, "process", block->process);
	row__text(row, "service", block->service_name);
	row__text(row, "environment", block->deployment_environment);
	row__text(row, "version", block->version ?: block->app_build_id);
	row__text(row, "loop", block->loop);
}

/* The process that kept the thread waiting; NULL: not known, or its own. */
static const char *culprit(const Jankbpf__Block *block)
{
	const Jankbpf__Link *link = block->n_chain ? block->chain[block->n_chain - 1] : NULL;

	if (link && link->pid != block->pid)
		return link->process ?: link->comm;
	if (!block->cause || !text__same(block->cause->kind, "runnable") || !block->n_preemptors)
		return NULL;
	return block->preemptors[0]->comm;
}

static void put_cause(struct row *row, const Jankbpf__Block *block)
{
	struct strbuf sb = STRBUF_INIT;
	const Jankbpf__Cause *cause = block->cause;

	message__add_phrase(&sb, block->message);
	row__text(row, "message", strbuf__str(&sb));
	row__text(row, "culprit", culprit(block));
	if (cause) {
		row__text(row, "kind", cause->kind);
		row__text(row, "what", cause->what);
		row__text(row, "signature", cause->signature);
		row__number(row, "signature_version",
			    value__signature_version(cause->signature_version));
		row__text(row, "sentence", cause->summary);
		strbuf__reset(&sb);
		if (cause->frame)
			frame__add_place(&sb, cause->frame, true);
		row__text(row, "function", strbuf__str(&sb));
	}
	row->out->failed |= sb.failed;
	strbuf__free(&sb);
}

static uint64_t losses_of(const Jankbpf__Lost *lost)
{
	struct loss_count loss;
	uint64_t sum = 0;

	for (unsigned i = 0; value__next_loss(lost, &i, &loss);)
		sum += loss.cnt;
	return sum;
}

/* What all clients waited, in ns: the one of the dispatch, and those who came in it, half of it. */
static uint64_t client_ns(const Jankbpf__Block *block)
{
	uint64_t others;

	if (__builtin_mul_overflow((uint64_t)block->behind, block->duration_ns / 2, &others))
		return UINT64_MAX;
	return __builtin_add_overflow(others, value__delay(block), &others) ? UINT64_MAX : others;
}

static void put_times(struct row *row, const Jankbpf__Block *block)
{
	row__number(row, "delay_ns", value__delay(block));
	row__number(row, "client_ns", client_ns(block));
	row__number(row, "start_delay_ns", block->start_delay_ns);
	row__number(row, "duration_ns", block->duration_ns);
	for (uint32_t state = 0; state < JANK_STATE_CNT; state++) {
		char column[32];

		snprintf(column, sizeof(column), "%s_ns", value__state_word(state));
		row__number(row, column, value__in_state(block->time, state));
	}
	row__number(row, "losses", losses_of(block->lost));
	row__text(row, "reduced", block->reduced);
}

static int put_stacks(struct row *row, const Jankbpf__Block *block)
{
	struct row_stack stacks[ROW_STACKS_MAX];
	size_t cnt;

	if (block__stacks(block, stacks, &cnt))
		return -ENOMEM;
	jsonw__karray(&row->w, "stacks");
	for (size_t i = 0; i < cnt; i++)
		jsonw__u64(&row->w, stacks[i].hash);
	jsonw__array_end(&row->w);
	jsonw__karray(&row->w, "stack_ns");
	for (size_t i = 0; i < cnt; i++)
		jsonw__u64(&row->w, stacks[i].ns);
	jsonw__array_end(&row->w);
	return 0;
}

static void put_record(struct row *row, const Jankbpf__Record *record)
{
	struct strbuf json = STRBUF_INIT;

	json__add_record(&json, record);
	if (json.len <= ROW_RECORD_MAX)
		jsonw__kstr(&row->w, "record", strbuf__str(&json));
	row->out->failed |= json.failed;
	strbuf__free(&json);
}

static int add_row(struct strbuf *out, const struct batch *batch, size_t nr)
{
	const Jankbpf__Record *record = batch->records[nr];
	bool hangs = record->type_case == JANKBPF__RECORD__TYPE_HANG;
	const Jankbpf__Block *block = hangs ? record->hang : record->block;
	struct row row;
	int res;

	row__begin(&row, out, batch, nr, block->start);
	row__number(&row, "hang", hangs);
	put_identity(&row, block);
	put_cause(&row, block);
	put_times(&row, block);
	res = put_stacks(&row, block);
	put_record(&row, record);
	row__end(&row);
	return res;
}

int blocks__encode(const struct batch *batch, struct strbuf *ret)
{
	size_t before = ret->len;
	int res = 0;

	for (size_t i = 0; i < batch->record_cnt && !res; i++)
		if (batch->records[i]->type_case == JANKBPF__RECORD__TYPE_BLOCK ||
		    batch->records[i]->type_case == JANKBPF__RECORD__TYPE_HANG)
			res = add_row(ret, batch, i);
	if (res || ret->failed)
		return -ENOMEM;
	return ret->len == before ? -ENODATA : 0;
}
