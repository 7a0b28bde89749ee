/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer's parts: spool_writer.c has batches, spool_tail.c the open batch, spool_room.c the
 * size.
 */
#ifndef JANK_EXPORT_SPOOL_WRITER_H
#define JANK_EXPORT_SPOOL_WRITER_H

#include "export/spool/spool.h"

struct spool_writer {
	struct spool_opts opts;
	int dirfd, lock_fd; /* lock_fd < 0: the disk was full; nothing is written without it */
	bool is_scanned;    /* the segments are known */
	char agent[SPOOL_AGENT_SZ]; /* "": not made yet, since the disk is full */
	int segment_fd;		    /* of the last segment; -1: none */
	uint64_t segment, segment_sz;
	uint64_t total;	  /* bytes of all segments */
	uint64_t next_nr; /* of the open batch */
	int tail_fd;	  /* its position is the end; -1: none */
	struct strbuf raw;
	uint32_t record_cnt;
	uint64_t opened_ns; /* CLOCK_MONOTONIC */
	uint64_t dropped;   /* since the spool exists */
};

/*
 * --- spool_tail.c: open.tail. Each record is one write, so a process that is killed loses none; it
 * has a checksum, so what a power failure left is not taken for records.
 */

/*
 * Takes up the open batch; cuts a torn record; empties the tail of a closed batch. 0 or -errno.
 */
int spool_tail__open(struct spool_writer *w);

/* Number of the batch that open.tail has records of; 0: none. Needs no open tail. */
uint64_t spool_tail__nr(const struct spool_writer *w);

/*
 * Writes the record of w->raw's form (a length as varint in front). *ret_new: it was not there yet.
 */
int spool_tail__add(struct spool_writer *w, const struct strbuf *record,
		    struct sink_progress *progress, bool *ret_new);

/* Its batch is closed. */
void spool_tail__empty(struct spool_writer *w);

/* --- spool_room.c */

/* Writes the count of dropped records; an error is no more than a count that a crash forgets. */
void spool_room__save_drops(const struct spool_writer *w);

/* Drops the oldest segments until `need` bytes more fit. */
void spool_room__make(struct spool_writer *w, uint64_t need);

#endif
