/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of the records as JSON Lines, compressed, made while they are sent: memory is that of a
 * few records.
 */
#include "serve/server.h"

#ifdef HAVE_MICROHTTPD
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "export/json/json.h"
#include "serve/fault_list.h"

#define RECORDS_MAX 1000
#define BYTES_MAX   (32u << 20) /* of the records of a part */
#define WORST_MAX   300
#define ANSWERS_MAX 4
#define BLOCK_SIZE  (64 << 10)
#define LINES_READY (64 << 10) /* bytes: enough for a call */

struct data {
	struct server *server;
	struct gzip gzip;
	struct strbuf lines, out; /* out: compressed, what is sent */
	uint64_t next, end;	  /* seq of the next record; of the first that is not part of it */
	uint64_t *worst; /* or the numbers of the records, with 0 at the end; NULL: all of them */
	size_t sent;	 /* bytes of out */
	bool finished;
	struct strbuf raw;
};

static void free_data(void *ctx)
{
	struct data *d = ctx;

	d->server->data_cnt--;
	free(d->worst);
	gzip__free(&d->gzip);
	strbuf__free(&d->lines);
	strbuf__free(&d->out);
	strbuf__free(&d->raw);
	free(d);
}

/* Two lines: its number here, and whether it was read; and the record. */
static int add_record(struct data *d, int file, struct indexed_record *at)
{
	Jankbpf__Record *record;
	int res = record_index__read(&d->server->index, file, at, &d->raw, &record);

	if (res)
		return res == -ENOMEM ? res : 0;
	strbuf__addf(&d->lines, "{\"seq\":%" PRIu64 ",\"read\":%s}\n", at->seq,
		     marks__is_read(&d->server->marks, at->id) ? "true" : "false");
	json__add_record(&d->lines, record);
	strbuf__addc(&d->lines, '\n');
	jankbpf__record__free_unpacked(record, NULL);
	return 0;
}

/* The next record of the part; NULL: there is no more. */
static struct indexed_record *take_next(struct data *d, int *ret_file)
{
	struct record_index *index = &d->server->index;
	struct indexed_record *at = NULL;

	if (!d->worst) {
		at = record_index__from(index, d->next, ret_file);
		at = at && at->seq < d->end ? at : NULL;
		d->next = at ? at->seq + 1 : d->next;
		return at;
	}
	/* One that has gone meanwhile is left out. */
	while (!at && d->worst[d->next])
		at = record_index__get(index, d->worst[d->next++], ret_file);
	return at;
}

static int make_more(struct data *d)
{
	struct indexed_record *at;
	int file, res = 0;

	while (!res && !d->finished && d->lines.len < LINES_READY) {
		at = take_next(d, &file);
		d->finished = !at;
		if (at && !at->doomed)
			res = add_record(d, file, at);
	}
	strbuf__reset(&d->out);
	d->sent = 0;
	res = res ?: gzip__add(&d->gzip, &d->lines, d->finished ? Z_FINISH : Z_SYNC_FLUSH, &d->out);
	strbuf__reset(&d->lines);
	return res;
}

/* libmicrohttpd calls it for each part that the client can take. */
static ssize_t read_data(void *ctx, uint64_t pos, char *buf, size_t max)
{
	struct data *d = ctx;
	size_t left = d->out.len - d->sent;

	if (!left) {
		if (d->finished)
			return MHD_CONTENT_READER_END_OF_STREAM;
		if (make_more(d))
			return MHD_CONTENT_READER_END_WITH_ERROR;
		left = d->out.len;
	}
	if (left > max)
		left = max;
	memcpy(buf, d->out.data + d->sent, left);
	d->sent += left;
	return (ssize_t)left;
}

/* --- which records */

/* The first of at most RECORDS_MAX records before `before`. */
static uint64_t begin_of(struct record_index *index, uint64_t before)
{
	uint64_t begin = before, bytes = 0;

	for (unsigned n = 0; n < RECORDS_MAX && bytes < BYTES_MAX; n++) {
		int file;
		const struct indexed_record *at = record_index__before(index, begin, &file);

		if (!at)
			break;
		begin = at->seq;
		bytes += at->len;
	}
	return begin;
}

