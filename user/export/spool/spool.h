/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spool: finished records on disk until each backend has them. DIR holds
 *
 *   agent               identity of this spool: 32 hexadecimal digits, created once
 *   NNNNNNNNNN.spool    a segment: its head, then batches; the name is its first batch's number
 *   open.tail           records of the batch that is not closed yet, not compressed
 *   dropped             records that were dropped before some backend had them
 *   NAME.position       how far the backend NAME is (written by the sender)
 *   write.lock, send.lock
 *
 * A batch never changes: a request that is made of it twice has the same bytes. Numbers of batches
 * grow by one for the life of the spool. Integers are little-endian. A batch is written with zeros
 * for its magic, which follows once the rest is on the disk: till then readers do not see it.
 */
#ifndef JANK_EXPORT_SPOOL_H
#define JANK_EXPORT_SPOOL_H

#include "base/err.h"
#include "base/strbuf.h"
#include "export/sink.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_FORMAT   1
#define SPOOL_AGENT_SZ 33	   /* with its NUL */
#define SPOOL_RAW_MAX  (20u << 20) /* of a batch: a record has at most STREAM_RECORD_MAX */
#define SPOOL_HEAD_MAX 4096	   /* a head of a later version */
#define SPOOL_MAGIC_SZ 4	   /* of a batch */

/*
 * Largest number of a batch that a reader takes. A writer refuses a spool whose next number is
 * beyond SPOOL_NR_LAST: only damage leads there, and behind it no run uses up the numbers.
 */
#define SPOOL_NR_MAX  (UINT64_MAX / 2)
#define SPOOL_NR_LAST (SPOOL_NR_MAX / 2)

/* --- format.c: bytes; pure. Any thread. */

/* A later version of the same format may append members: head_sz then is larger. */
struct spool_segment_head {
	char magic[8];
	uint32_t format, head_sz;
	char agent[32];
	uint64_t created_ns; /* CLOCK_REALTIME */
};

struct spool_batch_head {
	char magic[SPOOL_MAGIC_SZ];
	uint32_t head_sz;
	uint64_t nr; /* from 1 */
	uint32_t record_cnt;
	uint32_t raw_sz;    /* of the records, each after its length as a varint */
	uint32_t packed_sz; /* of the zstd frame that follows the head */
	uint32_t pad;
	uint64_t created_ns; /* CLOCK_REALTIME, when it was closed */
	uint64_t checksum;   /* xxh64 of the rest of head and frame, seeded by that of the above */
};

bool spool__is_available(void); /* false: this build has no zstd */

void spool__add_segment_head(struct strbuf *sb, const char *agent, uint64_t created_ns);

/*
 * Reads a head from the start of a segment. Returns its size; 0: `len` bytes do not hold all of it;
 * -EPROTONOSUPPORT: of a later format; -EBADMSG: not a segment.
 */
int spool__read_segment_head(const void *data, size_t len, struct spool_segment_head *ret);

/*
 * Adds the bytes as a zstd frame; equal bytes have equal frames. 0, -ENOMEM; -ENOSYS: no zstd in
 * this build.
 */
int spool__pack(struct strbuf *sb, const struct strbuf *raw);

/* Adds a batch: its head and the compressed records. 0, -ENOMEM or -EMSGSIZE. */
int spool__add_batch(struct strbuf *sb, uint64_t nr, uint32_t record_cnt, uint64_t created_ns,
		     const struct strbuf *raw);

/*
 * Reads the head of a batch. Returns its size; 0: `len` bytes do not hold all of the members;
 * -EBADMSG: not a batch. The checksum is not checked.
 */
int spool__read_batch_head(const void *data, size_t len, struct spool_batch_head *ret);

/*
 * Writes the magic of a whole batch that has zeros for it, and reads its head. False: data has no
 * such batch.
 */
bool spool__complete_batch(void *data, size_t len, struct spool_batch_head *ret);

/* Checks a whole batch, head_sz + packed_sz bytes. 0 or -EBADMSG. */
int spool__check_batch(const void *data, const struct spool_batch_head *head);

/*
 * Looks for a whole batch behind number `after`, from data + 1 on. Returns its place; 0: none.
 */
size_t spool__find_batch(const void *data, size_t len, uint64_t after);

/*
 * Unpacks the records of a checked batch. 0; -EBADMSG: not what its head says; -ENOMEM. The caller
 * frees them with spool__free_records.
 */
int spool__read_records(const void *data, const struct spool_batch_head *head,
			Jankbpf__Record ***ret);
void spool__free_records(Jankbpf__Record **records, size_t cnt); /* accepts NULL */

/* --- dir.c: names and small files of DIR */

/* Opens DIR to read it; whoever owns it. A descriptor or -errno. */
int spool_dir__open_dir(const char *path);

/* True if a spool's writer or sender makes files of that name in DIR. */
bool spool_dir__knows(const char *name);

/* Numbers of the first batches of all segments, ascending. The caller frees *ret. 0 or -errno. */
int spool_dir__list(int dirfd, uint64_t **ret, size_t *ret_cnt);

/* Opens a segment by the number of its first batch. A descriptor or -errno. */
int spool_dir__open_segment(int dirfd, uint64_t first, int flags);
int spool_dir__remove_segment(int dirfd, uint64_t first);

/* Opens a file of ours; creates it with flags of O_CREAT. A descriptor or -errno. */
int spool_dir__open(int dirfd, const char *name, int flags);

/* Reads or creates the identity. 0; -ENOENT: !create and there is none; -EBADMSG; -errno. */
int spool_dir__agent(int dirfd, bool create, char ret[SPOOL_AGENT_SZ]);

