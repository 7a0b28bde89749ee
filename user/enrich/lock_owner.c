/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The owner of a private lock is a thread of the process. If no thread has its number, the thread
 * ended; or the process was forked while a thread of its parent had the lock. The owner of a shared
 * lock is a thread of any process that maps the lock: another one has only its number.
 */
#include "enrich/lock_owner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "files/file.h"
#include "files/proc.h"
#include "procfs/procinfo.h"

#define STATUS_MAX  16384
#define THREADS_MAX 1024 /* that threadname__by_ns_tid looks at */

/* --- the mapping of an address */

struct place {
	uint64_t address, dev, inode;
	bool found;
	char path[128]; /* its end */
};

/* The kernel's names for memory that has no file: mmap, shmget. */
static bool is_shared_memory(const char *path)
{
	return !strcmp(path, "/dev/zero") || !strncmp(path, "/SYSV", strlen("/SYSV"));
}

static int is_at(char *line, size_t len, uint64_t off, void *ctx)
{
	struct place *place = ctx;
	struct proc_maps_line parsed;

	(void)len;
	(void)off;
	if (maps_line__parse(line, true, &parsed) < 0 || place->address < parsed.start ||
	    place->address >= parsed.end)
		return 0;
	place->dev = parsed.dev;
	place->inode = parsed.inode;
	place->found = true;
	maps_lines__decode_path(parsed.path);
	snprintf(place->path, sizeof(place->path), "%s",
		 is_shared_memory(parsed.path) ? "shared memory" : text__base_name(parsed.path));
	return 1;
}

static int has_inode(char *line, size_t len, uint64_t off, void *ctx)
{
	struct place *place = ctx;
	struct proc_maps_line parsed;

	(void)len;
	(void)off;
	if (maps_line__parse(line, true, &parsed) < 0 || parsed.dev != place->dev ||
	    parsed.inode != place->inode)
		return 0;
	place->found = true;
	return 1;
}

static bool look(const char *proc, uint32_t pid, lines_fn fn, struct place *place)
{
	char path[PATH_MAX];

	place->found = false;
	snprintf(path, sizeof(path), "%s/%u/maps", proc, live_tid__thread(proc, pid));
	maps_file__read(path, fn, place);
	return place->found;
}

/* --- the owner */

/* The process of a thread; 0: there is no thread with that number. */
static uint32_t process_of(const char *proc, uint32_t tid)
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX];
	const char *at;
	uint32_t ret = 0;

	snprintf(path, sizeof(path), "%s/%u/status", proc, tid);
	at = file__read(path, STATUS_MAX, &sb) ? NULL : strstr(strbuf__str(&sb), "\nTgid:");
	if (at)
		ret = (uint32_t)strtoul(at + strlen("\nTgid:"), NULL, 10);
	strbuf__free(&sb);
	return ret;
}

static bool of_shared(const char *proc, uint32_t pid, const struct futex_wait *wait,
		      struct lock_owner *ret)
{
	struct place place = { .address = wait->address };
	uint32_t owner = process_of(proc, wait->owner);

	if (!look(proc, pid, is_at, &place) || !place.inode)
		return false;
	*ret = (struct lock_owner){ .pid = owner, .tid = wait->owner };
	if (owner && look(proc, owner, has_inode, &place))
		return true;
	/* It may have mapped the lock elsewhere, or not for long: only its end is certain. */
	ret->gone = LINK_ENDED;
	ret->pid = 0;
	return true;
}

static bool of_private(const char *proc, uint32_t pid, const struct futex_wait *wait,
		       struct lock_owner *ret)
{
	struct proc_info info = { 0 };
	char state;

	*ret = (struct lock_owner){ .tid = wait->owner, .gone = LINK_ENDED };
	if (procinfo__read_stat((pid_t)pid, &info, &state) || info.thread_cnt > THREADS_MAX)
		return false;
	if (!proc__has_thread(proc, info.parent_pid, wait->owner))
		return true;
	ret->gone = LINK_FORK;
	ret->pid = info.parent_pid;
	return true;
}

bool lock_owner__find(const char *proc, uint32_t pid, const struct futex_wait *wait,
		      struct lock_owner *ret)
{
	uint32_t tid = threadname__by_ns_tid(proc, pid, wait->owner);
	bool nested = true;

	if (tid) {
		*ret = (struct lock_owner){ .pid = pid, .tid = tid };
		return true;
	}
	ns_tid__of(proc, pid, pid, &nested);
	if (wait->kind == LOCK_RWLOCK || (nested && wait->shared))
		return false;
	return wait->shared ? of_shared(proc, pid, wait, ret) : of_private(proc, pid, wait, ret);
}

/* --- the name */

/* The lock's first byte, which has the symbol. */
static uint64_t begin_of(const struct futex_wait *wait)
{
	if (wait->kind != LOCK_RWLOCK)
		return wait->address;
	return wait->address - (wait->address % 8 ? 12 : 8);
}

static void add_place(const char *proc, uint32_t pid, uint64_t address, struct strbuf *sb)
{
	struct place place = { .address = address };

	if (!look(proc, pid, is_at, &place))
		return;
	if (!strcmp(place.path, "[heap]"))
		strbuf__adds(sb, " in the heap");
	else if (!strcmp(place.path, "[stack]"))
		strbuf__adds(sb, " on the main thread's stack");
	else if (*place.path && *place.path != '[')
		strbuf__addf(sb, " in %s", place.path);
	else
		strbuf__adds(sb, " in allocated memory");
}

void lock_owner__name(struct symbolizer *symbolizer, const char *proc, uint32_t pid,
		      const struct futex_wait *wait, char *buf, size_t cap)
{
	static const char *const kinds[] = {
		[LOCK_MUTEX] = "mutex",
		[LOCK_PI_MUTEX] = "PI mutex",
		[LOCK_RWLOCK] = "read-write lock",
		[LOCK_REFUSED] = "PI mutex that the kernel refused to it",
	};
	struct strbuf sb = STRBUF_INIT;
	struct frame frame = { 0 };

	strbuf__adds(&sb, kinds[wait->kind]);
	if (wait->kind != LOCK_REFUSED && symbolizer)
		symbolizer__variable(symbolizer, pid, begin_of(wait), &frame);
	if (frame.function && frame.offset)
		strbuf__addf(&sb, " '%s+0x%" PRIx64 "'", frame.function, frame.offset);
	else if (frame.function)
		strbuf__addf(&sb, " '%s'", frame.function);
	else if (wait->kind != LOCK_REFUSED)
		add_place(proc, pid, wait->address, &sb);
	snprintf(buf, cap, "%s", strbuf__str(&sb));
	strbuf__free(&sb);
}
