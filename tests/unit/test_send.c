/* SPDX-License-Identifier: GPL-2.0 */
/* The sender's decisions: the back-off, the shard of an agent, the bytes of a request, answers. */
#include "send/uploader.h"

#include <errno.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "tests/tap.h"

static void test_backoff(void)
{
	uint64_t most[12] = {}, sum = 0, ms;

	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct backoff b = { .random = seed * 0x9e3779b97f4a7c15 };

		for (int i = 0; i < 12; i++) {
			ms = backoff__next_ms(&b, 0);
			most[i] = ms > most[i] ? ms : most[i];
			sum += i == 11 ? ms : 0;
		}
	}
	ok(most[0] > 900 && most[0] <= 1000, "the first wait is up to 1 s: %d ms", (int)most[0]);
	ok(most[3] > 7000 && most[3] <= 8000, "it doubles: %d ms", (int)most[3]);
	ok(most[11] > 280000 && most[11] <= BACKOFF_MAX_MS, "up to 5 minutes: %d ms",
	   (int)most[11]);
	ok(sum / 500 > 120000 && sum / 500 < 180000,
	   "any time below is as likely: %d ms on average", (int)(sum / 500));

	struct backoff b = { .random = 1 };

	ms = backoff__next_ms(&b, 90);
	ok(ms >= 90000 && ms < 91000, "Retry-After is waited for, and a little longer: %d ms",
	   (int)ms);
	for (int i = 0; i < 1000; i++)
		ms = backoff__next_ms(&b, 0);
	ok(ms <= BACKOFF_MAX_MS, "also after a thousand failures");
}

static void test_shards(void)
{
	const char *const urls[] = { "http://a:1/ http://b:2", "http://c:3",
				     "  http://d:4//\thttp://e:5 " };
	unsigned cnt[3] = {};
	struct target target, again;

	for (unsigned i = 0; i < 3000; i++) {
		char agent[SPOOL_AGENT_SZ];

		snprintf(agent, sizeof(agent), "%032x", i * 2654435761u);
		target__choose(urls, 3, agent, &target);
		target__choose(urls, 3, agent, &again);
		if (strcmp(target.urls[0], again.urls[0]))
			ok(false, "an agent has one shard");
		cnt[target.urls[0][7] == 'a' ? 0 : target.urls[0][7] == 'c' ? 1 : 2]++;
		target__free(&again);
		if (i < 2999)
			target__free(&target);
	}
	for (int i = 0; i < 3; i++)
		ok(cnt[i] > 850 && cnt[i] < 1150, "shard %d has a third of the agents: %u", i,
		   cnt[i]);
	target__free(&target);
	target__choose(&urls[2], 1, "x", &target);
	is_uint(target.cnt, 2, "replicas of a shard");
	is_str(target.urls[0], "http://d:4", "without a slash at the end");
	is_str(target.urls[1], "http://e:5", "and without blanks");
	target__free(&target);
}

/* --- requests */

static int encode(const struct batch *batch, struct strbuf *ret)
{
	if (!batch->nr)
		return -ENODATA;
	for (int i = 0; i < 50000; i++)
		strbuf__addf(ret, "row %d of %s\n", i, batch->agent);
	return 0;
}

static size_t unzip(const struct strbuf *body, char *to, size_t size)
{
	z_stream z = { .next_in = (Bytef *)body->data,
		       .avail_in = (uInt)body->len,
		       .next_out = (Bytef *)to,
		       .avail_out = (uInt)size };

	inflateInit2(&z, 15 + 16);
	if (inflate(&z, Z_FINISH) != Z_STREAM_END)
		diag("not gzip");
	inflateEnd(&z);
	return size - z.avail_out;
}

static void test_zstd(const struct backend_part *part, const struct batch *batch, const char *plain,
		      size_t len)
{
#ifdef HAVE_ZSTD
	struct backend_options settings = { .database = "d", .compress = COMPRESS_ZSTD };
	static char unpacked[2 << 20];
	struct request request;

	is_int(request__make(part, batch, &settings, &request), 0, "zstd");
	is_str(request.encoding, "zstd", "its encoding");
	is_uint(ZSTD_decompress(unpacked, sizeof(unpacked), request.body.data, request.body.len),
		len, "its length, of %zu bytes", request.body.len);
	ok(!memcmp(unpacked, plain, len), "its bytes");
	request__free(&request);
#else
	skip(4, "this build has no zstd");
#endif
}

/* plain: what the body is without compression. */
static void test_encodings(const struct backend_part *part, const struct batch *batch,
			   const char *plain, size_t len)
{
	struct backend_options settings = { .database = "d", .compress = COMPRESS_NONE };
	struct request request;

	test_zstd(part, batch, plain, len);
	is_int(request__make(part, batch, &settings, &request), 0, "none");
	ok(!request.encoding && request.body.len == len && !memcmp(request.body.data, plain, len),
	   "no compression: the bytes as they are");
	request__free(&request);
}

