/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "enrich/partner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "catalogue/syscalls.h"
#include "enrich/awaited.h"
#include "model/sample.h"
#include "procfs/procinfo.h"

#define PROC	"/proc"
#define LOOK_NS 5000000 /* between two looks that must be the same */

/* What a thread does at one moment. */
struct deed {
	char letter; /* its state in /proc/PID/stat */
	bool calls;
	struct blocked_call call;
};

static bool read_deed(uint32_t pid, uint32_t tid, struct deed *ret)
{
	struct proc_info info = { 0 };

	*ret = (struct deed){ 0 };
	if (procinfo__read_stat((pid_t)tid, &info, &ret->letter))
		return false;
	ret->calls = !blocked_call__read(PROC, pid, tid, &ret->call);
	return true;
}

static bool is_same(const struct deed *a, const struct deed *b)
{
	return a->letter == b->letter && a->calls == b->calls && a->call.nr == b->call.nr &&
	       a->call.sp == b->call.sp &&
	       !memcmp(a->call.args, b->call.args, sizeof(a->call.args));
}

/* Two looks must be the same. Of a process with several threads, which one counts is not known. */
static bool look(const struct awaited *who, struct deed *ret)
{
	const struct timespec time = { .tv_nsec = LOOK_NS };
	struct proc_info info = { 0 };
	struct deed again;
	char state;

	if (!who->is_thread &&
	    (procinfo__read_stat((pid_t)who->pid, &info, &state) || info.thread_cnt != 1))
		return false;
	if (!read_deed(who->pid, who->tid, ret))
		return false;
	nanosleep(&time, NULL);
	return read_deed(who->pid, who->tid, &again) && is_same(ret, &again);
}

/* --- the deed as a state, as bpf/classify_block.bpf.h decides */

static uint32_t state_of_file(uint32_t pid, const struct deed *deed)
{
	char path[64], link[16] = "";

	snprintf(path, sizeof(path), PROC "/%u/fd/%d", pid, (int)deed->call.args[0]);
	if (readlink(path, link, sizeof(link) - 1) < 0)
		return JANK_STATE_OTHER;
	if (text__begins(link, "pipe:"))
		return JANK_STATE_PIPE;
	if (text__begins(link, "socket:"))
		return JANK_STATE_SOCKET;
	return deed->letter == 'D' ? JANK_STATE_DISK : JANK_STATE_OTHER;
}

/* JANK_STATE_CNT: not known. */
static uint32_t state_of(uint32_t pid, const struct deed *deed)
{
	if (deed->letter == 'R')
		return JANK_STATE_RUNNING;
	if (deed->letter == 'T' || deed->letter == 't')
		return JANK_STATE_STOPPED;
	if (!deed->calls || !strchr("SD", deed->letter))
		return JANK_STATE_CNT;
	switch (syscalls__class((int)deed->call.nr)) {
		JANK_CLASS_STATES(JANK_CASE_STATE)
	case JANK_CLASS_FD:
	case JANK_CLASS_SENDFILE:
		return state_of_file(pid, deed);
	case JANK_CLASS_FILE:
	case JANK_CLASS_PATH:
	case JANK_CLASS_PATH_AT:
	case JANK_CLASS_FILE_FD:
		return deed->letter == 'D' ? JANK_STATE_DISK : JANK_STATE_OTHER;
	}
	return JANK_STATE_OTHER;
}

/* --- the chain */

static void set_deed(struct link *link, const struct deed *deed)
{
	link->state = state_of(link->task.pid, deed);
	if (link->state < JANK_STATE_FIRST_BLOCKED || link->state >= JANK_STATE_CNT)
		return;
	link->syscall = (int32_t)deed->call.nr;
	link->syscall_name = syscall__name((int)deed->call.nr);
}

static void set_link(struct link *link, const struct awaited *who, const struct sample *sample)
{
	*link = (struct link){
		.role = who->holds ? LINK_HELD : LINK_AWAITED,
		.task = { .pid = who->pid, .tid = who->tid },
		.t_ns = sample->t_ns,
		.ns = sample->ns,
		.state = JANK_STATE_CNT,
		.syscall = -1,
	};
	threadname__read(PROC, who->pid, who->tid, link->task.comm);
}

