/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread of a backend: batch after batch from its position on. */
#include "send/uploader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"

#define IDLE_MS	   1000 /* between two looks at the spool */
#define ERROR_MS   10000
#define MEMORY_MS  1000
#define MEMORY_MAX 3 /* attempts at a request */

/* --- batches */

/* A batch under way. */
struct sending {
	bool *refused;	   /* by record: some part of it was */
	uint64_t rejected; /* by an answer that does not say which */
};

/* Marks those of these records that the part has something of. */
static void mark_refused(const struct backend_part *part, const struct batch *batch,
			 struct sending *sending)
{
	struct batch one = *batch;

	one.record_cnt = 1;
	for (size_t i = 0; i < batch->record_cnt; i++) {
		struct strbuf body = STRBUF_INIT;

		one.records = batch->records + i;
		one.first = batch->first + i;
		if (part->encode(&one, &body) != -ENODATA)
			sending->refused[one.first] = true;
		strbuf__free(&body);
	}
}

uint64_t uploader__refused(const struct backend_part *part, const struct batch *batch,
			   uint64_t items)
{
	uint64_t most = 0;

	for (size_t i = 0; i < batch->record_cnt && most < items; i++)
		most += !part->is_counted || part->is_counted(batch->records[i]);
	return most < items ? most : items;
}

static void report_too_large(struct uploader *uploader)
{
	if (!uploader->refusal_reported)
		log__warn(
			"%s: a single record is too large (413), and is counted as refused; raise "
			"the backend's limit of a request",
			uploader->backend->name);
	uploader->refusal_reported = true;
}

/* Lack of memory passes, and is no reason to drop. False: the run ends. */
static bool wait_for_memory(struct uploader *uploader)
{
	if (!uploader->memory_reported)
		log__warn("%s: out of memory: records wait in the spool", uploader->backend->name);
	uploader->memory_reported = true;
	return !uploader__wait(uploader, MEMORY_MS);
}

/*
 * The result of request__make, or -ECANCELED. After a few attempts with too little memory
 * -EMSGSIZE: less of it may do.
 */
static int make_request(struct uploader *uploader, const struct backend_part *part,
			const struct batch *batch, struct request *ret)
{
	unsigned attempts = 0;
	int res;

	while ((res = request__make(part, batch, uploader->settings, ret)) == -ENOMEM) {
		request__free(ret);
		*ret = (struct request){};
		if (++attempts >= MEMORY_MAX && batch->record_cnt > 1)
			return -EMSGSIZE;
		if (!wait_for_memory(uploader))
			return -ECANCELED;
	}
	return res;
}

static enum outcome send_request(struct uploader *uploader, const struct request *request, int made,
				 bool divisible, uint64_t *items)
{
	switch (made) {
	case 0:
		return attempt__send(uploader, request, divisible, items);
	case -ECANCELED:
		return OUTCOME_STOPPED;
	case -EMSGSIZE:
		return OUTCOME_SPLIT;
	}
	return OUTCOME_REFUSED;
}

/* Sends these records as one part; in halves where they are too many. */
static enum outcome send_records(struct uploader *uploader, const struct backend_part *part,
				 const struct batch *batch, struct sending *sending)
{
	struct request request;
	uint64_t items = 0;
	int res = make_request(uploader, part, batch, &request);
	enum outcome outcome = send_request(uploader, &request, res, batch->record_cnt > 1, &items);
	struct batch half = *batch;

	sending->rejected += uploader__refused(part, batch, items);
	if (!res && outcome == OUTCOME_DONE) {
		uploader->position.sent_bytes += request.body.len;
		uploader->takes = true;
	}
	request__free(&request);
	if (res == -ENODATA || outcome == OUTCOME_ABSENT)
		return OUTCOME_DONE;
	if (outcome == OUTCOME_SPLIT && batch->record_cnt == 1) {
		report_too_large(uploader);
		outcome = OUTCOME_REFUSED;
	}
	if (outcome == OUTCOME_REFUSED) {
		mark_refused(part, batch, sending);
		return OUTCOME_DONE;
	}
	if (outcome != OUTCOME_SPLIT)
		return outcome;
	half.record_cnt = batch->record_cnt / 2;
	outcome = send_records(uploader, part, &half, sending);
	half.records += half.record_cnt;
	half.first += half.record_cnt;
	half.record_cnt = batch->record_cnt - half.record_cnt;
	return outcome == OUTCOME_DONE ? send_records(uploader, part, &half, sending) : outcome;
}

static void count(struct uploader *uploader, const struct batch *batch,
		  const struct sending *sending)
{
	uint64_t refused = sending->rejected;

	for (size_t i = 0; i < batch->record_cnt; i++)
		refused += sending->refused[i];
	if (refused > batch->record_cnt)
		refused = batch->record_cnt;
	uploader->position.refused_records += refused;
	uploader->position.sent_records += batch->record_cnt - refused;
	uploader->position.sent_batches += refused < batch->record_cnt;
}

static enum outcome send_batch(struct uploader *uploader, const struct spool_batch *from)
{
	const struct batch batch = { .agent = from->agent,
				     .nr = from->head.nr,
				     .records = from->records,
				     .record_cnt = from->head.record_cnt };
	struct sending sending = {};
	enum outcome outcome = OUTCOME_DONE;

