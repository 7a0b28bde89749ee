/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread of a backend: batch after batch from its position on. */
#include "send/lane.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"

#define IDLE_MS	 1000 /* between two looks at the spool */
#define ERROR_MS 10000
#define LAST_MS	 800 /* for what is left when the run ends; then the process is killed */

/* --- time */

/* Asked to end: from then on it sends what it can, without waiting. */
static bool is_asked_to_end(struct lane *lane, int ms)
{
	struct pollfd pfd = { .fd = lane->opts->stop_fd, .events = POLLIN };

	if (!lane->stop_ns && poll(&pfd, lane->opts->stop_fd >= 0, ms) > 0)
		lane->stop_ns = clock__mono_ns() + LAST_MS * NS_PER_MS;
	return lane->stop_ns;
}

bool lane__is_over(struct lane *lane)
{
	uint64_t now = clock__mono_ns();

	if (is_asked_to_end(lane, 0) && now >= lane->stop_ns)
		return true;
	return lane->opts->deadline_ns && now >= lane->opts->deadline_ns;
}

bool lane__wait(struct lane *lane, uint64_t ms)
{
	uint64_t deadline = lane->opts->deadline_ns, now = clock__mono_ns();

	if (deadline && (now >= deadline || (deadline - now) / NS_PER_MS < ms))
		ms = now >= deadline ? 0 : (deadline - now) / NS_PER_MS + 1;
	if (is_asked_to_end(lane, (int)ms))
		return true;
	return lane__is_over(lane);
}

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

static void report_too_large(struct lane *lane)
{
	if (!lane->refusal_reported)
		log__warn(
			"%s: a single record is too large (413), and is counted as refused; raise "
			"the backend's limit of a request",
			lane->backend->name);
	lane->refusal_reported = true;
}

/* Sends these records as one part; in halves where they are too many. */
static enum outcome send_records(struct lane *lane, const struct backend_part *part,
				 const struct batch *batch, struct sending *sending)
{
	struct request request;
	int res = request__make(part, batch, lane->settings, &request);
	enum outcome outcome =
		res ? OUTCOME_REFUSED : attempt__send(lane, &request, &sending->rejected);
	struct batch half = *batch;

	if (!res)
		lane->position.sent_bytes += outcome == OUTCOME_DONE ? request.body.len : 0;
	request__free(&request);
	if (res == -ENODATA || outcome == OUTCOME_ABSENT)
		return OUTCOME_DONE;
	if (outcome == OUTCOME_SPLIT && batch->record_cnt == 1) {
		report_too_large(lane);
		outcome = OUTCOME_REFUSED;
	}
	if (outcome == OUTCOME_REFUSED) {
		mark_refused(part, batch, sending);
		return OUTCOME_DONE;
	}
	if (outcome != OUTCOME_SPLIT)
		return outcome;
	half.record_cnt = batch->record_cnt / 2;
	outcome = send_records(lane, part, &half, sending);
	half.records += half.record_cnt;
	half.first += half.record_cnt;
	half.record_cnt = batch->record_cnt - half.record_cnt;
	return outcome == OUTCOME_DONE ? send_records(lane, part, &half, sending) : outcome;
}

static void count(struct lane *lane, const struct batch *batch, const struct sending *sending)
{
	uint64_t refused = sending->rejected;

	for (size_t i = 0; i < batch->record_cnt; i++)
		refused += sending->refused[i];
	if (refused > batch->record_cnt)
		refused = batch->record_cnt;
	lane->position.refused_records += refused;
	lane->position.sent_records += batch->record_cnt - refused;
	lane->position.sent_batches += refused < batch->record_cnt;
}

static enum outcome send_batch(struct lane *lane, const struct spool_batch *from)
{
	const struct batch batch = { .agent = from->agent,
				     .nr = from->head.nr,
				     .records = from->records,
				     .record_cnt = from->head.record_cnt };
	struct sending sending = { .refused = calloc(batch.record_cnt, sizeof(bool)) };
	enum outcome outcome = sending.refused ? OUTCOME_DONE : OUTCOME_STOPPED;

	for (size_t i = 0; i < lane->backend->part_cnt && outcome == OUTCOME_DONE; i++)
		outcome = send_records(lane, &lane->backend->parts[i], &batch, &sending);
	if (outcome == OUTCOME_DONE)
		count(lane, &batch, &sending);
	free(sending.refused);
	return outcome;
}

/* Kept in memory if it cannot be written: then batches are sent again after a restart. */
static void save_position(struct lane *lane, uint64_t nr)
{
	int res;

	lane->position.batch = nr;
	res = spool_dir__write_position(lane->dirfd, lane->backend->name, &lane->position);
	if (res && !lane->position_reported)
		log__warn("%s: the position in the spool cannot be written: %s; after a restart "
			  "some batches are sent again",
			  lane->backend->name, strerror(-res));
	lane->position_reported = res;
}

/* 1: a batch was sent. 0: there is none. -errno: reported. */
static int send_next(struct lane *lane)
{
	struct spool_batch batch;
	struct err err = {};
	int res = spool_reader__next(&lane->reader, &batch, &err);

	if (res < 0 && lane->reported != res)
		log__warn("%s: %s", lane->backend->name, err.msg);
	if (res < 0)
		lane->reported = res;
	if (res <= 0)
		return res;
	if (send_batch(lane, &batch) == OUTCOME_DONE)
		save_position(lane, batch.head.nr);
	else
		lane->stops = true;
	spool_batch__free(&batch);
	return 1;
}

void *lane__run(void *ctx)
{
	struct lane *lane = ctx;

	while (!lane->stops) {
		int res = send_next(lane);

		if (res > 0)
			lane->stops |= lane__is_over(lane);
		else if (lane->opts->until_sent || lane->stop_ns)
			lane->stops = true;
		else
			lane__wait(lane, res ? ERROR_MS : IDLE_MS);
		lane->all_sent = !res;
	}
	return NULL;
}

/* --- start and end */

int lane__begin(struct lane *lane, struct err *err)
{
	char agent[SPOOL_AGENT_SZ];
	int res = spool_dir__agent(lane->dirfd, false, agent);

	lane->reader.fd = -1;
	if (res)
		return err__set(err, -res, "'%s': not a spool: %s; --spool makes one",
				lane->opts->options->spool, strerror(-res));
	if (spool_dir__read_position(lane->dirfd, lane->backend->name, &lane->position))
		log__warn("%s: the position in the spool is damaged: all of it is sent again",
			  lane->backend->name);
	spool_reader__begin(&lane->reader, lane->dirfd, lane->position.batch);
	if (getrandom(&lane->backoff.random, sizeof(lane->backoff.random), 0) < 0 ||
	    !lane->backoff.random)
		lane->backoff.random = clock__mono_ns() | 1;
	res = target__choose(lane->settings->urls, lane->settings->url_cnt, agent, &lane->target);
	if (res)
		return err__set(err, -res, "out of memory");
	return http__new(&lane->http, err);
}

void lane__end(struct lane *lane)
{
	http__free(lane->http);
	spool_reader__end(&lane->reader);
	target__free(&lane->target);
}
