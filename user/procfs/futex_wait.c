/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who owns a lock is told by its words, as the C library keeps them. Each layout is checked as far
 * as it can be: other locks use the same futex calls.
 *
 * glibc: struct __pthread_mutex_s { lock, count, owner, nusers, kind } and struct
 * __pthread_rwlock_arch_t { readers, writers, wrphase_futex, writers_futex, pad, pad, cur_writer }
 * (sysdeps/nptl/bits). musl: pthread_mutex_t { type, lock, waiters }, its lock is the owner's tid,
 * but of a normal mutex EBUSY.
 */
#include "procfs/futex_wait.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/strbuf.h"
#include "bpf/futex.h"
#include "files/file.h"
#include "files/proc.h"
#include "procfs/procinfo.h"

#define TEXT_MAX    16384
#define USERS_MAX   4096 /* of a glibc mutex: its owner, and waiters of its conditions */
#define RWLOCK_HELD 3	 /* a rwlock's readers: write phase, write-locked */
#define RWLOCK_WAIT 3	 /* wrphase_futex, writers_futex: a writer has it, somebody waits */
#define STACK_NEAR  4096 /* from the stack pointer to a local variable of pthread_mutex_lock */

/* The kind of a glibc mutex. */
enum { KIND_TYPE = 3, KIND_ROBUST = 16, KIND_PI = 32, KIND_SHARED = 128, KIND_ALL = 0x3f3 };
enum { TYPE_RECURSIVE = 1 };

#define MUSL_TYPE_ALL 0x8f

bool blocked_call__parse(const char *text, struct blocked_call *ret)
{
	return sscanf(text,
		      "%" SCNu64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		      " %" SCNx64 " %" SCNx64 " %" SCNx64,
		      &ret->nr, &ret->args[0], &ret->args[1], &ret->args[2], &ret->args[3],
		      &ret->args[4], &ret->args[5], &ret->sp, &ret->pc) == 9;
}

/* The mutex is locked, by the thread in its third word. */
static bool is_glibc_mutex(const uint32_t *word)
{
	uint32_t count = word[1], users = word[3], kind = word[4];

	if (kind & ~(uint32_t)KIND_ALL || !users || users > USERS_MAX || !word[2])
		return false;
	return (kind & KIND_TYPE) == TYPE_RECURSIVE ? count > 0 : !count;
}

static bool read_mutex(uint32_t val, const struct lock_words *words, struct futex_wait *ret)
{
	const uint32_t *word = words->word;
	bool glibc = is_glibc_mutex(word);

	ret->kind = LOCK_MUTEX;
	if (word[0] != val)
		return false;
	if (word[0] == FUTEX_CONTENDED) {
		ret->owner = word[2];
		ret->shared = word[4] & KIND_SHARED;
		return glibc && !(word[4] & (KIND_PI | KIND_ROBUST));
	}
	ret->owner = word[0] & FUTEX_TID_MASK;
	if (!(word[0] & FUTEX_WAITERS))
		return false;
	if (glibc && word[4] & KIND_ROBUST) {
		ret->shared = word[4] & KIND_SHARED;
		return word[2] == ret->owner;
	}
	ret->shared = words->before & KIND_SHARED;
	return ret->owner != EBUSY && !(words->before & ~(uint32_t)MUSL_TYPE_ALL);
}

static bool read_pi(const struct lock_words *words, struct futex_wait *ret)
{
	ret->kind = LOCK_PI_MUTEX;
	ret->owner = words->word[0] & FUTEX_TID_MASK;
	ret->shared = is_glibc_mutex(words->word) && words->word[4] & KIND_SHARED;
	return ret->owner;
}

/* The futex is wrphase_futex, at 8, or writers_futex, at 12; the lock is aligned to 8. */
static bool read_rwlock(uint64_t address, const struct lock_words *words, struct futex_wait *ret)
{
	const uint32_t *rest = words->word + (address % 8 ? 1 : 2); /* from the pads on */

	ret->kind = LOCK_RWLOCK;
	ret->owner = rest[2];
	ret->shared = false; /* not told apart; an owner in another process is not found */
	return (words->base[0] & RWLOCK_HELD) == RWLOCK_HELD && !rest[0] && !rest[1] && rest[2];
}

bool lock_words__read(const struct blocked_call *call, const struct lock_words *words,
		      struct futex_wait *ret)
{
	uint32_t cmd = call->args[1] & FUTEX_CMD_MASK, val = (uint32_t)call->args[2];

