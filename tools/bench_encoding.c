/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of a block's record as JSON, as protobuf, and as protobuf with zstd, message by message
 * and as one stream. Reads records from stdin as JSON Lines; writes one line of JSON with the
 * figures to stdout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "export/json/json.h"
#include "export/sink.h"

#define RECORD_MAX 4096
#define ROUNDS	   200
#define ZSTD_LEVEL 3

static Jankbpf__Record *records[RECORD_MAX];
static size_t record_cnt;

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static void read_records(void)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	while (record_cnt < RECORD_MAX && (len = getline(&line, &cap, stdin)) > 0) {
		Jankbpf__Record *record;
		uint64_t unknown_cnt;
		struct err err;

		if (json__read_record(line, len, &record, &unknown_cnt, &err)) {
			fprintf(stderr, "bench_encoding: %s\n", err.msg);
			exit(1);
		}
		if (record->type_case == JANKBPF__RECORD__TYPE_BLOCK)
			records[record_cnt++] = record;
		else
			jankbpf__record__free_unpacked(record, NULL);
	}
	free(line);
}

struct figures {
	double us, bytes; /* of a block */
};

/* zstd: a context, or NULL for no compression. */
static struct figures encode(enum record_format format, ZSTD_CCtx *zstd)
{
	struct strbuf sb = STRBUF_INIT;
	struct figures ret = { 0 };
	char *packed = NULL;
	size_t room = 0;
	double begin = now_us();

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < record_cnt; i++) {
			strbuf__reset(&sb);
			if (stream__add(&sb, format, records[i]))
				abort();
			if (zstd && ZSTD_compressBound(sb.len) > room) {
				room = ZSTD_compressBound(sb.len);
				packed = realloc(packed, room);
			}
			ret.bytes += zstd ? ZSTD_compressCCtx(zstd, packed, room, sb.data, sb.len,
							      ZSTD_LEVEL)
					  : sb.len;
		}
	}
	ret.us = (now_us() - begin) / ROUNDS / record_cnt;
	ret.bytes /= (double)ROUNDS * record_cnt;
	strbuf__free(&sb);
	free(packed);
	return ret;
}

/* One frame for all records: the cost for a file or a batch. */
static struct figures encode_stream(ZSTD_CCtx *zstd)
{
	struct strbuf sb = STRBUF_INIT;
	struct figures ret = { 0 };
	double begin = now_us();
	char *packed = NULL;

	for (unsigned round = 0; round < ROUNDS; round++) {
		strbuf__reset(&sb);
		for (size_t i = 0; i < record_cnt; i++)
			if (stream__add(&sb, RECORD_PROTO, records[i]))
				abort();
		packed = realloc(packed, ZSTD_compressBound(sb.len));
		ret.bytes = ZSTD_compressCCtx(zstd, packed, ZSTD_compressBound(sb.len), sb.data,
					      sb.len, ZSTD_LEVEL);
	}
	ret.us = (now_us() - begin) / ROUNDS / record_cnt;
	ret.bytes /= record_cnt;
	strbuf__free(&sb);
	free(packed);
	return ret;
}

int main(void)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	struct figures json, proto, each, stream;

	read_records();
	if (!zstd || !record_cnt)
		return 1;
	json = encode(RECORD_JSON, NULL);
	proto = encode(RECORD_PROTO, NULL);
	each = encode(RECORD_PROTO, zstd);
	stream = encode_stream(zstd);
	printf("{\"blocks\":%zu,\"json\":[%.2f,%.0f],\"proto\":[%.2f,%.0f],"
	       "\"proto, zstd each\":[%.2f,%.0f],\"proto, zstd stream\":[%.2f,%.0f]}\n",
	       record_cnt, json.us, json.bytes, proto.us, proto.bytes, each.us, each.bytes,
	       stream.us, stream.bytes);
	ZSTD_freeCCtx(zstd);
	return 0;
}