	while (!(sending.refused = calloc(batch.record_cnt, sizeof(bool))))
		if (!wait_for_memory(uploader))
			return OUTCOME_STOPPED;
	for (size_t i = 0; i < uploader->backend->part_cnt && outcome == OUTCOME_DONE; i++) {
		if (uploader->settings->signals && !(uploader->settings->signals >> i & 1))
			continue;
		outcome = send_records(uploader, &uploader->backend->parts[i], &batch, &sending);
	}
	if (outcome == OUTCOME_DONE)
		count(uploader, &batch, &sending);
	free(sending.refused);
	return outcome;
}

/* Kept in memory if it cannot be written: then batches are sent again after a restart. */
static void save_position(struct uploader *uploader, uint64_t nr)
{
	int res;

	uploader->position.batch = nr;
	res = spool_dir__write_position(uploader->dirfd, uploader->backend->name,
					&uploader->position);
	if (res && !uploader->position_reported)
		log__warn("%s: the position in the spool cannot be written: %s; after a restart "
			  "some batches are sent again",
			  uploader->backend->name, strerror(-res));
	uploader->position_reported = res;
}

/*
 * What refuses all may be no backend, or one of another version: it must not empty the spool before
 * somebody reads the log.
 */
static void pause_refused(struct uploader *uploader)
{
	if (uploader__wait(uploader, backoff__next_ms(&uploader->refusals, 0)))
		uploader->stops = true;
}

static void send_and_save(struct uploader *uploader, const struct spool_batch *batch)
{
	uint64_t refused = uploader->position.refused_records;

	uploader->takes = false;
	if (send_batch(uploader, batch) != OUTCOME_DONE) {
		uploader->stops = true;
		return;
	}
	save_position(uploader, batch->head.nr);
	if (uploader->takes)
		uploader->refusals.failures = 0;
	else if (uploader->position.refused_records > refused)
		pause_refused(uploader);
}

/* Counts records that the reader passed over. The position is behind them. */
static void count_damaged(struct uploader *uploader, uint64_t behind)
{
	struct spool_reader *reader = &uploader->reader;

	if (!reader->broken_cnt)
		return;
	if (!uploader->damage_reported)
		log__warn("%s: the spool is damaged: %" PRIu64 " records cannot be read, and are "
			  "counted; check the disk",
			  uploader->backend->name, reader->broken_records);
	uploader->damage_reported = true;
	uploader->position.damaged_records += reader->broken_records;
	reader->broken_cnt = reader->broken_records = 0;
	save_position(uploader, behind);
}

/* 1: a batch was sent. 0: there is none. -errno: reported. */
static int send_next(struct uploader *uploader)
{
	struct spool_batch batch;
	struct err err = {};
	int res = spool_reader__next(&uploader->reader, &batch, &err);

	if (res < 0 && uploader->reported != res)
		log__warn("%s: %s", uploader->backend->name, err.msg);
	if (res < 0)
		uploader->reported = res;
	count_damaged(uploader, res > 0 ? batch.head.nr - 1 : uploader->reader.after);
	if (res <= 0)
		return res;
	send_and_save(uploader, &batch);
	spool_batch__free(&batch);
	return 1;
}

void *uploader__run(void *ctx)
{
	struct uploader *uploader = ctx;

	while (!uploader->stops) {
		int res = send_next(uploader);

		if (res > 0)
			uploader->stops |= uploader__is_over(uploader);
		else if (uploader->opts->until_sent || uploader->stop_ns)
			uploader->stops = true;
		else
			uploader__wait(uploader, res ? ERROR_MS : IDLE_MS);
		uploader->all_sent = !res;
	}
	return NULL;
}

/* --- start and end */

int uploader__begin(struct uploader *uploader, struct err *err)
{
	char agent[SPOOL_AGENT_SZ];
	int res = spool_dir__agent(uploader->dirfd, false, agent);

	uploader->reader.fd = -1;
	if (res)
		return err__set(err, -res, "'%s': not a spool: %s; --spool makes one",
				uploader->opts->options->spool, strerror(-res));
	if (spool_dir__read_position(uploader->dirfd, uploader->backend->name, &uploader->position))
		log__warn("%s: the position in the spool is damaged: all of it is sent again",
			  uploader->backend->name);
	spool_reader__begin(&uploader->reader, uploader->dirfd, uploader->position.batch);
	if (getrandom(&uploader->backoff.random, sizeof(uploader->backoff.random), 0) < 0 ||
	    !uploader->backoff.random)
		uploader->backoff.random = clock__mono_ns() | 1;
	uploader->refusals.random = uploader->backoff.random;
	res = target__choose(uploader->settings->urls, uploader->settings->url_cnt, agent,
			     &uploader->target);
	if (res)
		return err__set(err, -res, "out of memory");
	return http__new(&uploader->http, err);
}

void uploader__end(struct uploader *uploader)
{
	http__free(uploader->http);
	spool_reader__end(&uploader->reader);
	target__free(&uploader->target);
}