	ret->address = call->args[0];
	ret->owner = 0;
	ret->shared = false;
	if (cmd == FUTEX_LOCK_PI || cmd == FUTEX_LOCK_PI2)
		return !call->args[3] && read_pi(words, ret);
	if (call->args[3] || (cmd != FUTEX_WAIT && cmd != FUTEX_WAIT_BITSET))
		return false;
	if (cmd == FUTEX_WAIT)
		return read_mutex(val, words, ret);
	if (val == RWLOCK_WAIT && words->word[0] == RWLOCK_WAIT)
		return read_rwlock(ret->address, words, ret);
	ret->kind = LOCK_REFUSED;
	return !val && !words->word[0] && ret->address >= call->sp &&
	       ret->address - call->sp < STACK_NEAR;
}

static int read_words(const char *proc, uint32_t pid, uint64_t address, struct lock_words *ret)
{
	uint64_t base = address - (address % 8 ? 12 : 8);
	int res;

	if (address % sizeof(uint32_t))
		return -EINVAL;
	*ret = (struct lock_words){};
	res = memory__read(proc, pid, address, ret->word, sizeof(ret->word[0]));
	if (res)
		return res;
	/* What lies around it may be on a page that is not there: then the lock is not known. */
	memory__read_across(proc, pid, address, ret->word, sizeof(ret->word));
	memory__read_across(proc, pid, address - 4, &ret->before, sizeof(ret->before));
	memory__read_across(proc, pid, base, ret->base, sizeof(ret->base));
	return 0;
}

static int read_text(const char *proc, uint32_t pid, uint32_t tid, const char *name,
		     struct strbuf *ret)
{
	char path[PATH_MAX];
	int res;

	snprintf(path, sizeof(path), "%s/%u/task/%u/%s", proc, pid, tid, name);
	res = file__read(path, TEXT_MAX, ret);
	return res ? res : ret->failed ? -ENOMEM : 0;
}

/* The sum of both lines: "voluntary_ctxt_switches:\t17". */
static uint64_t switches_of(const char *status)
{
	static const char *const keys[] = { "\nvoluntary_ctxt_switches:",
					    "\nnonvoluntary_ctxt_switches:" };
	uint64_t ret = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *at = strstr(status, keys[i]);

		ret += at ? strtoull(at + strlen(keys[i]), NULL, 10) : 0;
	}
	return ret;
}

int blocked_call__read(const char *proc, uint32_t pid, uint32_t tid, struct blocked_call *ret)
{
	struct strbuf text = STRBUF_INIT;
	int res = read_text(proc, pid, tid, "syscall", &text);

	if (!res && !blocked_call__parse(strbuf__str(&text), ret))
		res = -ENODATA;
	strbuf__free(&text);
	return res;
}

/* The switches are read first: a thread that runs meanwhile then differs at the next look. */
int futex_wait__read(const char *proc, uint32_t pid, uint32_t tid, struct futex_wait *ret)
{
	struct strbuf status = STRBUF_INIT;
	struct blocked_call call;
	struct lock_words words;
	int res;

	*ret = (struct futex_wait){};
	res = read_text(proc, pid, tid, "status", &status);
	if (!res)
		res = blocked_call__read(proc, pid, tid, &call);
	if (!res && call.nr != SYS_futex)
		res = -ENODATA;
	if (!res)
		res = read_words(proc, pid, call.args[0], &words);
	if (!res && !lock_words__read(&call, &words, ret))
		res = -ENODATA;
	ret->switch_cnt = switches_of(strbuf__str(&status));
	strbuf__free(&status);
	return res;
}

/*
 * glibc and musl wait for a thread's end until the kernel clears its number (CLONE_CHILD_CLEARTID),
 * by a futex that is not private.
 */
uint32_t joined_thread__find(const char *proc, uint32_t pid, const struct blocked_call *call)
{
	uint64_t op = call->args[1], cmd = op & FUTEX_CMD_MASK;
	uint32_t word;

	if (call->nr != SYS_futex || (cmd != FUTEX_WAIT && cmd != FUTEX_WAIT_BITSET) ||
	    op & FUTEX_PRIVATE_FLAG ||
	    memory__read_across(proc, pid, call->args[0], &word, sizeof(word)) || !word ||
	    word != (uint32_t)call->args[2])
		return 0;
	return threadname__by_ns_tid(proc, pid, word);
}