/*
 * Takes write.lock or send.lock until the descriptor is closed. -EAGAIN: another process has it.
 */
int spool_dir__lock(int dirfd, const char *name);

/* How far a backend is, and what was counted since the spool exists. */
struct spool_position {
	uint64_t batch; /* the last one that it has, or refused; 0: none */
	uint64_t sent_batches, sent_records, sent_bytes;
	uint64_t retries, refused_records;
	uint64_t damaged_records; /* that could not be read in the spool, and were passed over */
};

/* *ret is all zero if there is no position yet. 0; -EBADMSG: not a position; -errno. */
int spool_dir__read_position(int dirfd, const char *backend, struct spool_position *ret);
/*
 * Replaces it: a reader finds the old one or the new one, also after a power failure. 0 or -errno.
 */
int spool_dir__write_position(int dirfd, const char *backend,
			      const struct spool_position *position);

/*
 * What was dropped. `segment` is about to be removed, with so many records that some backend has
 * not; if it is gone, they count, too.
 */
struct spool_drops {
	uint64_t records;
	uint64_t segment, segment_records; /* 0: none */
};

/* *ret is all zero if nothing was. 0, -EBADMSG or another -errno. */
int spool_dir__read_drops(int dirfd, struct spool_drops *ret);
int spool_dir__write_drops(int dirfd, const struct spool_drops *drops);

/* --- reader.c */

struct spool_batch {
	struct spool_batch_head head;
	Jankbpf__Record **records; /* NULL: not read */
	char agent[SPOOL_AGENT_SZ];
};

void spool_batch__free(struct spool_batch *batch);

/* What is read of a batch: all of it; the same without its records; its head, not checked. */
enum spool_reading { SPOOL_RECORDS, SPOOL_CHECKED, SPOOL_HEADS };

struct spool_reader {
	int dirfd; /* borrowed */
	int fd;	   /* of the segment; -1: none */
	uint64_t segment, after;
	uint64_t at, first_at; /* in the segment; of its first batch */
	char agent[SPOOL_AGENT_SZ];
	uint64_t broken_cnt; /* damage that was passed over: batches, or the rest of a segment */
	uint64_t broken_records; /* of batches whose head could be read */
	enum spool_reading what;
	bool is_whole; /* nothing is added to the last segment: passes over damage in it, too */
	bool skips;    /* `segment` is none, or its head is damaged */
};

/* Begins behind batch `after`. */
void spool_reader__begin(struct spool_reader *reader, int dirfd, uint64_t after);
void spool_reader__end(struct spool_reader *reader);

/*
 * Reads the next batch. 1; 0: there is no further one now (or a torn one, that is being written);
 * damaged batches that another one or another segment follows are passed over, and counted;
 * -EPROTONOSUPPORT with a message: of a later version; -errno with a message. The caller frees ret
 * with spool_batch__free.
 */
int spool_reader__next(struct spool_reader *reader, struct spool_batch *ret, struct err *err);

/* --- writer.c */

struct spool_opts {
	const char *dir;
	uint64_t max_bytes;   /* of all segments */
	uint64_t interval_ns; /* after which a batch closes */
	const char *const
		*backends; /* whose positions decide what counts as dropped; NULL-terminated */
};

struct spool_writer;

/*
 * Opens or creates the spool, cuts what a crash left torn, and takes up the batch that was open.
 * Returns 0, or -errno with a message; -EOVERFLOW: a number of a batch is damaged. Borrows opts and
 * what it points to. A disk that is full now is no error.
 */
int spool_writer__new(const struct spool_opts *opts, struct spool_writer **ret, struct err *err);

/* Closes the open batch. Accepts NULL. */
void spool_writer__free(struct spool_writer *writer);

/*
 * Adds a record to the open batch; it is in open.tail when this returns 0. Else -errno, and it is
 * not in the spool. progress: as in sink_progress__write.
 */
int spool_writer__add(struct spool_writer *writer, const Jankbpf__Record *record,
		      struct sink_progress *progress);

/* Until the open batch is due, in ms; 0: now; -1: it is empty. */
int spool_writer__due_ms(const struct spool_writer *writer);

/* Closes the open batch, if it is not empty. 0, or -errno: it stays open, and all is kept. */
int spool_writer__close_batch(struct spool_writer *writer);

/* Records that were dropped before some backend had them, since the spool exists. */
uint64_t spool_writer__dropped(const struct spool_writer *writer);

/* --- sink.c */

/* Opens the spool as a sink. waits: no other sink waits for records, so this one may. */
int sink_spool__new(const struct spool_opts *opts, bool waits, struct sink **ret, struct err *err);

/* --- state.c: for metrics and messages */

#define SPOOL_BACKENDS_MAX 4

struct spool_backend_state {
	const char *name;
	struct spool_position position;
	uint64_t unsent_batches, unsent_records;
	uint64_t oldest_ns; /* CLOCK_REALTIME of the oldest batch that it has not; 0: it has all */
};

struct spool_state {
	uint64_t bytes, batches, records; /* in all segments */
	uint64_t dropped;		  /* as spool_writer__dropped */
	struct spool_backend_state backends[SPOOL_BACKENDS_MAX];
	size_t backend_cnt;
};

/* Records that were dropped before some backend had them, as the files of the spool say. */
uint64_t spool_state__dropped(int dirfd);

/* Reads only heads. names: NULL-terminated, borrowed by *ret. 0, or -errno with a message. */
int spool_state__read(const char *dir, const char *const *names, struct spool_state *ret,
		      struct err *err);

#endif
