/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files, memory and threads of traced processes, for a process that may open nothing itself: the
 * process that makes names (user/name). It asks the tracer's broker thread, which opens the file
 * and passes the descriptor.
 *
 * The broker trusts no request. It opens only what a symbolizer needs: files of the processes in
 * its table, debug files that anybody may read, and a few files of /proc and /sys.
 */
#ifndef JANK_FILES_BROKER_H
#define JANK_FILES_BROKER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define BUILD_ID_TEXT_MAX 129 /* bytes of a build id in hexadecimal, with its NUL */

/* --- the tracer's side: any thread */

struct broker;

/*
 * Downloads of debug files, which need a network. NULL functions: there are none. fetch: starts
 * one, for a process and its user; open: a descriptor or -1; cnt: how many have arrived.
 */
struct broker_fetch {
	void (*want)(void *ctx, const char *build_id, uint32_t pid, uint32_t uid);
	int (*open)(void *ctx, const char *build_id);
	unsigned (*cnt)(void *ctx);
	void *ctx;
};

/* Starts the thread, without a process to serve yet. 0 or -errno. */
int broker__new(const struct broker_fetch *fetch, struct broker **ret);

/* Ends the thread. Accepts NULL. The process must have ended before. */
void broker__free(struct broker *broker);

/*
 * Serves this socket (SOCK_SEQPACKET, taken over) until its other end is closed. The socket before
 * must have no other end any more.
 */
void broker__serve(struct broker *broker, int sock);

/* Allows and ends requests about a process. 0 or -ENOMEM. */
int broker__allow(struct broker *broker, uint32_t pid);
void broker__forbid(struct broker *broker, uint32_t pid);

/* Refuses this file from now on: reading it has ended the process twice. */
void broker__refuse(struct broker *broker, uint64_t dev, uint64_t inode);

/*
 * Offers a file (borrowed until the next call; -1: none): the process gets it by BROKER_OFFERED,
 * whatever it is. -EACCES: it is refused.
 */
int broker__offer(struct broker *broker, int fd);

/* --- the side of the process: one thread */

/* From now on, the readers of user/files ask the broker at the other end of this socket. */
void broker_client__use(int sock);
bool broker_client__is_on(void);

/* What is opened, and where: the functions of openfile.h with these names; OWN: open(2). */
enum broker_op {
	BROKER_OWN, /* a file of /proc or /sys that no traced program chose */
	BROKER_LINK,
	BROKER_PATH,
	BROKER_IN_ROOT,
	BROKER_IN_ROOT_NO_LINKS,
	BROKER_OFFERED, /* broker__offer */
	/* memory */
	BROKER_PAGES,  /* memory__read_across */
	BROKER_MEMORY, /* apart__memory */
	BROKER_FILE,   /* apart__pread */
	BROKER_PIECES, /* memory__read_pieces */
	/* threads */
	BROKER_LIVE_TID, /* live_tid__thread */
	BROKER_NS_TID,	 /* ns_tid__find */
	BROKER_HAS_TID,	 /* is there such a thread of the process? */
	/* downloads */
	BROKER_FETCH_WANT,
	BROKER_FETCH_OPEN,
	BROKER_FETCH_CNT,
	BROKER_OP_CNT
};

/* A descriptor that the caller owns, or -errno. root, st: may be NULL. */
int broker_client__open(enum broker_op op, const char *root, const char *path, struct stat *st);

/*
 * Asks for several files at once, by BROKER_OWN or BROKER_LINK; broker_client__open returns those
 * then. Each call drops what the call before has left; cnt may be 0, at most BROKER_AHEAD_MAX.
 */
#define BROKER_AHEAD_MAX  32
#define BROKER_AHEAD_PATH 64 /* bytes of a path */
void broker_client__open_ahead(enum broker_op op, const char (*paths)[BROKER_AHEAD_PATH],
			       size_t cnt);

/* Bytes read, 0 or -errno, as the function of that name. fd: of BROKER_FILE, else -1. */
ssize_t broker_client__read(enum broker_op op, uint32_t pid, int fd, uint64_t at, void *buf,
			    size_t len);

/* As memory__read_pieces. */
uint32_t broker_client__read_pieces(uint32_t pid, const uint64_t *addrs, size_t cnt, void *buf);

/* A number: of a thread, of downloads. at, text: as the operation needs. -errno: not known. */
int64_t broker_client__ask(enum broker_op op, uint32_t pid, uint64_t at, const char *text);

#endif
