/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of main threads by pid. A look lists /proc from the first pid that is new; now and then all
 * of /proc. A process is read once, when it is new.
 */

#include "session/main_threads.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "files/file.h"
#include "options/filter.h"
#include "procfs/procinfo.h"

#define AGE_NS	    NS_PER_SEC /* a process that ends sooner is not worth its cost */
#define WHOLE_LOOKS 16	       /* each so many looks list all of /proc, to find what has ended */
#define AGAIN_LOOKS 64 /* and a refused process is checked again: its name may have changed */
#define LOADAVG_MAX 256
#define LIST_OFFSET 258 /* of pid 0 in the list of /proc (TGID_OFFSET in fs/proc/base.c) */

enum standing { WATCHED, BEYOND, OTHER, KERNEL };

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
	DIR *proc;	     /* NULL: no look is under way */
	uint32_t newest_pid; /* of the machine, before the last look */
	uint32_t next_pid;   /* no process from here on has been examined; 0: not known */
	bool whole;	     /* the look lists all of /proc */
	bool first;	     /* no look with `first` has come to the end yet */
	bool pending;	     /* the next look must be a whole one */
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
	if (mains->proc)
		closedir(mains->proc);
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
	if (info->kernel_thread || info->pid == (uint32_t)getpid())
		return KERNEL;
	if (!filter__admits_living(mains->opts.filter, info))
		return OTHER;
	return mains->watched_cnt < MAINS_MAX ? WATCHED : BEYOND;
}

static int postpone(struct mains *mains, uint32_t pid)
{
	if (pid < mains->next_pid)
		mains->next_pid = pid;
	return 0;
}

static int on_process(struct mains *mains, uint32_t pid)
{
	struct main_thread *thread;
	struct proc_info info;
	enum standing standing;
	char state;

	if (procinfo__read_stat(pid, &info, &state) || state == 'Z')
		return 0;
	if (!is_due(mains, &info))
		return postpone(mains, pid);
	standing = standing_of(mains, &info);
	if (standing == WATCHED && !mains->opts.admit(mains->opts.ctx, pid))
		return postpone(mains, pid);
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

		mains->pending |= again || (gone && thread->standing == WATCHED);
		if (again || (gone && (thread->standing != WATCHED ||
				       mains->opts.drop(mains->opts.ctx, thread->pid))))
			drop(mains, thread);
	}
}

/*
 * The number of the thread or process that was made last in our pid namespace; 0: not known. If it
 * has not changed, there is no new one (the last field of /proc/loadavg: fs/proc/loadavg.c).
 */
static uint32_t newest_pid(void)
{
	struct strbuf sb = STRBUF_INIT;
	const char *last;
	uint32_t ret;

	file__read("/proc/loadavg", LOADAVG_MAX, &sb);
	last = strrchr(strbuf__str(&sb), ' ');
	ret = last ? strtoul(last, NULL, 10) : 0;
	strbuf__free(&sb);
	return ret;
}

/* The list of processes from this pid on. */
static DIR *open_list(uint32_t pid)
{
	DIR *ret = opendir("/proc");

	if (ret && pid)
		lseek(dirfd(ret), (off_t)pid + LIST_OFFSET, SEEK_SET);
	return ret;
}

/*
 * An ended process is found late, by a whole look; until then its pid is not reused. Pids are
 * listed by two looks, as the newest one may not be in the list yet; all of them are after pids
 * have begun anew.
 */
static void begin_look(struct mains *mains)
{
	uint32_t newest = newest_pid(), before = mains->newest_pid, from = mains->next_pid;

	mains->look++;
	mains->whole = mains->first || mains->pending || !newest || !from || newest < before ||
		       mains->look % WHOLE_LOOKS == 0;
	if (!mains->whole && newest < from)
		return;
	mains->proc = open_list(mains->whole ? 0 : from);
	mains->pending = !mains->proc;
	mains->newest_pid = newest;
	mains->next_pid = before && newest >= before ? before + 1 : 0;
}

static void end_look(struct mains *mains, int res)
{
	closedir(mains->proc);
	mains->proc = NULL;
	mains->pending |= res;
	if (res || !mains->whole)
		return;
	mains->first = false;
	sweep(mains);
}

int mains__look(struct mains *mains, bool first, uint64_t max_ns)
{
	uint64_t until_ns = clock__mono_ns() + max_ns;
	struct dirent *entry;
	int res = 0;

	mains->first |= first;
	if (!mains->proc)
		begin_look(mains);
	while (mains->proc && !res && (entry = readdir(mains->proc))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			res = update(mains, strtoul(entry->d_name, NULL, 10));
		if (!res && clock__mono_ns() >= until_ns)
			return 1;
	}
	if (mains->proc)
		end_look(mains, res);
	return res;
}

void mains__renew(struct mains *mains, uint32_t pid)
{
	struct main_thread *thread = find(mains, pid);

	if (thread)
		drop(mains, thread);
	postpone(mains, pid);
}

void mains__recheck(struct mains *mains)
{
	struct main_thread *thread, *next;

	HASH_ITER (hh, mains->threads, thread, next)
		if (thread->standing == OTHER)
			drop(mains, thread);
	mains->pending = true;
}

bool mains__is_beyond(const struct mains *mains, uint32_t pid)
{
	const struct main_thread *thread = find(mains, pid);

	return thread && thread->standing == BEYOND;
}
