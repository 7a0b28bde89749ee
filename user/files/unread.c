/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts by reason, each with the first object. See unread.h. */
#include "files/unread.h"

#include <pthread.h>
#include <stdio.h>

#define OBJECT_SZ 256

static const char *const texts[UNREAD_CNT] = {
	[UNREAD_OWNER] = "not read, because it does not belong to the process's user: names of JIT "
			 "code are missing; chown it to that user",
	[UNREAD_LINK] = "not read, because it is a symbolic link, lies below one, or has several "
			"names: names of JIT code are missing; put the file itself there",
	[UNREAD_MAPS] =
		"not read to its end, because it is too long: code in the mappings after that has "
		"neither names nor probes; trace other processes without this one",
	[UNREAD_CHECKSUM] =
		"not used, because its checksum would take too long to compute: names and "
		"lines are missing; link the program with --build-id",
	[UNREAD_FETCH] =
		"the debug file of this build id was not downloaded: it is too large or too "
		"slow, too many were requested, or the process that downloads ended; names and "
		"lines are missing; set DEBUGINFOD_MAXSIZE and DEBUGINFOD_MAXTIME, or install its "
		"debug symbols",
	[UNREAD_JIT] =
		"not read to its end, because it is too large or invalid: names of newer JIT "
		"code are missing; restart the program",
	[UNREAD_NO_FD] = "not read, because no descriptor was free: names and lines are missing; "
			 "raise the hard limit of open files, such as by `ulimit -Hn 4096`",
	[UNREAD_FATAL] = "not read any more, because the process that makes names ended twice "
			 "while it read it: its names are missing; please report this file",
	[UNREAD_RUNTIME] =
		"a version of Node, Java, Python or Ruby that is not known here: its functions "
		"have no names; known are Node 16 to 24 (start others with `--perf-basic-prof`), "
		"JDK 11 to 18, 21 and 25, CPython 3.11 to 3.13, Ruby 3.1 to 3.4",
	[UNREAD_STRIPPED] = "stripped of the symbol that finds its language's frames: its "
			    "functions have no names; run a build that has its own symbols",
	[UNREAD_DEX] = "no DEX file that can be read has the bytecode here: interpreted methods of "
		       "Android's runtime have no names; compile the app, by `cmd package compile "
		       "-m speed PACKAGE`",
};

static struct {
	pthread_mutex_t lock;
	uint64_t cnt; /* also read without the lock, like `pending` */
	unsigned pending;
	uint64_t of_reason[UNREAD_CNT]; /* since unread__take */
	bool seen[UNREAD_CNT], told[UNREAD_CNT];
	char first[UNREAD_CNT][OBJECT_SZ];
} unread = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local uint64_t own_cnt;

void unread__add_cnt(enum unread reason, const char *object, uint64_t cnt)
{
	own_cnt += cnt;
	__atomic_fetch_add(&unread.cnt, cnt, __ATOMIC_RELAXED);
	pthread_mutex_lock(&unread.lock);
	unread.of_reason[reason] += cnt;
	if (!unread.seen[reason]) {
		snprintf(unread.first[reason], OBJECT_SZ, "%s", object);
		unread.seen[reason] = true;
		__atomic_fetch_add(&unread.pending, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&unread.lock);
}

void unread__add(enum unread reason, const char *object)
{
	unread__add_cnt(reason, object, 1);
}

uint64_t unread__take(enum unread reason, const char **ret_object)
{
	uint64_t cnt;

	pthread_mutex_lock(&unread.lock);
	cnt = unread.of_reason[reason];
	unread.of_reason[reason] = 0;
	pthread_mutex_unlock(&unread.lock);
	*ret_object = unread.first[reason];
	return cnt;
}

uint64_t unread__cnt(void)
{
	return __atomic_load_n(&unread.cnt, __ATOMIC_RELAXED);
}

uint64_t unread__own_cnt(void)
{
	return own_cnt;
}

bool unread__next(char *ret, size_t size)
{
	bool found = false;

	if (!__atomic_load_n(&unread.pending, __ATOMIC_RELAXED))
		return false;
	pthread_mutex_lock(&unread.lock);
	for (int i = 0; i < UNREAD_CNT && !found; i++) {
		found = unread.seen[i] && !unread.told[i];
		if (!found)
			continue;
		snprintf(ret, size, "'%s': %s", unread.first[i], texts[i]);
		unread.told[i] = true;
		__atomic_fetch_sub(&unread.pending, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&unread.lock);
	return found;
}
