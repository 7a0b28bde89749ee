/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builder of records: turns blocks and summaries into messages of schema/blockinfo.proto. Only this
 * code knows which field holds what. Unknown values are left out, never guessed. One thread at a
 * time per builder.
 */
#ifndef JANK_EXPORT_RECORD_RECORD_H
#define JANK_EXPORT_RECORD_RECORD_H

#include "base/err.h"
#include "base/proto.h"
#include "base/strbuf.h"
#include "export/arena.h"
#include "export/record/faults.h"
#include "export/record/limits.h"
#include "model/block.h"
#include "model/history.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record; /* the builder; it owns its last message */

struct record *record__new(void);	  /* NULL: out of memory */
void record__free(struct record *record); /* accepts NULL */

/*
 * Replaces texts of these classes (enum redact) by keyed hashes in all further records of blocks
 * and summaries. key_path: a file of 16 bytes that only we can read; NULL: a random key. 0: no
 * class. Returns 0, or -errno with a message.
 */
int record__set_redaction(struct record *record, unsigned classes, const char *key_path,
			  struct err *err);

/*
 * Each makes a message that is valid until the builder's next call, and as long as the block or
 * summary lives: UTF-8 strings are borrowed from it. NULL: out of memory.
 */
const Jankbpf__Record *record__of_block(struct record *record, const struct block *block);
const Jankbpf__Record *record__of_summary(struct record *record, const struct summary *summary);
const Jankbpf__Record *record__of_interval(struct record *record, const struct interval *interval);

/* blocks: records of the builder, which is what it is about; borrowed. */
const Jankbpf__Record *record__of_history(struct record *record, const struct history *history,
					  Jankbpf__Block **blocks, size_t cnt);

/*
 * Adds faults to the summary that was made last, without redaction: they are made of records. They
 * are borrowed, and in the given order. 0 or -ENOMEM.
 */
int record__add_faults(struct record *record, struct faults *faults, enum fault_order order);

/*
 * record_limits.c: adds what the limits left out to the summary, or to the interval, that was made
 * last; entries of limits are borrowed. 0 or -ENOMEM.
 */
int record__limit_summary(struct record *record, const struct limits *limits);
int record__limit_interval(struct record *record, const struct limits *limits);

/* A block without the stacks of its samples and chain. */
Jankbpf__Block *record__without_stacks(struct record *record, const struct block *block);

/* Convert frames (at least one), without `app`, and losses. */
Jankbpf__Frame **record__frames(struct record *record, const struct frame *frames, size_t cnt);
Jankbpf__Lost *record__losses(struct record *record, const struct block_loss *lost, size_t cnt);

/* --- Shared by the files of the record's builder. */

#define SIPHASH_KEY_SZ 16

struct record {
	struct arena arena;
	Jankbpf__Summary *summary;   /* the last message, if it is one */
	Jankbpf__Interval *interval; /* likewise */
	bool stacks;		     /* write stacks */
	struct {
		unsigned classes; /* bits of enum redact */
		uint8_t key[SIPHASH_KEY_SZ];
	} redaction;
};

#define NEW(r, type) record__message(r, &jankbpf__##type##__descriptor)
/* What is known of a process, into a Block or a Loop: fields of the same name, and these two. */
#define SET_PROCESS(r, message, from)                                                              \
	(record__take_fields(r, &(message)->base, &(from)->base),                                  \
	 (message)->process = record__str(r, (from)->name),                                        \
	 (message)->version = record__version(r, from))

/* Empties the arena. `stacks`: write stacks. */
void record__begin(struct record *r, bool stacks);

/* Each returns zeroed memory of the arena. When out of memory, they do not return (longjmp). */
void *record__take(struct record *r, size_t size);
void *record__message(struct record *r, const ProtobufCMessageDescriptor *descriptor);
void *record__array(struct record *r, size_t cnt, size_t *ret_cnt); /* of pointers; NULL for none */

/* An empty text buffer, and a copy of its last content. */
struct strbuf *record__words(struct record *r);
char *record__take_words(struct record *r);

/* The string itself, or a copy by the rule of text__add_clean. NULL for NULL. */
char *record__str(struct record *r, const char *text);

/* NULL: not known. */
char *record__version(struct record *r, const Jankbpf__Identity *process);

/*
 * Sets what `from` has and the type of `to` has by the same name and type: copies, also of messages
 * in it, with texts as record__str copies them.
 */
void record__take_fields(struct record *r, ProtobufCMessage *to, const ProtobufCMessage *from);

/* Sets the uint64 field of that name: for states and losses, which have tables of names. */
void record__set_named(ProtobufCMessage *message, const char *name, uint64_t value);

/* --- record.c: for record_counts.c. The first three are parts of a message. */
Jankbpf__Record *record__new_message(struct record *r); /* without its type */
Jankbpf__Lost *record__lost(struct record *r, const struct block_loss *lost, size_t cnt);
Jankbpf__Host *record__host(struct record *r, const struct host_info *host);
/* Redacts the record, whose type is set. */
void record__finish(struct record *r, Jankbpf__Record *record);

/* --- record_words.c: words and values of fields */

/* Number of frames to show: the symbolizer's, or one for each raw address. */
size_t stack__frame_cnt(const struct stack *stack);

/* The frame at position i (< stack__frame_cnt); the raw address where there is no symbol. */
struct frame stack__frame(const struct stack *stack, size_t i);

/* The descriptor of a wait; -1: none, or not known. All of these accept NULL. */
int32_t wait__fd(const struct wait_object *waited);

/* The timeout of the wait. False: there was none. */
bool wait__timeout(const struct wait_object *waited, uint64_t *ret_ns);

/* Number of bytes to read or write. False: the system call has no such argument. */
bool wait__bytes(const struct wait_object *waited, const char *syscall_name, uint64_t *ret);

/*
 * Adds "nice -5", "real-time 50", "deadline" for the number in the record (JANK_PRIO_OFFSET);
 * nothing if it is not known.
 */
void priority__add(struct strbuf *sb, uint16_t prio);

/* "normal", "fifo", "rr", … of a SCHED_*; NULL for an unknown one. */
const char *policy__name(uint16_t policy);

/* Adds "complete", or the reasons (enum stack_quality) why stacks end early, joined by ", ". */
void quality__add(struct strbuf *sb, const struct block *block);

/* record_evidence.c: parts of a block. Pointers are NULL where nothing is known. */
Jankbpf__Frame *record__frame(struct record *r, const struct frame *frame);
Jankbpf__Time *record__time(struct record *r, const uint64_t *state_ns);
char *record__priority(struct record *r, uint16_t prio);
Jankbpf__Preemptor **record__preemptors(struct record *r, const struct other_task *tasks,
					size_t cnt, size_t *ret_cnt);
void record__set_chain(struct record *r, Jankbpf__Block *ret, const struct block *block);
void record__set_samples(struct record *r, Jankbpf__Block *ret, const struct block *block);

/* record_history.c. threads: empty; the caller frees it, also after a longjmp. */
struct intern;
Jankbpf__History *record__history(struct record *r, const struct history *history,
				  struct intern *threads);

/* --- record_redact.c */

/* Redacts a message in place; rows are its fields'. */
struct field;
void record__redact(struct record *r, ProtobufCMessage *message, const struct field *rows);

/*
 * SipHash-2-4 (Aumasson, Bernstein 2012): a hash of 64 bits that nobody without its key can compute
 * or reverse by trying inputs. Any thread. Exported for tests.
 */
uint64_t siphash(const uint8_t key[SIPHASH_KEY_SZ], const void *data, size_t len);

#endif