/* One past the last of at most RECORDS_MAX records from `from` on. */
static uint64_t end_of(struct record_index *index, uint64_t from)
{
	uint64_t end = from, bytes = 0;

	for (unsigned n = 0; n < RECORDS_MAX && bytes < BYTES_MAX; n++) {
		int file;
		const struct indexed_record *at = record_index__from(index, end, &file);

		if (!at)
			break;
		end = at->seq + 1;
		bytes += at->len;
	}
	return end;
}

static int choose_worst(struct data *d, uint64_t before)
{
	struct listed_block *list;
	size_t cnt;
	int res = fault_list__make(&d->server->index, &list, &cnt);

	d->worst = res ? NULL : calloc(WORST_MAX + 1, sizeof(*d->worst));
	if (d->worst)
		fault_list__worst(list, cnt, before, d->worst, WORST_MAX);
	free(list);
	return d->worst ? 0 : -ENOMEM;
}

static bool choose(struct data *d, struct MHD_Connection *connection)
{
	struct record_index *index = &d->server->index;
	const char *before = request__argument(connection, "before");
	const char *after = request__argument(connection, "after");
	const char *worst = request__argument(connection, "worst");
	uint64_t seq;

	if (worst)
		return !before && !after && request__number(worst, &seq) && !choose_worst(d, seq);
	if (after) {
		if (before || !request__number(after, &seq))
			return false;
		d->next = seq + 1;
		d->end = end_of(index, d->next);
		return true;
	}
	d->end = index->next_seq;
	if (before && !request__number(before, &d->end))
		return false;
	d->next = begin_of(index, d->end);
	return true;
}

/* The first line: which part it is, and how many records are older. */
static void add_head(struct data *d)
{
	struct record_index *index = &d->server->index;
	uint64_t older = 0;

	if (d->worst)
		return;
	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; n < index->files[i].cnt; n++)
			older += index->files[i].records[n].seq < d->next;
	strbuf__addf(&d->lines,
		     "{\"first\":%" PRIu64 ",\"end\":%" PRIu64 ",\"older\":%" PRIu64
		     ",\"version\":%" PRIu64 "}\n",
		     d->next, d->end, older, index->version);
}

static struct data *new_data(struct server *server)
{
	struct data *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	server->data_cnt++;
	d->server = server;
	if (!gzip__begin(&d->gzip, Z_BEST_SPEED))
		return d;
	free_data(d);
	return NULL;
}

enum MHD_Result answer__faults(struct server *server, struct MHD_Connection *connection)
{
	struct strbuf text = STRBUF_INIT;
	struct listed_block *list;
	enum MHD_Result ret = MHD_NO;
	size_t cnt;

	if (fault_list__make(&server->index, &list, &cnt))
		return MHD_NO;
	fault_list__add_json(&text, list, cnt);
	free(list);
	if (!text.failed)
		ret = answer__text(connection, MHD_HTTP_OK, "application/json", text.data);
	strbuf__free(&text);
	return ret;
}

enum MHD_Result answer__data(struct server *server, struct MHD_Connection *connection)
{
	struct MHD_Response *response;
	struct data *d;

	if (server->data_cnt >= ANSWERS_MAX)
		return answer__error(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				     "too many requests for data at once: try again");
	d = new_data(server);
	if (!d)
		return MHD_NO;
	if (!choose(d, connection)) {
		free_data(d);
		return answer__error(connection, MHD_HTTP_BAD_REQUEST,
				     "give before=SEQ, after=SEQ or worst=SEQ, a number");
	}
	add_head(d);
	response = mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_data, d,
						     free_data);
	if (!response) {
		free_data(d);
		return MHD_NO;
	}
	mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	return answer__queue(connection, MHD_HTTP_OK, response, "application/jsonl");
}
#endif
