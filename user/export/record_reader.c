/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/record_reader.h"

#include <errno.h>

#include "export/json/json.h"

void record_reader__init(struct record_reader *reader, FILE *file)
{
	*reader = (struct record_reader){
		.file = file,
		.format = stream__is_binary(file) ? RECORD_PROTO : RECORD_JSON,
		.raw = STRBUF_INIT,
	};
}

void record_reader__free(struct record_reader *reader)
{
	strbuf__free(&reader->raw);
}

int record__parse(enum record_format format, const struct strbuf *raw, Jankbpf__Record **ret,
		  uint64_t *ret_unknown_cnt)
{
	uint64_t len;
	int head;

	*ret = NULL;
	*ret_unknown_cnt = 0;
	if (format == RECORD_JSON)
		return json__read_record(raw->data, raw->len, ret, ret_unknown_cnt, NULL);
	head = stream__length(raw->data, raw->len, &len);
	if (head > 0)
		*ret = jankbpf__record__unpack(NULL, raw->len - (size_t)head,
					       (const uint8_t *)raw->data + head);
	return *ret ? 0 : -EBADMSG;
}

/* READ_RECORD: a whole line. */
static int read_line(struct record_reader *reader)
{
	bool inside = reader->goes_on;
	int res = stream__read_line(reader->file, &reader->raw);

	if (!res || res == -ENOMEM)
		return res ? res : READ_END;
	reader->line_cnt += !inside;
	reader->goes_on = res == -EFBIG;
	if (inside)
		return READ_REST;
	return reader->goes_on ? READ_LONG : READ_RECORD;
}

static int read_message(struct record_reader *reader)
{
	size_t head;
	int res;

	reader->at += reader->raw.len;
	res = stream__read(reader->file, &reader->raw, &head);
	if (res == -EBADMSG)
		return READ_TORN;
	return res < 0 ? res : res ? READ_RECORD : READ_END;
}

int record_reader__next(struct record_reader *reader, Jankbpf__Record **ret)
{
	int item = reader->format == RECORD_JSON ? read_line(reader) : read_message(reader);
	int res;

	*ret = NULL;
	if (item != READ_RECORD)
		return item;
	res = record__parse(reader->format, &reader->raw, ret, &reader->unknown_cnt);
	return res == -EBADMSG ? READ_ODD : res ? res : READ_RECORD;
}
