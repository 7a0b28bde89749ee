/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts that several exports share: frames (also of stacks without symbols), messages, waits,
 * priorities, stack quality.
 */
#ifndef JANK_EXPORT_SHARED_WORDS_H
#define JANK_EXPORT_SHARED_WORDS_H

#include "base/function_name.h"
#include "base/strbuf.h"
#include "model/block.h"
#include <stdbool.h>
#include <stdint.h>

/* Number of frames to show: the symbolizer's, or one for each raw address. */
size_t stack__frame_cnt(const struct stack *stack);

/* The frame at position i (< stack__frame_cnt); the raw address where there is no symbol. */
struct frame stack__frame(const struct stack *stack, size_t i);

/* True if two frames merge: the same function, at any instruction. */
bool frame__same(const struct frame *a, const struct frame *b);

/* The module's name without its directories: "libc.so.6"; "" when unknown. */
const char *module__base(const char *module);

/* Clamps a share to 0..1. */
double share__bounded(double share);

/* --- what a dispatch handled */

/*
 * Adds a short phrase, "QTimerEvent to MainWindow", "on_read(), tcp 10.0.0.1:80->10.0.0.7:41322";
 * any bytes. Adds nothing if nothing is known. Accepts NULL.
 */
void message__add_phrase(struct strbuf *sb, const struct message *message);

/* Adds a short name, "timer_cb()". `call`: the name is a function's. */
void message_name__add(struct strbuf *sb, const struct message_name *name, bool call);

/*
 * Adds the event bits by their epoll_ctl(2) names in lower case, "in|hup"; bits without a name in
 * hex.
 */
void message__add_events(struct strbuf *sb, uint32_t events);

/* --- what a span waited for: values of struct wait_object that need a computation */

/* The descriptor; -1: none, or not known. All of these accept NULL. */
int32_t wait__fd(const struct wait_object *waited);

/* The timeout of the wait. False: there was none. */
bool wait__timeout(const struct wait_object *waited, uint64_t *ret_ns);

/* Number of bytes to read or write. False: the system call has no such argument. */
bool wait__bytes(const struct wait_object *waited, const char *syscall_name, uint64_t *ret);

/*
 * Adds "for /var/lib/x on vda1", "for unix /run/x.sock (postgres, pid 612), 250 ms at most"; any
 * bytes. Leaves out a mutex's owner if its tid is `said`. `all` adds the descriptor and the
 * requested bytes. Adds nothing if nothing is known.
 */
void wait__add_phrase(struct strbuf *sb, const struct wait_object *waited, uint32_t said,
		      const char *syscall_name, bool all);

/* --- a task's priority and policy */

/*
 * Adds "nice -5", "real-time 50", "deadline" for the number in the record (JANK_PRIO_OFFSET);
 * nothing if it is not known.
 */
void priority__add(struct strbuf *sb, uint16_t prio);

/* True for nice 0, which is not shown, or if not known. */
bool priority__is_usual(uint16_t prio);

/* "normal", "fifo", "rr", … of a SCHED_*; NULL for an unknown one. */
const char *policy__name(uint16_t policy);

/* --- why stacks end early */

/* Adds "complete", or the reasons (enum stack_quality), joined by ", ". */
void quality__add(struct strbuf *sb, const struct block *block);

/* --- text in terminal columns (cells.c) */

/*
 * Adds str, safe for a terminal (valid UTF-8, no control bytes, nothing invisible, no change of
 * writing direction). Cuts it to max columns, the last of them then "…". Returns the columns used.
 */
unsigned cells__add(struct strbuf *sb, const char *str, unsigned max);

/* Columns of str when it is not cut. */
unsigned cells__width(const char *str);

#endif
