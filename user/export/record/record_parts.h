/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the record's builder. */
#ifndef JANK_EXPORT_RECORD_RECORD_PARTS_H
#define JANK_EXPORT_RECORD_RECORD_PARTS_H

#include "export/record/record.h"
#include <setjmp.h>
#include <stdbool.h>

struct record {
	struct chunk *chunks; /* the arena; the newest chunk comes first */
	struct strbuf words;  /* buffer for a text */
	jmp_buf out_of_memory;
	bool stacks; /* write stacks */
};

#define NEW(r, type) record__message(r, &jankbpf__##type##__descriptor)
/* Sets a known number. */
#define SET(message, field, value) ((message)->has_##field = true, (message)->field = (value))
/* Sets a number; 0 means unknown. */
#define SET_KNOWN(message, field, value)                                                           \
	((message)->has_##field = !!(value), (message)->field = (value))

/* Empties the arena. `stacks`: write stacks. */
void record__begin(struct record *r, bool stacks);

/* Each returns zeroed memory of the arena. When out of memory, they do not return (longjmp). */
void *record__take(struct record *r, size_t size);
void *record__message(struct record *r, const ProtobufCMessageDescriptor *descriptor);
void *record__array(struct record *r, size_t cnt, size_t *ret_cnt); /* of pointers; NULL for none */

/* An empty text buffer, and a copy of its last content. */
struct strbuf *record__words(struct record *r);
char *record__take_words(struct record *r);

/* The string itself if it is UTF-8, as protobuf requires; else a cleaned copy. NULL for NULL. */
char *record__str(struct record *r, const char *text);

/* Sets the uint64 field of that name: for states and losses, which have tables of names. */
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
