/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that sends the records of the spool, jankbpf-send: it has the network, the spool, and
 * no capability. It gets nothing from the tracer but its options; nothing of the network reaches
 * the tracer. The tracer's filter of system calls is not for it, so it could not be started again
 * from there: it has a parent, started before that filter and confined in the same way, which does
 * it. If the parent ends, the process becomes the parent of a new one; if both end at once, nothing
 * is sent until the next run, which the log says.
 */
#ifndef JANK_DELIVER_SENDER_PROCESS_H
#define JANK_DELIVER_SENDER_PROCESS_H

#include "base/err.h"
#include "options/options.h"
#include <sys/types.h>

/* The only argument of the process; not for users. */
#define SENDER_WORD "--sender"

struct sender_process;

/*
 * Starts the process, if a backend has a URL; *ret: else NULL. Needs the capabilities of root's
 * start, and no filter. Returns 0, or -errno with a message.
 */
int sender_process__start(const struct options *opts, struct sender_process **ret, struct err *err);

/* Ends it: it has a second for what is left in the spool. Accepts NULL. */
void sender_process__free(struct sender_process *sender);

/* A socket, borrowed: hung up once both have ended. -1 for NULL. */
int sender_process__fd(const struct sender_process *sender);

/* The parent, and the process that sends; 0: none now. Any thread. Accept NULL. */
pid_t sender_process__parent(const struct sender_process *sender);
pid_t sender_process__pid(const struct sender_process *sender);

/* sender_child.c: the process itself. Returns its exit status. */
int sender_process__main(void);

/* --- for both sides */

#define SENDER_SOCKET_FD 0
#define SENDER_SHARED_FD 3

/* Memory of both; then the words of a command line `send …`, each with its NUL. */
struct sender_shared {
	/* The process that sends, and its parent; 0: none. The tracer does not trust them. */
	_Atomic pid_t pid, parent;
	uint32_t command;  /* enum command of the run */
	uint32_t has_user; /* the first word is records_user */
	uint32_t word_cnt; /* the others */
};

#endif
