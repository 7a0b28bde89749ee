/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sink: the destination of finished records. It has a table of operations; each borrows the
 * block. The caller counts a sink's error (-errno) as an unwritten record, except -EPIPE, which
 * ends the run. After an error, readers of the sink's files must not see any part of the record.
 */
#ifndef JANK_EXPORT_SINK_H
#define JANK_EXPORT_SINK_H

#include "base/err.h"
#include "export/stream.h"
#include "model/block.h"
#include <stdbool.h>
#include <stdint.h>

struct sink;

struct sink_ops {
	const char *name; /* for messages: "text", "stdout", "directory" */
	int (*block)(struct sink *sink, const struct block *block); /* BLOCK_JANK and BLOCK_HANG */
	int (*summary)(struct sink *sink, const struct summary *summary); /* may be NULL */
	int (*flush)(struct sink *sink);				  /* may be NULL */
	void (*free)(struct sink *sink);
};

/* The first member of every sink's own struct. */
struct sink {
	const struct sink_ops *ops;
};

extern const char json_schema[]; /* JSON Schema (2020-12) of every record type, NUL-terminated */

/*
 * Text for people on fd, which stays open. color: escape sequences; width: terminal columns, 0 for
 * 100.
 */
struct sink *sink_text__new(int fd, bool color, unsigned width, int verbosity);

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
