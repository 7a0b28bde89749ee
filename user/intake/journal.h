/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The journal: the raw event stream in a file, with what a later judgement needs and can no longer ask
 * for (processes, the machine's load, frames' names), so that a replay needs neither privilege nor
 * the traced machine. A header, then records as on the ring; our own kinds carry JSON, padded with NULs to
 * 8 bytes. docs/journal.md has the format.
 */
#ifndef JANK_JOURNAL_H
#define JANK_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "bpf/jank_abi.h"

/* Kinds that only a journal holds. X(number, NAME) */
#define JOURNAL_KINDS(X)                                                                           \
	X(0x8001, SESSION)                                                                         \
	X(0x8002, PROCESS)                                                                         \
	X(0x8003, LOAD)                                                                            \
	X(0x8004, FRAMES)                                                                          \
	X(0x8005, END)                                                                             \
	X(0x8006, MESSAGE)                                                                         \
	X(0x8007, WAITED)                                                                          \
	X(0x8008, CALLERS)
#define JOURNAL_X_KIND(nr, NAME) JOURNAL_##NAME = nr,
enum journal_kind { JOURNAL_KINDS(JOURNAL_X_KIND) };
#undef JOURNAL_X_KIND

struct journal_writer;

/* Creates or replaces the file, mode 0600; a symbolic link in its place is refused. */
int journal_writer__new(const char *path, struct journal_writer **ret, struct err *err);

/* Each adds a whole record or, on -errno (disk full, …), nothing: a reader never sees half of one. */
int journal_writer__raw(struct journal_writer *jw, const void *records, size_t len);
int journal_writer__json(struct journal_writer *jw, enum journal_kind kind,
			 const struct strbuf *json);
int journal_writer__flush(struct journal_writer *jw);
void journal_writer__free(struct journal_writer *jw); /* flushes; accepts NULL */

struct journal_reader;

/* -EINVAL: no journal, or of a version that this program can't read. */
int journal_reader__new(const char *path, struct journal_reader **ret, struct err *err);

/*
 * The next record, 8-byte aligned, valid until the next call. 1; 0 at the end; -EBADMSG: the rest is torn
 * (a crash, a full disk) and cannot be read.
 */
int journal_reader__next(struct journal_reader *jr, const struct jank_rec **ret);

/* The JSON of a record of our own kinds: NUL-terminated within the record, or "" for another kind. */
const char *journal__json(const struct jank_rec *rec);

int journal_reader__rewind(struct journal_reader *jr);
void journal_reader__free(struct journal_reader *jr); /* accepts NULL */

#endif
