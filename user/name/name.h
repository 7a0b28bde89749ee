/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names by a process of its own, jankbpf-name: it parses what traced programs control, that is ELF,
 * DWARF, unwind tables, JIT compilers' files, interpreters' memory and stack copies. It has no
 * capability, opens nothing itself (files/broker.h), and has no network. It is this program,
 * executed again, so it holds no memory of the tracer. A second one, jankbpf-sites, finds functions
 * for probes: the thread that places them does not wait for the names of a block.
 *
 * A process that ends, or that makes no progress, is started again: the request under way has no
 * names. A file that caused this twice is not opened again.
 */
#ifndef JANK_NAME_NAME_H
#define JANK_NAME_NAME_H

#include "base/err.h"
#include "base/syscall_filter.h"
#include "symbol/modules/fetch.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The only argument of the process; not for users. */
#define NAME_WORD "--name"

struct name_client;

enum name_task { NAME_TASK_NAMES, NAME_TASK_SITES };

/*
 * Starts the process; needs the capabilities of root's start. Returns 0, or -errno with a message.
 */
int name_client__start(enum name_task task, struct name_client **ret, struct err *err);

/*
 * Starts the thread that opens files for it. Call it when capabilities are dropped: they are a
 * thread's own. From then on the symbolizer of this process can be used, on one thread. It may be
 * freed before name_client__free. source: of debug files, or without a get; until the free.
 */
int name_client__open(struct name_client *client, const struct fetch_source *source,
		      struct symbolizer **ret, struct err *err);

/* The same for NAME_TASK_SITES: from then on, elffunc.h asks this process. Any thread. */
int name_client__open_sites(struct name_client *client, struct err *err);

/*
 * On the calling thread, which must be that of the symbolizer, elffunc.h asks this process and not
 * that of NAME_TASK_SITES, for which other threads wait. NULL: no longer.
 */
void name_client__use_here(struct name_client *client);

void name_client__free(struct name_client *client); /* accepts NULL */

/* The run ends: do not wait long for a process that makes no progress. Any thread. */
void name_client__hurry(struct name_client *client);

/* How often the process was started again. Accepts NULL. */
uint64_t name_client__restart_cnt(const struct name_client *client);

/* How often it ended because of a forbidden system call. Accepts NULL. */
uint64_t name_client__forbidden_cnt(const struct name_client *client);

/* The process; 0: none now. Any thread. Accepts NULL. */
pid_t name_client__pid(const struct name_client *client);

/* server.c: the process itself. Returns its exit status. */
int name_server__main(void);

/*
 * name_confine.c: becomes that user, and gives up what the process must not have. A forbidden
 * system call ends it from then on; its number + 1 is left in *forbidden. 0 or -errno.
 */
int name_server__confine(uid_t uid, _Atomic uint32_t *forbidden);

/*
 * name_calls.c: the system calls beyond those of every process, once it has given up its
 * privileges. Its start needs deliver_start_calls (deliver/deliver_confine.h).
 */
extern const struct syscall_list name_calls;
extern const char name_failing_calls[]; /* these fail; others end the process */

#endif
