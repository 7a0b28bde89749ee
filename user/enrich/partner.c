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

static size_t open_wait(const struct block *block)
{
	size_t i = 0;

	while (i < block->sample_cnt &&
	       (!block->samples[i].open || block->samples[i].state < JANK_STATE_FIRST_BLOCKED))
		i++;
	return i;
}

static bool is_in(const struct block *block, size_t cnt, const struct awaited *who)
{
	for (size_t i = 0; i < cnt; i++)
		if (block->chain[i].task.tid == who->tid)
			return true;
	return who->tid == block->tid;
}

/* The first thread that ends the wait is the peer of its socket, if that is known. */
static bool find_first(const struct block *block, size_t sample, const struct deed *deed,
		       struct awaited *ret)
{
	const struct wait_object *waited = block->samples[sample].waited;

	if (awaited__find(block->pid, block->tid, &deed->call, ret))
		return true;
	*ret = (struct awaited){ .pid = waited ? waited->peer_task.pid : 0 };
	ret->tid = ret->pid;
	return ret->pid;
}

/* Adds links from the thread that does this on. Returns how many. */
static size_t follow(struct block *block, size_t sample, const struct deed *first)
{
	size_t cnt = block->chain_cnt;
	struct awaited who = { 0 };
	struct deed deed = *first;

	if (cnt) { /* the records know the holder of the first lock, no more */
		who = (struct awaited){ block->chain[0].task.pid, block->chain[0].task.tid,
					.is_thread = true };
	} else if (find_first(block, sample, first, &who) && !is_in(block, 0, &who)) {
		set_link(&block->chain[cnt++], &who, &block->samples[sample]);
	}
	while (cnt && look(&who, &deed)) {
		set_deed(&block->chain[cnt - 1], &deed);
		if (cnt == CHAIN_MAX || !deed.calls ||
		    !awaited__find(who.pid, who.tid, &deed.call, &who) || is_in(block, cnt, &who))
			break;
		set_link(&block->chain[cnt++], &who, &block->samples[sample]);
	}
	return cnt;
}

/* Does the block wait now, and do the records know at most the lock's holder of its chain? */
static bool may_go_on(const struct block *block, size_t sample)
{
	const struct link *first = block->chain;

	if (sample == block->sample_cnt || block->deadlock || block->chain_cnt > 1)
		return false;
	return !block->chain_cnt ||
	       (block->chain_sample == sample && first->task.pid && first->state == JANK_STATE_CNT);
}

/* The thread has gone on meanwhile. cnt: links of the records. */
static void drop_seen(struct block *block, size_t cnt)
{
	links__cut(&block->chain, &block->chain_cnt, cnt);
	block->seen_chain = false;
	if (!cnt)
		return;
	block->chain->state = JANK_STATE_CNT;
	block->chain->syscall = -1;
	block->chain->syscall_name = NULL;
}

int partner__find(struct block *block)
{
	size_t sample = open_wait(block), cnt = block->chain_cnt;
	struct deed before, after;

	if (block->type != BLOCK_HANG || !may_go_on(block, sample) ||
	    !read_deed(block->pid, block->tid, &before) || !before.calls)
		return 0;
	if (!block->chain)
		block->chain = calloc(CHAIN_MAX, sizeof(*block->chain));
	if (!block->chain)
		return -ENOMEM;
	block->chain_sample = sample;
	block->chain_cnt = follow(block, sample, &before);
	block->seen_chain = block->chain_cnt;
	if (!block->chain_cnt || !read_deed(block->pid, block->tid, &after) ||
	    !is_same(&before, &after))
		drop_seen(block, cnt);
	return 0;
}