static bool is_in(const struct block *block, const struct link *links, size_t cnt,
		  const struct awaited *who)
{
	for (size_t i = 0; i < cnt; i++)
		if (links[i].task.tid == who->tid)
			return true;
	return who->tid == block->tid;
}

/* For whom does the thread wait, which the one before waits for? */
static bool find_next(const struct blocked_call *call, struct awaited *who)
{
	const struct awaited before = *who;

	return awaited__grabber(before.pid, before.tid, call, before.socket, who) ||
	       awaited__find(before.pid, before.tid, call, NULL, who);
}

/*
 * Adds links from the thread that does this on, after the first one, if the records know it.
 * Returns how many there are then. *ret: for whom the last one waits, or the thread itself.
 */
static size_t follow(const struct block *block, size_t sample, const struct deed *first,
		     struct link *links, size_t cnt, struct awaited *ret)
{
	const struct wait_object *waited = block->samples[sample].waited;
	struct awaited who = { 0 };
	struct deed deed = *first;

	if (cnt)
		who = (struct awaited){ links->task.pid, links->task.tid, .is_thread = true };
	else if (awaited__find(block->pid, block->tid, &first->call, waited ? &waited->raw : NULL,
			       &who) &&
		 !is_in(block, links, 0, &who))
		set_link(&links[cnt++], &who, &block->samples[sample]);
	while (cnt && look(&who, &deed)) {
		set_deed(&links[cnt - 1], &deed);
		if (cnt == CHAIN_MAX || !deed.calls || !find_next(&deed.call, &who) ||
		    is_in(block, links, cnt, &who))
			break;
		set_link(&links[cnt++], &who, &block->samples[sample]);
	}
	*ret = who;
	return cnt;
}

_Static_assert(FD_HOLDER_MAX <= ENDER_MAX, "a record takes all that are found");

/* Those that may end the wait; what has ended since is left out. */
static int set_enders(struct block *block, const struct fd_holders *several)
{
	tasks__free(block->enders, block->ender_cnt);
	block->ender_cnt = 0;
	block->enders = several->cnt ? calloc(several->cnt, sizeof(*block->enders)) : NULL;
	if (several->cnt && !block->enders)
		return -ENOMEM;
	for (unsigned i = 0; i < several->cnt; i++) {
		struct other_task *task = &block->enders[block->ender_cnt];

		task->pid = task->tid = (uint32_t)several->pids[i];
		block->ender_cnt += !threadname__read(PROC, task->pid, task->tid, task->comm);
	}
	if (block->ender_cnt < 2)
		block->ender_cnt = 0;
	return 0;
}

/* Do the records know the holder of the lock that the block waits for now, and no more? */
static bool knows_holder(const struct block *block, size_t sample)
{
	const struct link *first = block->chain;

	return block->chain_cnt == 1 && block->chain_sample == sample && first->task.pid &&
	       first->state == JANK_STATE_CNT;
}

/* Is there room for a chain of the wait? That of a longer wait, which has ended, remains. */
static bool has_room(const struct block *block, size_t sample)
{
	return !block->chain_cnt || knows_holder(block, sample) ||
	       (block->chain_sample != sample && block->chain->ns < block->samples[sample].ns);
}

int partner__find(struct block *block)
{
	size_t sample = block__open_wait(block), known, cnt;
	struct awaited last;
	struct deed before, after;
	struct link *links;

	if (block->type != BLOCK_HANG || block->deadlock || sample == block->sample_cnt ||
	    !has_room(block, sample) || !read_deed(block->pid, block->tid, &before) ||
	    !before.calls)
		return 0;
	links = calloc(CHAIN_MAX, sizeof(*links));
	if (!links)
		return -ENOMEM;
	known = knows_holder(block, sample);
	if (known)
		*links = *block->chain;
	cnt = follow(block, sample, &before, links, known, &last);
	if ((!cnt && !last.several.cnt) || !read_deed(block->pid, block->tid, &after) ||
	    !is_same(&before, &after)) {
		free(links); /* the thread has gone on */
		return 0;
	}
	if (!cnt) {
		free(links);
		return set_enders(block, &last.several);
	}
	if (known)
		block->chain_cnt = 0; /* what the link owns is the new one's */
	links__free(block->chain, block->chain_cnt);
	block->chain = links;
	block->chain_cnt = cnt;
	block->chain_sample = sample;
	block->seen_chain = true;
	return set_enders(block, &last.several);
}
