/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sinks, which write finished records (struct sink, below), and the streams that they write.
 *
 * A stream of records: JSON Lines, or protobuf messages (Record of schema/blockinfo.proto), each
 * preceded by its length as a varint. One thread at a time.
 */
#ifndef JANK_EXPORT_SINK_H
#define JANK_EXPORT_SINK_H

#include "base/err.h"
#include "base/strbuf.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum record_format { RECORD_JSON, RECORD_PROTO };

#define STREAM_VARINT_MAX 10 /* bytes of a length */
/* Bytes of a record to read: the largest have a few MiB, and a tree of JSON takes 30 times. */
#define STREAM_RECORD_MAX (16 << 20)

/* Adds one record to sb in the format of the stream. 0 or -ENOMEM. */
int stream__add(struct strbuf *sb, enum record_format format, const Jankbpf__Record *record);

/* Adds the packed record alone, without its length. 0 or -ENOMEM. */
int stream__pack(struct strbuf *sb, const Jankbpf__Record *record);

/*
 * Reads the length at the start of `data`. Returns the number of bytes of the length; 0: `len`
 * bytes do not hold all of it; -EBADMSG: not a valid length.
 */
int stream__length(const void *data, size_t len, uint64_t *ret);

/*
 * Reads a protobuf record, with its length of *ret_head bytes in front. 1; 0 at the end; -EBADMSG:
 * torn, longer than STREAM_RECORD_MAX, or not such a stream; -ENOMEM.
 */
int stream__read(FILE *file, struct strbuf *ret, size_t *ret_head);

/*
 * Reads a line, with its newline unless the file ends without one. 1; 0 at the end; -EFBIG: ret has
 * STREAM_RECORD_MAX bytes, and the line goes on in the next call; -ENOMEM.
 */
int stream__read_line(FILE *file, struct strbuf *ret);

/* True if the file begins with a protobuf record, not with JSON. Consumes nothing. */
bool stream__is_binary(FILE *file);

/* --- output: records are written completely or not at all */

/*
 * Writes a whole record at the end of fd, or at its position. 0 or -errno. On error the written
 * part is removed from a regular file, and the file position restored. A pipe, socket or terminal
 * cannot be restored: there the write continues until the record is complete (waiting if
 * non-blocking) or the descriptor fails. The caller ignores SIGPIPE and SIGXFSZ; otherwise they end
 * the program before the errors (EPIPE, EFBIG) are returned.
 */
int output__write(int fd, const void *data, size_t len);

/*
 * --- A sink: the destination of finished records. It has a table of operations, and knows the
 * record, not the model: a record may come from another process or from a file. A sink borrows the
 * record for the call. The caller counts a sink's error (-errno) as an unwritten record, except
 * -EPIPE, which ends the run. After an error, readers of the sink's files must not see any part of
 * the record.
 */

struct sink;

struct sink_ops {
	const char *name; /* for messages: "text", "stdout", "directory" */
	int (*record)(struct sink *sink, const Jankbpf__Record *record);
	bool takes_history; /* else it gets no record of that type */
	/* Handles the sink's own input until fd is readable. 0 or -errno. NULL: it has none. */
	int (*wait)(struct sink *sink, int fd);
	void (*free)(struct sink *sink);
};

/*
 * How far a sink is with a record, in memory that outlives its process: the next process resumes
 * the record, so that it is neither torn nor doubled. All zero before the first record.
 */
struct sink_progress {
	uint64_t begun, done; /* numbers of the records begun and finished last */
	uint64_t base;	  /* size or position of the file before the record, + 1; 0: not written */
	uint64_t sent;	  /* bytes of the record that a pipe, socket or terminal has taken */
	uint64_t dropped; /* see sink__add_dropped */
	uint64_t dropped_base; /* what the sink's files had as dropped before the run, + 1 */
	int32_t result;	       /* of `done`: 0 or -errno */
};

/* The first member of every sink's own struct. */
struct sink {
	const struct sink_ops *ops;
	struct sink_progress *progress; /* NULL: a record is never resumed */
	uint64_t dropped;		/* without progress; see sink__add_dropped */
};

/* Counts records that the sink had taken, and had to drop before they reached their destination. */
void sink__add_dropped(struct sink *sink, uint64_t cnt);
uint64_t sink__dropped(const struct sink *sink);

/* False: the record `nr` is finished, and progress has its result. progress may be NULL. */
bool sink_progress__begin(struct sink_progress *progress, uint64_t nr);
void sink_progress__end(struct sink_progress *progress, uint64_t nr, int result);

/* Like output__write; resumes an interrupted write of the same bytes. progress may be NULL. */
int sink_progress__write(struct sink_progress *progress, int fd, const void *data, size_t len);

extern const char json_schema[]; /* JSON Schema (2020-12) of every record type, NUL-terminated */

#define STACKS_DEFAULT 2

struct sink_text_opts {
	bool color;	 /* escape sequences */
	bool ascii;	 /* no other characters */
	bool each;	 /* each block in full, not only the first of its fault */
	unsigned width;	 /* terminal columns; 0: 100 */
	unsigned stacks; /* of a block */
	unsigned top;	 /* faults of the summary; 0: all */
	int verbosity;
};

/* Text for people on fd, which stays open. opts: copied. */
struct sink *sink_text__new(int fd, const struct sink_text_opts *opts);

/*
 * `jankbpf top`: tables of loops and faults, from intervals and blocks. Batch: each interval is
 * printed to fd. Else it is a screen on that terminal, with keys from keys_fd; needs are written to
 * control_fd as struct top_command. dir: for the records that the user saves; NULL: the current
 * one.
 */
struct sink_top_opts {
	struct sink_text_opts text;
	int keys_fd, control_fd; /* -1: batch */
	const char *dir;
	uint64_t interval_ns;
	uint64_t count;	  /* batch: ends after so many intervals; 0: never */
	uint64_t hang_ns; /* the threshold cannot be longer; 0: no limit */
	/* Reads a threshold such as "25ms". 0, or -errno with a message. */
	int (*read_time)(const char *text, uint64_t *ret_ns, struct err *err);
};
/* Borrows dir. Returns 0, or -errno with a message: the terminal is not known, … */
int sink_top__new(int fd, const struct sink_top_opts *opts, struct sink **ret, struct err *err);

enum top_command_kind { TOP_END, TOP_THRESHOLD };
struct top_command {
	uint64_t kind;
	uint64_t threshold_ns; /* of TOP_THRESHOLD */
};
#define TOP_THRESHOLD_MIN_NS 1000ull

/* A stream of records on fd, which stays open: stdout. */
struct sink *sink_stream__new(int fd, enum record_format format);

/*
 * Options of the output directory: DIR/blocks.jsonl or blocks.pb (a stream of all records) and one
 * BlockCanary log for each block. DIR is created with mode 0700, files with 0600. Logs older than
 * keep_ns are deleted. max_bytes bounds the directory's total: the oldest logs are deleted first,
 * then blocks.jsonl is rotated to blocks.1.jsonl.
 */
struct sink_dir_opts {
	const char *dir;
	enum record_format format;
	uint64_t keep_ns;      /* 0: for ever */
	uint64_t max_bytes;    /* 0: no bound */
	const char *qualifier; /* BlockCanary's qua; NULL: the program's version */
};
/*
 * Opens the directory sink. Also returns 0 if the disk is full or read-only now: each record then
 * tries again and returns its error. err->msg holds a warning, or is empty. The process must ignore
 * SIGXFSZ and SIGPIPE.
 */
int sink_dir__new(const struct sink_dir_opts *opts, struct sink **ret, struct err *err);

#endif