static void test_request(void)
{
	const struct backend_part part = { .name = "rows",
					   .path = "/?database=%s&query=x",
					   .encode = encode };
	struct batch batch = { .agent = "ab", .nr = 1 };
	struct backend_options settings = { .database = "my db&x=%s" };
	struct request one, two;
	static char plain[2 << 20];
	size_t len;

	is_int(request__make(&part, &batch, &settings, &one), 0, "a request");
	is_str(strbuf__str(&one.path), "/?database=my%20db%26x%3D%25s&query=x",
	       "the database is encoded");
	len = unzip(&one.body, plain, sizeof(plain));
	ok(len > 500000 && !memcmp(plain, "row 0 of ab\n", 12), "the body is gzip: %d of %d bytes",
	   (int)one.body.len, (int)len);
	request__make(&part, &batch, &settings, &two);
	ok(one.body.len == two.body.len && !memcmp(one.body.data, two.body.data, one.body.len),
	   "the same batch gives the same bytes");
	request__free(&one);
	request__free(&two);
	test_encodings(&part, &batch, plain, len);
	batch.nr = 0;
	is_int(request__make(&part, &batch, &settings, &one), -ENODATA, "a part without data");
	request__free(&one);
}

static void test_outcomes(void)
{
	static const struct {
		long status;
		enum outcome outcome;
	} rows[] = {
		{ 200, OUTCOME_DONE },	  { 204, OUTCOME_DONE },    { 301, OUTCOME_USER },
		{ 307, OUTCOME_USER },	  { 400, OUTCOME_REFUSED }, { 401, OUTCOME_USER },
		{ 403, OUTCOME_USER },	  { 404, OUTCOME_USER },    { 407, OUTCOME_USER },
		{ 408, OUTCOME_AGAIN },	  { 413, OUTCOME_SPLIT },   { 415, OUTCOME_REFUSED },
		{ 422, OUTCOME_REFUSED }, { 429, OUTCOME_AGAIN },   { 500, OUTCOME_FAULT },
		{ 502, OUTCOME_AGAIN },	  { 503, OUTCOME_AGAIN },   { 504, OUTCOME_SLOW },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct http_answer answer = { .result = HTTP_ANSWERED,
						    .status = rows[i].status };

		is_int(outcome__of(&answer), rows[i].outcome, "status %ld", rows[i].status);
	}
	is_int(outcome__of(&(struct http_answer){ .result = HTTP_AWAY }), OUTCOME_AGAIN, "away");
	is_int(outcome__of(&(struct http_answer){ .result = HTTP_UNTRUSTED }), OUTCOME_USER,
	       "a wrong certificate is never a reason to drop");
	is_int(outcome__of(&(struct http_answer){ .result = HTTP_WRONG }), OUTCOME_FAULT,
	       "garbage says nothing about the batch");
}

#define HOUR_NS 3600000000000ull

static void test_faults(void)
{
	const struct faults many = { .cnt = 100000, .first_ns = 5 },
			    few = { .cnt = 2, .first_ns = 5 };

	ok(!faults__are_final(&many, 23 * HOUR_NS), "faults end a request by time, not by number");
	ok(faults__are_final(&many, 25 * HOUR_NS), "after a day");
	ok(!faults__are_final(&few, 25 * HOUR_NS), "two in two days do not");
}

/* Of two intervals with a block, 30 refused data points are two records. */
static void test_refused_records(void)
{
	Jankbpf__Record interval = JANKBPF__RECORD__INIT, block = JANKBPF__RECORD__INIT;
	Jankbpf__Record *records[] = { &interval, &block, &interval };
	const struct batch batch = { .records = records, .record_cnt = 3 };
	const struct backend_part *logs = &otlp_backend.parts[0], *metrics = logs + 1;
	Jankbpf__Block of_block = JANKBPF__BLOCK__INIT;

	interval.type_case = JANKBPF__RECORD__TYPE_INTERVAL;
	block.type_case = JANKBPF__RECORD__TYPE_BLOCK;
	block.block = &of_block;
	is_uint(uploader__refused(metrics, &batch, 30), 2, "data points of two intervals");
	is_uint(uploader__refused(metrics, &batch, 1), 1, "a data point");
	is_uint(uploader__refused(logs, &batch, 30), 1, "log records of one block");
	is_uint(uploader__refused(logs, &batch, 0), 0, "none is refused");
}

static void test_names(void)
{
	static const char *const url[] = { "http://a" };
	struct options opts = {};

	for (int i = 0; i < SEND_CNT; i++)
		opts.sends[i] =
			(struct backend_options){ .urls = (const char **)url, .url_cnt = 1 };
	for (int i = 0; i < SEND_CNT; i++)
		is_str(send__names(&opts).list[i], backends[i]->name, "the name of a backend");
	opts.sends[0].url_cnt = 0;
	is_str(send__names(&opts).list[0], backends[1]->name, "only those with a URL");
	ok(!send__names(&opts).list[1], "then the list ends");
}

int main(void)
{
	test_refused_records();
	test_names();
	test_backoff();
	test_shards();
	test_request();
	test_outcomes();
	test_faults();
	return tap__done();
}
