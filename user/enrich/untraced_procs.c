/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of the untraced processes that the symbolizer knows through this module, with their start
 * times.
 */
#include "enrich/stack_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/file.h"
#include "procfs/procinfo.h"

#define STAT_MAX       4096
#define START_SLACK_NS (20 * NS_PER_MS) /* start times are in clock ticks */
#define NOBODY	       0		/* a pid that no process has */

struct known {
	uint32_t pid; /* 0: free */
	uint64_t start_ticks, used_ns;
};

struct untraced_procs {
	struct symbolizer *symbolizer;
	struct known known[UNTRACED_MAX];
};

struct untraced_procs *untraced_procs__new(struct symbolizer *symbolizer)
{
	struct untraced_procs *procs = calloc(1, sizeof(*procs));

	if (procs)
		procs->symbolizer = symbolizer;
	return procs;
}

void untraced_procs__free(struct untraced_procs *procs)
{
	free(procs);
}

/* Returns 0 if there is no such process. */
static uint64_t start_ticks(uint32_t pid)
{
	struct strbuf sb = STRBUF_INIT;
	struct proc_info info = {};
	char path[32], state;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (file__read(path, STAT_MAX, &sb) || !sb.data ||
	    procinfo__parse_stat(sb.data, &info, &state))
		info.start_ticks = 0;
	strbuf__free(&sb);
	return info.start_ticks;
}

/* True if the process existed at t_ns; otherwise the pid belonged to another process. */
static bool was_there(uint64_t ticks, uint64_t t_ns)
{
	uint64_t start_ns = ticks * (NS_PER_SEC / sysconf(_SC_CLK_TCK));

	return ticks && start_ns <= t_ns + clock__suspended_ns() + START_SLACK_NS;
}

static void forget(struct untraced_procs *procs, struct known *known)
{
	if (known->pid)
		symbolizer__process_gone(procs->symbolizer, known->pid);
	known->pid = 0;
}

static struct known *find(struct untraced_procs *procs, uint32_t pid)
{
	for (size_t i = 0; i < UNTRACED_MAX; i++)
		if (procs->known[i].pid == pid)
			return &procs->known[i];
	return NULL;
}

/* Returns a free slot, or that of the least recently used process. */
static struct known *take_place(struct untraced_procs *procs)
{
	struct known *oldest = &procs->known[0];

	for (size_t i = 0; i < UNTRACED_MAX; i++) {
		if (!procs->known[i].pid)
			return &procs->known[i];
		if (procs->known[i].used_ns < oldest->used_ns)
			oldest = &procs->known[i];
	}
	forget(procs, oldest);
	return oldest;
}

void untraced_procs__sweep(struct untraced_procs *procs, uint64_t now_ns)
{
	for (size_t i = 0; i < UNTRACED_MAX; i++)
		if (procs->known[i].used_ns + UNTRACED_AGE_NS < now_ns)
			forget(procs, &procs->known[i]);
}

/* Enters the process. True if the symbolizer can name it as of t_ns. */
static bool update(struct untraced_procs *procs, uint32_t pid, uint64_t t_ns)
{
	uint64_t now_ns = clock__mono_ns(), ticks = start_ticks(pid);
	struct known *known;

	untraced_procs__sweep(procs, now_ns);
	known = find(procs, pid);
	if (known && known->start_ticks != ticks) { /* ended, or the pid was reused */
		forget(procs, known);
		known = NULL;
	}
	if (!was_there(ticks, t_ns))
		return false;
	if (!known) {
		known = take_place(procs);
		*known = (struct known){ .pid = pid, .start_ticks = ticks };
	}
	known->used_ns = now_ns;
	return true;
}

/* A process that the symbolizer already knows is traced: its exit is reported elsewhere. */
static bool is_traced(struct untraced_procs *procs, uint32_t pid)
{
	return !find(procs, pid) && symbolizer__knows(procs->symbolizer, pid);
}

bool untraced_procs__may_ask(struct untraced_procs *procs, uint32_t pid, uint64_t t_ns)
{
	return pid && (is_traced(procs, pid) || update(procs, pid, t_ns));
}

int untraced_procs__name(void *ctx, uint32_t pid, uint64_t t_ns, struct stack *stack)
{
	struct untraced_procs *procs = ctx;

	if ((!stack->user_cnt && !stack->script_cnt) || !untraced_procs__may_ask(procs, pid, t_ns))
		pid = NOBODY;
	return symbolizer__stack(procs->symbolizer, pid, stack);
}
