/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of the user that run on a record (--on-block, --on-hang, --on-new), by a process of its
 * own, jankbpf-react: the user of sudo, else the user who started the tracer. The tracer executes
 * nothing. It gives the process finished records and never waits for it during a run.
 *
 * The process is not started again: the tracer's filter of system calls, which a new process would
 * inherit, is not for commands. Later reactions are then counted as skipped.
 */
#ifndef JANK_DELIVER_REACT_H
#define JANK_DELIVER_REACT_H

#include "base/err.h"
#include "options/options.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The only argument of the process; not for users. */
#define REACT_WORD "--react"

/* In the order of options.on_command. */
enum reaction { REACTION_BLOCK, REACTION_HANG, REACTION_NEW, REACTION_CNT };

#define REACT_WAITING_MAX 16	      /* records that wait for their command, or have it now */
#define REACT_BYTES_MAX	  (16u << 20) /* of these */
#define REACT_BURST	  10	      /* commands at once, before --react-rate applies */

struct react;

struct react_counts {
	uint64_t run; /* commands that were started and ended, also those of the next two */
	uint64_t failed, timed_out;
	uint64_t skipped; /* reactions without a command: too many, or no process */
};

/*
 * Starts the process, if an option asks for it; *ret: else NULL. Needs the capabilities of root's
 * start, and no filter. Waits until the process has given up its privileges. Returns 0, or -errno
 * with a message.
 */
int react__start(const struct options *opts, struct react **ret, struct err *err);

/* Ends the process, and the command that still runs. Accepts NULL. */
void react__free(struct react *react);

/*
 * A process was seen. If it belongs to a command, its blocks run none. The thread of react__record.
 * Accepts NULL.
 */
void react__saw(struct react *react, pid_t pid);

/* Runs the commands for this record, later. One thread. Never waits. Accepts NULL. */
void react__record(struct react *react, const Jankbpf__Record *record);

/*
 * Waits until all commands have ended, --react-timeout at most; counts the others as skipped. The
 * thread of react__record. False: there is no process. Accepts NULL.
 */
bool react__finish(struct react *react, struct react_counts *ret);

/* True while react__finish waits. Any thread. Accepts NULL. */
bool react__is_finishing(const struct react *react);

/* The process; 0: none now. Any thread. Accepts NULL. */
pid_t react__pid(const struct react *react);

/* react_child.c: the process itself. Returns its exit status. */
int react__main(void);

/* --- for react.c and react_child.c: what they exchange */

#define REACT_SOCKET_FD 0
#define REACT_SHARED_FD 3

/* Memory of both; the commands follow, each with its NUL. */
struct react_shared {
	_Atomic bool stops; /* the tracer waits for no command any more */
	int32_t verbosity;
	uint64_t timeout_ns;
	uint64_t has[REACTION_CNT]; /* the command follows */
};

/* The tracer's request; a descriptor comes with it: the packed record. */
struct react_job {
	uint32_t reaction, pad;
};

enum react_event { REACT_READY, REACT_REFUSED, REACT_STARTED, REACT_DONE, REACT_EVENT_CNT };
enum react_outcome { REACT_OK, REACT_FAILED, REACT_TIMED_OUT, REACT_NOT_RUN, REACT_OUTCOME_CNT };

/* The answers to a request: STARTED, unless the command cannot be started, then DONE. */
struct react_answer {
	uint32_t event, outcome;
	int32_t pid; /* of STARTED */
	uint32_t pad;
};

/* --- react_env.c: the environment of a command */

/*
 * The environment of this process and the main fields of the record as JANKBPF_*; "" for unknown
 * ones is not set. Values are one line of valid UTF-8. NULL: out of memory, or not a block or hang.
 */
char **react_env__new(const Jankbpf__Record *record, enum reaction reaction);
void react_env__free(char **env); /* accepts NULL */

/* "--on-block" */
const char *reaction__option(enum reaction reaction);

#endif
