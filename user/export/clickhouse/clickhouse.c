/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The backend ClickHouse: its requests, and what all rows have. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/clickhouse/rows.h"
#include "export/values.h"

/*
 * A newer agent may send columns that an older table lacks. Nothing else is set: 18.16 refuses
 * settings that it does not know.
 */
#define INSERT(table)                                                                              \
	"/?database=%s&input_format_skip_unknown_fields=1&query=INSERT%20INTO%20" table            \
	"_local%20FORMAT%20JSONEachRow"

#define PART(table)                                                                                \
	{                                                                                          \
		.name = #table, .path = INSERT(#table), .encode = table##__encode                  \
	}

/* Stacks come first: a block that arrived has its stacks. */
static const struct backend_part parts[] = {
	PART(stacks), PART(blocks), PART(intervals), PART(loops), PART(left_out),
};

/*
 * The answer to an insert that succeeded is empty. A captive portal answers a page with status 200;
 * ClickHouse appends an error that it finds after it has sent the status.
 */
static int check(const struct backend_part *part, const void *body, size_t len,
		 uint64_t *ret_rejected, struct err *why)
{
	*ret_rejected = 0;
	return len ? err__set(why, EBADMSG,
			      "the answer is not that of ClickHouse to an insert; does the URL "
			      "lead to its HTTP port, such as http://HOST:8123?")
		   : 0;
}

const struct backend clickhouse_backend = {
	.name = "clickhouse",
	.content_type = "application/x-ndjson",
	.parts = parts,
	.part_cnt = sizeof(parts) / sizeof(*parts),
	.check = check,
	/* Servers before mid-2024 may fail with status 200, and say so only here. */
	.error_header = "X-ClickHouse-Exception-Code",
};

/* Adds at most max bytes of text, without a torn character at the end. */
static void add_part(struct strbuf *sb, const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	if (len > max) {
		len = max;
		while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	strbuf__add(sb, text, len);
}

void row__text(struct row *row, const char *column, const char *text)
{
	if (!text || !*text)
		return;
	if (strnlen(text, ROW_TEXT_MAX + 1) > ROW_TEXT_MAX) {
		strbuf__reset(&row->scratch);
		add_part(&row->scratch, text, ROW_TEXT_MAX);
		text = strbuf__str(&row->scratch);
	}
	jsonw__kstr(&row->w, column, text);
}

void row__number(struct row *row, const char *column, uint64_t number)
{
	if (!number)
		return;
	jsonw__key(&row->w, column);
	jsonw__u64(&row->w, number);
}

void row__time(struct row *row, uint64_t real_ns)
{
	uint64_t seconds = real_ns / NS_PER_SEC;

	row__number(row, "time", seconds < UINT32_MAX ? seconds : UINT32_MAX);
}

uint64_t start__real_ns(const char *start)
{
	uint64_t real_ns;

	return start && clock__read_rfc3339(start, &real_ns) ? real_ns : 0;
}

void row__open(struct row *row, struct strbuf *out)
{
	*row = (struct row){ .out = out, .scratch = STRBUF_INIT };
	jsonw__init(&row->w, out);
	jsonw__object(&row->w);
}

void row__begin(struct row *row, struct strbuf *out, const struct batch *batch, size_t nr,
		const char *start)
{
	uint64_t real_ns = start__real_ns(start);

	row__open(row, out);
	row__time(row, real_ns);
	row__number(row, "start_ns", real_ns);
	row__text(row, "agent", batch->agent);
	row__number(row, "batch", batch->nr);
	row__number(row, "nr", batch->first + nr);
}

void row__end(struct row *row)
{
	jsonw__object_end(&row->w);
	strbuf__addc(row->out, '\n');
	row->out->failed |= row->scratch.failed;
	strbuf__free(&row->scratch);
}

void frame__add_text(struct strbuf *sb, const Jankbpf__Frame *frame)
{
	struct strbuf place = STRBUF_INIT;

	frame__add_place(&place, frame, false);
	add_part(sb, strbuf__str(&place), ROW_FRAME_MAX);
	sb->failed |= place.failed;
	strbuf__free(&place);
}
