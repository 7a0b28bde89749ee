/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deletes records from the files of the directory, and the logs of their blocks. What stays is
 * copied to a new file, which takes the old one's name under the lock of the records: a trace that
 * appends meanwhile waits for the lock, and goes on in the new file. Done in parts, one removal at
 * a time. One thread.
 */
#ifndef JANK_SERVE_REMOVAL_H
#define JANK_SERVE_REMOVAL_H

#include "serve/record_index.h"

/*
 * The new file, with our process's number in its name. Not one of the sink's temporary files,
 * which a trace deletes when it finds them under the lock.
 */
#define REMOVAL_TMP_PREFIX ".serve-"
#define REMOVAL_TMP_SUFFIX ".tmp"

struct removed_log {
	uint64_t id, end_ns;
};

struct removal {
	struct record_index *index;
	uint64_t seq;
	bool all; /* every record up to seq; else the block of the record seq, with its hangs */
	bool marked;
	int tmp;   /* the new file; -1: none */
	dev_t dev; /* of the file that is copied */
	ino_t ino;
	uint64_t cut;	     /* bytes at its begin of which nothing stays; 0: only records do not */
	uint64_t from, upto; /* bytes of it that are copied or left out; that are to be copied */
	size_t next;	     /* its next record to look at */
	uint64_t deadline_ns; /* of the lock; 0: not asked for yet */
	struct removed_log *logs;
	size_t log_cnt, log_cap, log_next;
	uint64_t record_cnt, log_removed_cnt; /* so far */
};

/* seq: of a block or hang; all: every record up to it. */
void removal__init(struct removal *removal, struct record_index *index, uint64_t seq, bool all);
/* Removes the temporary file. What is still marked in the index is not hidden any more. */
void removal__free(struct removal *removal);

/* Deletes a new file of a process that was killed. Other names are left alone. */
void removal__clean(int dirfd, const char *name);

/*
 * Works for about budget_ns. 1: done; 0: call again; -errno: -ENOENT: there is no such block;
 * -EBUSY: another process keeps the lock; others are those of the file system.
 */
int removal__work(struct removal *removal, uint64_t budget_ns);

#endif
