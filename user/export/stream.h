/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream of records: JSON Lines, or protobuf messages (Record of schema/blockinfo.proto), each
 * preceded by its length as a varint. One thread at a time.
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

/* The encoder. `bytes` holds the last record, complete and ready to append to a stream. */
struct stream {
	enum record_format format;
	struct record *record; /* created on first use */
	struct strbuf bytes;
};

/* Each replaces stream->bytes. 0 or -ENOMEM. */
int stream__put_block(struct stream *stream, const struct block *block);
int stream__put_summary(struct stream *stream, const struct summary *summary);
void stream__free(struct stream *stream); /* frees the members, not the struct */

/* Adds one record to sb in the format of the stream. 0 or -ENOMEM. */
int stream__add(struct strbuf *sb, enum record_format format, const Jankbpf__Record *record);

/*
 * Reads the length at the start of `data`. Returns the number of bytes of the length; 0: `len`
 * bytes do not hold all of it; -EBADMSG: not a valid length.
 */
int stream__length(const void *data, size_t len, uint64_t *ret);

/* --- output: records are written completely or not at all */

/*
 * Writes a whole record at the end of fd, or at its position. 0 or -errno. On error the written
 * part is removed from a regular file, and the file position restored. A pipe, socket or terminal
 * cannot be restored: there the write continues until the record is complete (waiting if
 * non-blocking) or the descriptor fails. The caller ignores SIGPIPE and SIGXFSZ; otherwise they end
 * the program before the errors (EPIPE, EFBIG) are returned.
 */
int output__write(int fd, const void *data, size_t len);

#endif
