/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames as every export reads them: also of a stack that no symbolizer has seen. */
#ifndef JANK_EXPORT_SHARED_WORDS_H
#define JANK_EXPORT_SHARED_WORDS_H

#include "base/function_name.h"
#include "base/strbuf.h"
#include "model/block.h"
#include <stdbool.h>
#include <stdint.h>

/* Number of frames to show: the symbolizer's, or one for each raw address. */
size_t stack__frame_cnt(const struct stack *stack);

/*
 * The frame at position i (< stack__frame_cnt), made of the raw address where there is no better.
 */
struct frame stack__frame(const struct stack *stack, size_t i);

/*
 * Whether two frames are the same place for merging: the same function, whatever the instruction.
 */
bool frame__same(const struct frame *a, const struct frame *b);

/* The module's name without its directories: "libc.so.6"; "" when unknown. */
const char *module__base(const char *module);

/* A share, 0 to 1 whatever the arithmetic before made of it. */
double share__bounded(double share);

/* What a dispatch handled, as the exports write it. */

/*
 * In a few words, "QTimerEvent to MainWindow", "on_read(), tcp 10.0.0.1:80->10.0.0.7:41322"; any
 * bytes. Nothing where nothing of it is known. Accepts NULL.
 */
void message__add_phrase(struct strbuf *sb, const struct message *message);

/* A name in short, "timer_cb()"; `call`: it is a function's. */
void message_name__add(struct strbuf *sb, const struct message_name *name, bool call);

/*
 * The event's bits by the names of epoll_ctl(2), lower case: "in|hup"; those without a name in hex.
 */
void message__add_events(struct strbuf *sb, uint32_t events);

/* What a span waited for: the parts of struct waited that take more than a look at a pointer. */

/* Its descriptor; -1: none, or not known. Accepts NULL, as all of these. */
int32_t wait__fd(const struct wait_object *waited);

/* The longest that it was to wait, where a limit was asked for. */
bool wait__timeout(const struct wait_object *waited, uint64_t *ret_ns);

/* How many bytes were to be read or written, where the system call is one that says so. */
bool wait__bytes(const struct wait_object *waited, const char *syscall_name, uint64_t *ret);

/*
 * "for /var/lib/x on vda1", "for unix /run/x.sock (postgres, pid 612), 250 ms at most"; any bytes.
 * A mutex's owner is left out where it is `said`, a thread. `all` adds the descriptor and the bytes
 * asked for. Nothing where nothing is known.
 */
void wait__add_phrase(struct strbuf *sb, const struct wait_object *waited, uint32_t said,
		      const char *syscall_name, bool all);

/* A task's priority and policy, as the exports write them. */

/*
 * "nice -5", "real-time 50", "deadline", by the number on the wire (JANK_PRIO_OFFSET); nothing
 * where it isn't known.
 */
void priority__add(struct strbuf *sb, uint16_t prio);

/* Nice 0, which goes without saying, or not known. */
bool priority__is_usual(uint16_t prio);

/* "normal", "fifo", "rr", … of a SCHED_*; NULL for one that we don't know. */
const char *policy__name(uint16_t policy);

/* Why stacks end early, in words. */

/* "complete", or the reasons (enum stack_quality), joined by ", ". */
void quality__add(struct strbuf *sb, const struct block *block);

#endif
