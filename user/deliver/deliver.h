/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delivery of records by a process of its own, jankbpf-deliver: it has the sinks, the identity of
 * the user of sudo and no capability, and gets nothing but records of schema/blockinfo.proto. It is
 * this program, executed again, so it holds no memory of the tracer.
 *
 * One record is under way at a time: the queue before the sink thread holds the others. A process
 * that ends is started again and gets the record again.
 */
#ifndef JANK_DELIVER_DELIVER_H
#define JANK_DELIVER_DELIVER_H

#include "base/err.h"
#include "export/sink.h"
#include "options/options.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The only argument of the process; not for users. */
#define DELIVER_WORD	    "--deliver"
#define DELIVER_SCREEN_WORD "--deliver-screen" /* it draws on the terminal, too */
#define DELIVER_HTTP_WORD   "--deliver-http"   /* it serves metrics, too */

/* What the process does besides files and pipes. */
enum deliver_kind { DELIVER_PLAIN, DELIVER_SCREEN, DELIVER_HTTP };

enum deliver_kind deliver__kind(const struct options *opts);

struct deliver;

/*
 * Starts the process; needs the capabilities of root's start. Borrows opts. Returns 0, or -errno
 * with a message. deliver__open waits until the sinks and the journal are open, and returns their
 * error.
 */
int deliver__start(const struct options *opts, struct deliver **ret, struct err *err);
int deliver__open(struct deliver *deliver, struct err *err);

/*
 * Of `jankbpf top`: where the user's commands arrive, as struct top_command; not blocking. -1: it
 * has no screen.
 */
int deliver__control_fd(const struct deliver *deliver);

/*
 * A command of the user; the process is not trusted. -EAGAIN: there is none. -EBADMSG: not valid.
 */
int deliver__command(const struct deliver *deliver, struct top_command *ret);

/* After deliver__open: the descriptor of the journal, which the process created. Once. */
int deliver__take_journal(struct deliver *deliver);

/* Ends the process: it has all acknowledged records, and is killed if it does not end in time. */
void deliver__free(struct deliver *deliver); /* accepts NULL */

unsigned deliver__sink_cnt(const struct deliver *deliver);
const char *deliver__sink_name(const struct deliver *deliver, unsigned i); /* see sink_ops */

/*
 * Waits until every sink has the record, and sets the result of each: 0 or -errno. Returns 0;
 * -ENOMEM or -EMSGSIZE: it was not sent; -ECHILD: the process cannot be kept running, see
 * deliver__failure.
 */
int deliver__record(struct deliver *deliver, const Jankbpf__Record *record, int *results);

/* Records that its sinks had taken, and dropped later. */
uint64_t deliver__dropped(const struct deliver *deliver);

/* How often the process was started again. */
uint64_t deliver__restart_cnt(const struct deliver *deliver);

/* Records that every sink has. Any thread. Accepts NULL. */
uint64_t deliver__taken(const struct deliver *deliver);

/*
 * Ends the process: a deliver__record under way and later ones return -ECHILD, and the failure says
 * that stdout took nothing for so long. Any thread.
 */
void deliver__give_up(struct deliver *deliver, uint64_t waited_ns);

/* Copies the message of the failure. False: there was none. Accepts NULL. */
bool deliver__failure(const struct deliver *deliver, struct err *ret);

/* The process; 0: none now. Any thread. Accepts NULL. */
pid_t deliver__pid(const struct deliver *deliver);

/* child.c: the process itself. Returns its exit status. */
int deliver__main(enum deliver_kind kind);

#endif
