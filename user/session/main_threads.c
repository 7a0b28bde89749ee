/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table of main threads by pid. One look lists /proc; a process is read once, when it is new. */
#include "session/session_parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "procfs/procinfo.h"

#define AGE_NS NS_PER_SEC /* a process that ends sooner is not worth its cost */
#define AGAIN_LOOKS                                                                                \
	16 /* a refused process is checked again after so many looks: its name may have changed */

enum standing { WATCHED, BEYOND, OTHER };

struct main_thread {
	uint32_t pid;
	enum standing standing;
	unsigned look; /* the last look that saw it */
	UT_hash_handle hh;
};

struct mains {
	struct mains_opts opts;
	struct main_thread *threads;
	unsigned watched_cnt, look;
	bool first;
};

struct mains *mains__new(const struct mains_opts *opts)
{
	struct mains *mains = calloc(1, sizeof(*mains));

	if (mains)
		mains->opts = *opts;
	return mains;
}

static struct main_thread *find(const struct mains *mains, uint32_t pid)
{
	struct main_thread *thread;

	HASH_FIND(hh, mains->threads, &pid, sizeof(pid), thread);
	return thread;
}

static void drop(struct mains *mains, struct main_thread *thread)
{
	mains->watched_cnt -= thread->standing == WATCHED;
	HASH_DEL(mains->threads, thread);
	free(thread);
}

void mains__free(struct mains *mains)
{
	if (!mains)
		return;
	while (mains->threads)
		drop(mains, mains->threads);
	free(mains);
}

/* True if the process is old enough to be examined. */
static bool is_due(const struct mains *mains, const struct proc_info *info)
{
	uint64_t tick_ns = NS_PER_SEC / sysconf(_SC_CLK_TCK);

	return mains->first ||
	       info->start_ticks * tick_ns + AGE_NS < clock__mono_ns() + clock__suspended_ns();
}

static enum standing standing_of(const struct mains *mains, const struct proc_info *info)
{
	if (info->kernel_thread || info->pid == (uint32_t)getpid() ||
	    !filter__admits(mains->opts.filter, info->pid))
		return OTHER;
	return mains->watched_cnt < MAINS_MAX ? WATCHED : BEYOND;
}

static int on_process(struct mains *mains, uint32_t pid)
{
	struct main_thread *thread;
	struct proc_info info;
	enum standing standing;
	char state;

	if (procinfo__read_stat(pid, &info, &state) || state == 'Z' || !is_due(mains, &info))
		return 0;
	standing = standing_of(mains, &info);
	if (standing == WATCHED && !mains->opts.admit(mains->opts.ctx, pid))
		return 0;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	thread->pid = pid;
	thread->standing = standing;
	thread->look = mains->look;
	HASH_ADD(hh, mains->threads, pid, sizeof(pid), thread);
	if (!thread)
		return -ENOMEM;
	mains->watched_cnt += standing == WATCHED;
	return 0;
}

static int update(struct mains *mains, uint32_t pid)
{
	struct main_thread *thread = find(mains, pid);

	if (!thread)
		return on_process(mains, pid);
	thread->look = mains->look;
	return 0;
}

/*
 * Drops ended processes; also those beyond MAINS_MAX or refused, so that the next look checks them
 * again.
 */
static void sweep(struct mains *mains)
{
	struct main_thread *thread, *next;

	HASH_ITER (hh, mains->threads, thread, next) {
		bool gone = thread->look != mains->look;
		bool again = thread->standing == BEYOND
				     ? mains->watched_cnt < MAINS_MAX
				     : thread->standing == OTHER && mains->look % AGAIN_LOOKS == 0;

		if (again || (gone && (thread->standing != WATCHED ||
				       mains->opts.drop(mains->opts.ctx, thread->pid))))
			drop(mains, thread);
	}
}

int mains__look(struct mains *mains, bool first, uint64_t max_ns)
{
	uint64_t until_ns = clock__mono_ns() + max_ns;
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool whole = proc;
	int res = 0;

	mains->first = first;
	mains->look++;
	while (proc && whole && !res && (entry = readdir(proc))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			res = update(mains, strtoul(entry->d_name, NULL, 10));
		whole = clock__mono_ns() < until_ns;
	}
	if (proc)
		closedir(proc);
	if (whole && !res)
		sweep(mains);
	return res;
}

void mains__renew(struct mains *mains, uint32_t pid)
{
	struct main_thread *thread = find(mains, pid);

	if (thread)
		drop(mains, thread);
}

bool mains__is_beyond(const struct mains *mains, uint32_t pid)
{
	const struct main_thread *thread = find(mains, pid);

	return thread && thread->standing == BEYOND;
}
