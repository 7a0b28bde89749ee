/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Index of the records in a directory of -o: place, kind and identity of each, 64 bytes a record.
 * It has a limit: beyond it the oldest records are left out, but for the worst blocks. It follows
 * the files while a trace appends, rotates them, or removes the directory. The work is done in
 * parts, so that requests are answered meanwhile. One thread.
 */
#ifndef JANK_SERVE_RECORD_INDEX_H
#define JANK_SERVE_RECORD_INDEX_H

#include "base/err.h"
#include "base/strbuf.h"
#include "export/sink.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define INDEX_LIMIT (512u << 10) /* records: 32 MiB */
#define WORST_PART  256		 /* of the limit is for blocks that are old, but long */

enum record_kind {
	KIND_UNREAD, /* not parsed yet */
	KIND_BLOCK,
	KIND_HANG,
	KIND_OTHER, /* a summary */
	KIND_ODD,   /* no record of jankbpf */
};

struct indexed_record {
	uint64_t seq; /* grows in the order of the records; never reused in this run */
	uint64_t offset, len;
	uint64_t id, sig; /* record_index__hash of the block's id and signature */
	uint64_t end_ns;  /* of a block: wall time, which names its log */
	uint64_t delay_ns;
	enum record_kind kind;
	bool doomed;   /* will be deleted; hidden since */
	bool replaced; /* a hang of which there is a later record: record_index__mark_replaced */
};

/* True for a block, or a hang that is the last of its dispatch, as of the last look at hangs. */
static inline bool indexed_record__is_shown(const struct indexed_record *at)
{
	return (at->kind == KIND_BLOCK || (at->kind == KIND_HANG && !at->replaced)) && !at->doomed;
}

/* Of each format, the rotated file is the older one. */
enum { FILE_JSON_OLD, FILE_JSON, FILE_PROTO_OLD, FILE_PROTO, FILE_CNT };

struct indexed_file {
	int fd; /* -1: there is no such file */
	dev_t dev;
	ino_t ino;
	uint64_t scanned; /* bytes of whole records */
	uint64_t size;
	bool torn; /* nothing after `scanned` can be read */
	struct indexed_record *records;
	size_t cnt, cap;
	size_t unread_cnt;    /* records[0..unread_cnt) are not parsed yet: newer ones come first */
	uint64_t left_cnt;    /* records that are in the file, but not here: left out */
	uint64_t left_blocks; /* of them, those that would be shown */
};

struct record_index {
	const char *path; /* borrowed */
	int dirfd;	  /* -1: the directory is gone */
	struct indexed_file files[FILE_CNT];
	uint64_t next_seq;
	size_t limit; /* of the records of all files */
	bool pinned;  /* no record may be left out now: a removal has their places */
	uint64_t odd_cnt;
	uint64_t version; /* grows when records vanish or change their state */
	char damage[160]; /* what could not be read last; "" */
};

/* 64 bits of a text; 0 for NULL. The same in every version, since files keep it. */
uint64_t record_index__hash(const char *text);

enum record_format record_index__format(int file);
/* The name of a file in the directory: "blocks.1.jsonl". Static. */
const char *record_index__name(int file);

void record_index__init(struct record_index *index, const char *path, int dirfd);
void record_index__free(struct record_index *index);

/*
 * Looks at the directory's files: new, longer, renamed or replaced ones. Reads nothing of them.
 * Opens the directory again if it was removed. True if something changed.
 */
bool record_index__look(struct record_index *index);

/*
 * Finds new records, then parses the newest that are not parsed, for about `budget_ns`. True if
 * there is more to do.
 */
bool record_index__work(struct record_index *index, uint64_t budget_ns);

/* --- record_index_limit.c */

bool record_index__is_full(const struct record_index *index);

/*
 * Leaves out the oldest records, so that half of the limit is free; the longest of their blocks
 * stay. All records must have been parsed. 0 or -ENOMEM.
 */
int record_index__leave_out(struct record_index *index);

/* Looks which hangs have a later record of the same dispatch. 0 or -ENOMEM. */
int record_index__mark_replaced(struct record_index *index);

/* --- record_index_find.c */

/* The position of the first record at or after seq. */
size_t indexed_file__position(const struct indexed_file *file, uint64_t seq);

/* The newest record before `seq` (UINT64_MAX: of all), or the first at or after it. NULL: none. */
struct indexed_record *record_index__before(struct record_index *index, uint64_t seq,
					    int *ret_file);
struct indexed_record *record_index__from(struct record_index *index, uint64_t seq, int *ret_file);
struct indexed_record *record_index__get(struct record_index *index, uint64_t seq, int *ret_file);

/*
 * Reads a record. raw: its bytes, without the length of a message. The caller frees *ret with
 * jankbpf__record__free_unpacked. Sets kind and identity in the index. 0, -EBADMSG, -ENOMEM, or
 * -EIO.
 */
int record_index__read(struct record_index *index, int file, struct indexed_record *at,
		       struct strbuf *raw, Jankbpf__Record **ret);

#endif
