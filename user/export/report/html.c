/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One HTML file that needs no network: the page of web/, which mk/web.mk makes part of this
 * program, around the data. These are the records as JSON Lines, compressed, as base64: no text of
 * a record can end the data. Records are written as they come; memory is that of one part.
 */
#include "base/gzip.h"
#include "export/json/json.h"
#include "export/report/report.h"

#include <string.h>

#define LEVEL	  4	     /* of gzip; 6: 15 % less for a tenth more time of the report */
#define PART_SIZE (64 << 10) /* bytes of records that are compressed at once */

static const char page_head[] =
#include "report_head.inc"
	;

static const char page_tail[] =
#include "report_tail.inc"
	;

struct html {
	struct report report;
	struct gzip gzip;
	struct strbuf plain, packed; /* records; compressed ones, not written yet */
	bool begun;
};

static int html__init(struct report *report)
{
	return gzip__begin(&((struct html *)report)->gzip, LEVEL);
}

static void html__free(struct report *report)
{
	struct html *h = (struct html *)report;

	gzip__free(&h->gzip);
	strbuf__free(&h->plain);
	strbuf__free(&h->packed);
}

/* Three bytes, or the last one or two, as four characters. */
static void add_base64(struct strbuf *sb, const char *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned value = 0;

	for (size_t i = 0; i < 3; i++)
		value = value << 8 | (i < len ? (unsigned char)bytes[i] : 0u);
	for (size_t i = 0; i < 4; i++)
		strbuf__addc(sb, i <= len ? digits[value >> (18 - 6 * i) & 63] : '=');
}

/* Compresses what there is, and writes whole groups of three bytes; at the end, all. */
static int pack(struct html *h, int flush)
{
	struct strbuf *out = &h->report.out->bytes;
	int res = gzip__add(&h->gzip, &h->plain, flush, &h->packed);
	size_t len = h->packed.len, at = 0;

	if (res)
		return res;
	if (!h->begun)
		strbuf__adds(out, page_head);
	h->begun = true;
	for (; at + 3 <= len; at += 3)
		add_base64(out, h->packed.data + at, 3);
	if (flush == Z_FINISH && at < len)
		add_base64(out, h->packed.data + at, len - at);
	strbuf__addc(out, '\n');
	h->packed.len -= at;
	memmove(h->packed.data, h->packed.data + at, h->packed.len);
	strbuf__reset(&h->plain);
	return report_out__added(h->report.out);
}

/* The page shows nothing of intervals and histories. */
static int html__record(struct report *report, const Jankbpf__Record *record)
{
	struct html *h = (struct html *)report;

	if (!report__block(record) && record->type_case != JANKBPF__RECORD__TYPE_SUMMARY)
		return 0;
	json__add_record(&h->plain, record);
	strbuf__addc(&h->plain, '\n');
	return h->plain.len < PART_SIZE ? 0 : pack(h, Z_NO_FLUSH);
}

static int html__finish(struct report *report)
{
	int res = pack((struct html *)report, Z_FINISH);

	strbuf__adds(&report->out->bytes, page_tail);
	return res ?: report_out__added(report->out);
}

const struct report_ops report_html = {
	.name = "html",
	.is_binary = true,
	.size = sizeof(struct html),
	.init = html__init,
	.record = html__record,
	.finish = html__finish,
	.free = html__free,
};
