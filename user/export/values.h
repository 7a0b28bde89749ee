/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sinks make of the fields of a record: states, sums of times, wall time, losses, phrases. A
 * record may come from a file: any field may be absent, and any word unknown. Any thread.
 */
#ifndef JANK_EXPORT_VALUES_H
#define JANK_EXPORT_VALUES_H

#include "base/strbuf.h"
#include "bpf/jank_abi.h"
#include "export/json/json.h"
#include "model/durations.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stdint.h>

/* JANK_STATE_* of a word of the record; JANK_STATE_OTHER for NULL or an unknown word. */
uint32_t value__state(const char *word);

/* Word `nr` of cause.kind, in the order of schema/fields.tbl; NULL: that was the last. */
const char *value__kind_word(size_t nr);

/* The word of a JANK_STATE_*; "other" if unknown. */
const char *value__state_word(uint32_t state);

/* Time in a state, in ns; 0 if absent. Accepts NULL. */
uint64_t value__in_state(const Jankbpf__Time *time, uint32_t state);

/* The version of a signature, from the field of a record. */
static inline uint64_t value__signature_version(uint64_t field)
{
	return field ? field : 1;
}

/* The signature of its cause; "" without one. */
const char *value__signature(const Jankbpf__Block *block);

/* Delay that a client saw, in ns: start delay plus duration. */
uint64_t value__delay(const Jankbpf__Block *block);

/* Begin of the delay on CLOCK_MONOTONIC; of the dispatch if the start delay is not known. */
uint64_t value__due(const Jankbpf__Block *block);

/* Wall time of a CLOCK_MONOTONIC time of the block, in ns; mono_ns if its `start` is invalid. */
uint64_t value__real_ns(const Jankbpf__Block *block, uint64_t mono_ns);

/* The longest duration of a bucket; max_ns if it has no upper end. */
uint64_t value__upper_ns(const Jankbpf__Bucket *bucket, uint64_t max_ns);

/* Adds the durations of a record's histogram, of which max_ns is the longest. */
void value__add_buckets(struct durations *durations, Jankbpf__Bucket *const *buckets, size_t cnt,
			uint64_t max_ns);

/* Adds the local time of the interval's end, "10:20:30"; "?" if its start is not valid. */
void value__add_end(struct strbuf *sb, const Jankbpf__Interval *interval);

/* True for a tick of the sampler; false for a span. */
bool value__is_tick(const Jankbpf__Sample *sample);

/* True for a hang, and for a block that was one. */
bool value__is_hang(const Jankbpf__Block *block);

/* One reason of loss. */
struct loss_count {
	const char *reason, *meaning; /* static */
	enum loss_takes takes;
	uint64_t cnt;
};

/*
 * Gets the next loss, in the order of the schema. *pos is 0 at first. False: there is no more.
 * Accepts NULL.
 */
bool value__next_loss(const Jankbpf__Lost *lost, unsigned *pos, struct loss_count *ret);

/* What a reason of loss takes; blocks for an unknown one. */
enum loss_takes value__loss_takes(const char *reason);

/* Limits a share to 0..1. */
double value__share(double share);

/* "?" for an absent name. */
const char *value__name(const char *name);

/* --- phrases that several sinks share: modules, messages, waits */

/* The module's name without its directories: "libc.so.6"; "" when unknown. */
const char *module__base(const char *module);

/*
 * Adds the name of a frame: its function, as recorded or short, else module+0xoffset, else the
 * address. Raw bytes.
 */
void frame__add_place(struct strbuf *sb, const Jankbpf__Frame *frame, bool shorten);

/*
 * Adds a short phrase for what a dispatch handled, "QTimerEvent to MainWindow", "on_read(), tcp
 * 10.0.0.1:80->10.0.0.7:41322". Adds nothing if nothing is known. Accepts NULL.
 */
void message__add_phrase(struct strbuf *sb, const Jankbpf__Message *message);

/* Adds a short name, "timer_cb()". `call`: the name is a function's. */
void symbol__add_short(struct strbuf *sb, const Jankbpf__Symbol *symbol, bool call);

/* Adds the full name, "+0x1234" without one. */
void symbol__add(struct strbuf *sb, const Jankbpf__Symbol *symbol);

/*
 * Adds "for /var/lib/x on vda1", "for unix /run/x.sock (postgres, pid 612), 250 ms at most". Leaves
 * out a mutex's owner if its tid is `said`. `all` adds the descriptor and the requested bytes. Adds
 * nothing if nothing is known. Accepts NULL.
 */
void wait__add_phrase(struct strbuf *sb, const Jankbpf__WaitedFor *waited, uint32_t said,
		      const char *syscall, bool all);

#endif
