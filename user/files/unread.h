/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was not read of a traced program, because of a limit or because its user may not choose it
 * for us. Readers in all rooms count here; session/ prints one message for each reason. Any thread.
 */
#ifndef JANK_FILES_UNREAD_H
#define JANK_FILES_UNREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unread {
	UNREAD_OWNER,	 /* a perf map or jitdump of another user than the process */
	UNREAD_LINK,	 /* a perf map below a symbolic link, or with several names */
	UNREAD_MAPS,	 /* /proc/PID/maps: too long (proc.h) */
	UNREAD_CHECKSUM, /* a debug file without a build id: too large, or too much at once */
	UNREAD_FETCH,	 /* a debug file of a server: too large, too slow, or too many (fetch.h) */
	UNREAD_JIT,	 /* the rest of a perf map or jitdump: too large, or invalid */
	UNREAD_NO_FD,	 /* a file for which no descriptor was free */
	UNREAD_FATAL,	 /* a file that ended the process that makes names, twice (user/name) */
	UNREAD_RUNTIME,	 /* names of a language whose runtime has an unknown layout (language.h) */
	UNREAD_STRIPPED, /* names of an interpreter without the symbol that finds its frames */
	UNREAD_DEX,	 /* bytecode of Android's interpreter in no DEX file that can be read */
	UNREAD_CNT
};

/* Counts one reading. object: what the message names; copied, cut after 255 bytes. */
void unread__add(enum unread reason, const char *object);

/* The same, for several readings at once. */
void unread__add_cnt(enum unread reason, const char *object, uint64_t cnt);

/*
 * For a process that reports elsewhere: readings of a reason since the last call, and the first
 * object of all (valid until the next call). 0: none.
 */
uint64_t unread__take(enum unread reason, const char **ret_object);

/* How often unread__add was called: by all threads, and by the calling thread. */
uint64_t unread__cnt(void);
uint64_t unread__own_cnt(void);

/*
 * Writes the message of a reason that has occurred and was not returned yet: the object and the
 * remedy. Returns false when there is none. Cheap to call often.
 */
bool unread__next(char *ret, size_t size);

#endif
