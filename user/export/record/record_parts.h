/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the record's builder share. */
#ifndef JANK_EXPORT_RECORD_RECORD_PARTS_H
#define JANK_EXPORT_RECORD_RECORD_PARTS_H

#include "export/record/record.h"
#include <setjmp.h>
#include <stdbool.h>

struct record {
	struct chunk *chunks; /* the arena; the last one comes first */
	struct strbuf words;  /* a text in the making */
	jmp_buf out_of_memory;
	bool stacks; /* are wanted */
};

#define NEW(r, type) record__message(r, &jankbpf__##type##__descriptor)
/* A number that is known. */
#define SET(message, field, value) ((message)->has_##field = true, (message)->field = (value))
/* A number that is known unless it is 0. */
#define SET_KNOWN(message, field, value)                                                           \
	((message)->has_##field = !!(value), (message)->field = (value))

/* Empties the arena. */
void record__begin(struct record *r, bool stacks);

/* Each returns zeroed memory of the arena; out of memory they do not return. */
void *record__take(struct record *r, size_t size);
void *record__message(struct record *r, const ProtobufCMessageDescriptor *descriptor);
void *record__array(struct record *r, size_t cnt, size_t *ret_cnt); /* of pointers; NULL for none */

/* An empty buffer to write a text to, and a copy of what was written to it last. */
struct strbuf *record__words(struct record *r);
char *record__take_words(struct record *r);

/* The string itself where it is UTF-8, as protobuf wants it; else a copy that is. NULL for NULL. */
char *record__str(struct record *r, const char *text);

/* Sets the uint64 field of that name: of states and losses, which have tables of names. */
void record__set_named(ProtobufCMessage *message, const char *name, uint64_t value);

/* record_evidence.c: parts of a block. Pointers are NULL where nothing is known. */
Jankbpf__Frame *record__frame(struct record *r, const struct frame *frame);
Jankbpf__Time *record__time(struct record *r, const uint64_t *state_ns);
char *record__priority(struct record *r, uint16_t prio);
Jankbpf__Preemptor **record__preemptors(struct record *r, const struct other_task *tasks,
					size_t cnt, size_t *ret_cnt);
void record__set_chain(struct record *r, Jankbpf__Block *ret, const struct block *block);
void record__set_samples(struct record *r, Jankbpf__Block *ret, const struct block *block);

#endif
