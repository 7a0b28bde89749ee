/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads records one by one from a file of JSON Lines or of messages, whatever else is in it. One
 * thread at a time.
 */
#ifndef JANK_EXPORT_RECORD_READER_H
#define JANK_EXPORT_RECORD_READER_H

#include "base/strbuf.h"
#include "export/sink.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum record_item {
	READ_END,
	READ_RECORD,
	READ_ODD,  /* a line or message that is no record of jankbpf */
	READ_LONG, /* a line longer than a record: its first part */
	READ_REST, /* a further part of it */
	READ_TORN, /* the rest is no whole message: the last item */
};

struct record_reader {
	FILE *file; /* borrowed */
	enum record_format format;
	struct strbuf
		raw; /* bytes of the item: a line with its newline, a message with its length */
	uint64_t line_cnt;    /* lines so far */
	uint64_t at;	      /* byte at which the message begins */
	uint64_t unknown_cnt; /* unknown members of the record's JSON */
	bool goes_on;	      /* the line does, in the next item */
};

/* Finds the format in the first bytes. */
void record_reader__init(struct record_reader *reader, FILE *file);
void record_reader__free(struct record_reader *reader);

/*
 * Reads an item. *ret: its record, which the caller frees; NULL for all but READ_RECORD. Returns
 * enum record_item, or -ENOMEM. Errors of the file: ferror.
 */
int record_reader__next(struct record_reader *reader, Jankbpf__Record **ret);

/*
 * Makes a record of its bytes: a line, or a message with its length. A message of a later version
 * has no type. 0, -EBADMSG or -ENOMEM; *ret is NULL then.
 */
int record__parse(enum record_format format, const struct strbuf *raw, Jankbpf__Record **ret,
		  uint64_t *ret_unknown_cnt);

#endif
