/* SPDX-License-Identifier: GPL-2.0 */
/* A small table beside the symbolizer's: which processes it knows through us, and when they started. */
#include "enrich/untraced_procs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "procfs/procinfo.h"

#define STAT_MAX       4096
#define START_SLACK_NS (20 * NS_PER_MS) /* a start is told in clock ticks */
#define NOBODY	       0		/* a pid that no process has */

struct known {
	uint32_t pid; /* 0: free */
	uint64_t start_ticks, used_ns;
};

struct foreign {
	struct symbolizer *symbolizer;
	struct known known[FOREIGN_MAX];
};

struct foreign *foreign__new(struct symbolizer *symbolizer)
{
	struct foreign *foreign = calloc(1, sizeof(*foreign));

	if (foreign)
		foreign->symbolizer = symbolizer;
	return foreign;
}

void foreign__free(struct foreign *foreign)
{
	free(foreign);
}

/* 0: there is no such process. */
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

/* At t_ns; else the number was another's then. */
static bool was_there(uint64_t ticks, uint64_t t_ns)
{
	uint64_t start_ns = ticks * (NS_PER_SEC / sysconf(_SC_CLK_TCK));

	return ticks && start_ns <= t_ns + clock__suspended_ns() + START_SLACK_NS;
}

static void forget(struct foreign *foreign, struct known *known)
{
	if (known->pid)
		symbolizer__process_gone(foreign->symbolizer, known->pid);
	known->pid = 0;
}

static struct known *find(struct foreign *foreign, uint32_t pid)
{
	for (size_t i = 0; i < FOREIGN_MAX; i++)
		if (foreign->known[i].pid == pid)
			return &foreign->known[i];
	return NULL;
}

/* A free place, or that of the one which was asked for least recently. */
static struct known *take_place(struct foreign *foreign)
{
	struct known *oldest = &foreign->known[0];

	for (size_t i = 0; i < FOREIGN_MAX; i++) {
		if (!foreign->known[i].pid)
			return &foreign->known[i];
		if (foreign->known[i].used_ns < oldest->used_ns)
			oldest = &foreign->known[i];
	}
	forget(foreign, oldest);
	return oldest;
}

void foreign__sweep(struct foreign *foreign, uint64_t now_ns)
{
	for (size_t i = 0; i < FOREIGN_MAX; i++)
		if (foreign->known[i].used_ns + FOREIGN_AGE_NS < now_ns)
			forget(foreign, &foreign->known[i]);
}

/* Whether the symbolizer may be asked for the process as it was at t_ns. */
static bool meet(struct foreign *foreign, uint32_t pid, uint64_t t_ns)
{
	uint64_t now_ns = clock__mono_ns(), ticks = start_ticks(pid);
	struct known *known;

	foreign__sweep(foreign, now_ns);
	known = find(foreign, pid);
	if (known && known->start_ticks != ticks) { /* ended; or another one has its number */
		forget(foreign, known);
		known = NULL;
	}
	if (!was_there(ticks, t_ns))
		return false;
	if (!known) {
		known = take_place(foreign);
		*known = (struct known){ .pid = pid, .start_ticks = ticks };
	}
	known->used_ns = now_ns;
	return true;
}

/* One that the symbolizer knows already is traced: its end will be told. */
static bool is_traced(struct foreign *foreign, uint32_t pid)
{
	return !find(foreign, pid) && symbolizer__knows(foreign->symbolizer, pid);
}

bool foreign__may_ask(struct foreign *foreign, uint32_t pid, uint64_t t_ns)
{
	return pid && (is_traced(foreign, pid) || meet(foreign, pid, t_ns));
}

int foreign__name(void *ctx, uint32_t pid, uint64_t t_ns, struct stack *stack)
{
	struct foreign *foreign = ctx;

	if ((!stack->user_cnt && !stack->script_cnt) || !foreign__may_ask(foreign, pid, t_ns))
		pid = NOBODY;
	return symbolizer__stack(foreign->symbolizer, pid, stack);
}
