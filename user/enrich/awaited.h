/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread or process that a blocked thread waits for, as /proc shows it now. For a wait that
 * lasts: once it is over, the records of the probes tell more.
 */
#ifndef JANK_ENRICH_AWAITED_H
#define JANK_ENRICH_AWAITED_H

#include "bpf/jank_abi.h"
#include "procfs/descriptor.h"
#include "procfs/futex_wait.h"

struct awaited {
	uint32_t pid, tid;
	bool is_thread;		   /* this thread; else the process, whichever of its threads */
	bool holds;		   /* a lock; else it is expected to act, or to end */
	uint64_t socket;	   /* inode of its end of the connection; 0: it is none */
	struct fd_holders several; /* instead: any of these processes may end the wait */
};

/*
 * Finds the owner of a mutex or rwlock, the thread that pthread_join waits for, the only child, the
 * holder of a file's lock, the process of awaited__other_end. known: what the records say of this
 * wait, or NULL. False: not known, or ret->several. Of other processes' descriptors at most 20,000
 * links are read. Sink thread.
 */
bool awaited__find(uint32_t pid, uint32_t tid, const struct blocked_call *call,
		   const struct jank_rec_waited *known, struct awaited *ret);

/*
 * awaited_end.c: finds the process at the other end of the call's descriptor: of a pipe, a socket
 * on this machine, a terminal that is written to; or the daemon of its FUSE file system.
 */
bool awaited__other_end(uint32_t pid, uint32_t tid, const struct blocked_call *call,
			const struct jank_rec_waited *known, struct awaited *ret);

/* Also there: sets *ret from the processes that were found. False: there is not exactly one. */
bool awaited__set(struct awaited *ret, const struct fd_holders *found);

/*
 * awaited_grab.c: an X server serves all clients in its main thread. Finds the client that has
 * grabbed the server, for a wait of this thread of the server, while another client waits at the
 * connection of which the server has this end. False: it is no X server, or not grabbed. At most
 * 256 clients.
 */
#define X_SOCKETS "/.X11-unix/X" /* in the names of its sockets */
bool awaited__grabber(uint32_t pid, uint32_t tid, const struct blocked_call *call, uint64_t socket,
		      struct awaited *ret);

/*
 * The parser of /proc/locks, for tests: the lock that the process waits for (-1: a lock of an open
 * file), without its number. file: "fe:00:1234", or NULL: any. False: none, or several.
 */
#define FILE_LOCK_SZ 128
bool file_locks__blocker(const char *text, int64_t pid, const char *file, char ret[FILE_LOCK_SZ]);

#endif
