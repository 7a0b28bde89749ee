/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream of records: JSON Lines, or protobuf messages (Record of schema/blockinfo.proto), each
 * after its length as a varint. One thread at a time.
 */
#ifndef JANK_EXPORT_STREAM_H
#define JANK_EXPORT_STREAM_H

#include "base/strbuf.h"
#include "model/block.h"
#include "schema/blockinfo.pb-c.h"
#include <stddef.h>
#include <stdint.h>

enum record_format { RECORD_JSON, RECORD_PROTO };

#define STREAM_VARINT_MAX 10 /* bytes of a length */

/*
 * The encoder: its bytes are those of the last record, whole and ready to be appended to a stream.
 */
struct stream {
	enum record_format format;
	struct record *record; /* made by the first use */
	struct strbuf bytes;
};

/* Each replaces stream->bytes. 0 or -ENOMEM. */
int stream__put_block(struct stream *stream, const struct block *block);
int stream__put_summary(struct stream *stream, const struct summary *summary);
void stream__free(struct stream *stream); /* what it holds, not itself */

/* Adds one record to sb as a stream of that format has it. 0 or -ENOMEM. */
int stream__add(struct strbuf *sb, enum record_format format, const Jankbpf__Record *record);

/*
 * Reads the length at the begin of `data`. The number of bytes that it takes; 0: `len` bytes do not
 * hold all of it; -EBADMSG: no such length.
 */
int stream__length(const void *data, size_t len, uint64_t *ret);

/* Records leave whole or not at all. */

/*
 * Writes a whole record at the end of fd, or at its position. 0, or -errno: then of a regular
 * file the part that was written is taken back, file position included. A pipe, socket or
 * terminal can't be taken back: there the record is pushed out until it is complete (a
 * non-blocking one is waited for) or the descriptor fails. The caller ignores SIGPIPE and
 * SIGXFSZ, else they end the program before the errors (EPIPE, EFBIG) are seen.
 */
int output__write(int fd, const void *data, size_t len);

#endif
