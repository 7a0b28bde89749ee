/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal: the raw event stream in a file, with the answers that a later judgement cannot ask
 * for (processes, the machine's load, frames' names). A replay needs neither privilege nor the
 * traced machine. Format: a header, then records as on the ring; our own kinds carry a message of
 * schema/journal.proto, padded to 8 bytes. See docs/journal.md.
 */
#ifndef JANK_JOURNAL_JOURNAL_H
#define JANK_JOURNAL_JOURNAL_H

#include "base/err.h"
#include "bpf/jank_abi.h"
#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_MAGIC "JANKBPF" /* the first 8 bytes, with the NUL */

/*
 * Kinds that only a journal holds. X(number, NAME): the message is Journal<Name>. Numbers are never
 * reused: 0x8001 to 0x8008 held JSON.
 */
#define JOURNAL_KINDS(X)                                                                           \
	X(0x8011, SESSION)                                                                         \
	X(0x8012, PROCESS)                                                                         \
	X(0x8013, FRAMES)                                                                          \
	X(0x8014, CALLERS)                                                                         \
	X(0x8015, ANSWERS)                                                                         \
	X(0x8016, END)                                                                             \
	X(0x8017, LOSSES)
#define JOURNAL_FIRST		 0x8000 /* the probes' kinds lie below */
#define JOURNAL_X_KIND(nr, NAME) JOURNAL_##NAME = nr,
enum journal_kind { JOURNAL_KINDS(JOURNAL_X_KIND) };
#undef JOURNAL_X_KIND

struct journal_writer;

/*
 * Creates or empties the file, mode 0600; a symbolic link in its place is refused. Returns a
 * descriptor, or -errno with a message.
 */
int journal__create(const char *path, struct err *err);

/* Writes to this empty file. Takes over fd, also on failure. 0, or -ENOMEM with a message. */
int journal_writer__new(int fd, struct journal_writer **ret, struct err *err);

/*
 * Each adds a whole record or, on -errno (disk full, …), nothing: readers never see a partial
 * record.
 */
int journal_writer__raw(struct journal_writer *jw, const void *records, size_t len);
int journal_writer__message(struct journal_writer *jw, enum journal_kind kind,
			    const ProtobufCMessage *message);
int journal_writer__flush(struct journal_writer *jw);
void journal_writer__free(struct journal_writer *jw); /* flushes; accepts NULL */

struct journal_reader;

/* -EINVAL: not a journal, or an unsupported version. */
int journal_reader__new(const char *path, struct journal_reader **ret, struct err *err);

/*
 * The next record, 8-byte aligned, valid until the next call. 1; 0 at the end; -EBADMSG: the rest
 * is torn (a crash, a full disk) and unreadable.
 */
int journal_reader__next(struct journal_reader *jr, const struct jank_rec **ret);

/*
 * The message in a record of our own kinds. The caller frees it with
 * protobuf_c_message_free_unpacked(…, NULL). NULL: not such a message, or out of memory.
 */
ProtobufCMessage *journal__message(const struct jank_rec *rec,
				   const ProtobufCMessageDescriptor *descriptor);

int journal_reader__rewind(struct journal_reader *jr);
void journal_reader__free(struct journal_reader *jr); /* accepts NULL */

#endif
