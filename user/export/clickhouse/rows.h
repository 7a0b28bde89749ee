/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of the tables of deploy/clickhouse/schema.sql, as JSONEachRow: one object a line. Texts are
 * valid UTF-8 of at most ROW_TEXT_MAX bytes; absent and empty values are left out, for which the
 * server takes the default of the column. Any thread.
 */
#ifndef JANK_EXPORT_CLICKHOUSE_ROWS_H
#define JANK_EXPORT_CLICKHOUSE_ROWS_H

#include "base/strbuf.h"
#include "export/backend.h"
#include "export/json/json.h"
#include "export/text/text.h"
#include "schema/blockinfo.pb-c.h"

#define ROW_TEXT_MAX   4096u
#define ROW_RECORD_MAX (1u << 20) /* bytes of the whole record; longer ones are left out */
#define ROW_STACKS_MAX 8u	  /* of a block: the longest */
#define ROW_FRAMES_MAX 128u	  /* of a stack: the innermost */
#define ROW_FRAME_MAX  512u

/* A row under way. */
struct row {
	struct jsonw w;
	struct strbuf *out;
	struct strbuf scratch;
};

void row__open(struct row *row, struct strbuf *out); /* without a key */
/* The key of each other row: agent, batch, nr. start: RFC 3339 of the record. */
void row__begin(struct row *row, struct strbuf *out, const struct batch *batch, size_t nr,
		const char *start);
void row__end(struct row *row);
void row__time(struct row *row, uint64_t real_ns); /* nanoseconds since 1970 */
void row__text(struct row *row, const char *column, const char *text);
void row__number(struct row *row, const char *column, uint64_t number);

/* Nanoseconds since 1970 of a record's start; 0: it is no RFC 3339. */
uint64_t start__real_ns(const char *start);

/* A stack of a block: its frames, hash and time. */
struct row_stack {
	struct frames frames;
	uint64_t hash, ns;
};

/* The longest stacks of a block, at most ROW_STACKS_MAX. 0 or -ENOMEM. */
int block__stacks(const Jankbpf__Block *block, struct row_stack *ret, size_t *ret_cnt);

/* Adds "main" or "libx.so+0x12". */
void frame__add_text(struct strbuf *sb, const Jankbpf__Frame *frame);

/* Each adds the rows of a part; see struct backend_part. */
int blocks__encode(const struct batch *batch, struct strbuf *ret);    /* blocks.c */
int stacks__encode(const struct batch *batch, struct strbuf *ret);    /* blocks_stacks.c */
int intervals__encode(const struct batch *batch, struct strbuf *ret); /* intervals.c */
int loops__encode(const struct batch *batch, struct strbuf *ret);
int left_out__encode(const struct batch *batch, struct strbuf *ret);

#endif
