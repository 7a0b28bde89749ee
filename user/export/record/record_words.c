/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and values of a record's fields, from the numbers of the model. */
#include "export/record/record.h"

#include <inttypes.h>
#include <string.h>

/*
 * A stack may come without the symbolizer's frames (out of memory, a replay without the files):
 * then its raw addresses are the frames.
 */
size_t stack__frame_cnt(const struct stack *stack)
{
	if (stack->frames)
		return stack->frame_cnt;
	return stack->addresses ? (size_t)stack->kernel_cnt + stack->user_cnt : 0;
}

struct frame stack__frame(const struct stack *stack, size_t i)
{
	if (stack->frames)
		return stack->frames[i];
	return (struct frame){
		.address = stack->addresses[i],
		.kernel = i < stack->kernel_cnt,
	};
}

/* --- waits: the system call decides what an argument means; its name is known here */

static bool has(const struct wait_object *waited, uint16_t flag)
{
	return waited && waited->raw.hdr.flags & flag;
}

int32_t wait__fd(const struct wait_object *waited)
{
	if (!has(waited, JANK_WAITED_FILE) || waited->raw.fd < 0)
		return -1;
	return waited->raw.fd;
}

bool wait__timeout(const struct wait_object *waited, uint64_t *ret_ns)
{
	if (!has(waited, JANK_WAITED_TIMEOUT) || waited->raw.timeout_ns == UINT64_MAX)
		return false;
	*ret_ns = waited->raw.timeout_ns;
	return true;
}

/* System calls that take a number of bytes, with the index of that argument. */
static const struct {
	const char *name;
	unsigned arg;
} counted[] = {
	{ "read", 2 },	   { "write", 2 },  { "pread64", 2 },	{ "pwrite64", 2 },
	{ "recvfrom", 2 }, { "sendto", 2 }, { "readahead", 2 }, { "sendfile", 3 },
};

bool wait__bytes(const struct wait_object *waited, const char *syscall_name, uint64_t *ret)
{
	if (!has(waited, JANK_WAITED_ARGS) || !syscall_name)
		return false;
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
		if (strcmp(counted[i].name, syscall_name))
			continue;
		*ret = waited->raw.args[counted[i].arg];
		return true;
	}
	return false;
}

/* --- priorities: the kernel's scale in the terms of chrt(1) and nice(1) */

#define DEADLINE (JANK_PRIO_OFFSET - 1)
#define REAL_TIME_MAX                                                                              \
	(JANK_PRIO_OFFSET + 99) /* the kernel counts down from 99, the lowest priority */
#define NICE_0	 (JANK_PRIO_OFFSET + 120)
#define NICE_MAX (NICE_0 + 19)

void priority__add(struct strbuf *sb, uint16_t prio)
{
	if (prio < DEADLINE || prio > NICE_MAX)
		return;
	if (prio == DEADLINE)
		strbuf__adds(sb, "deadline");
	else if (prio <= REAL_TIME_MAX)
		strbuf__addf(sb, "real-time %d", REAL_TIME_MAX - prio);
	else
		strbuf__addf(sb, "nice %d", prio - NICE_0);
}

const char *policy__name(uint16_t policy)
{
	static const char *const names[] = { "normal", "fifo", "rr",	   "batch",
					     NULL,     "idle", "deadline", "ext" };

	return policy < sizeof(names) / sizeof(*names) ? names[policy] : NULL;
}

/* --- why stacks end early */

static const struct {
	unsigned bit;
	const char *words;
} reasons[] = {
	{ QUALITY_CUT, "cut at the depth limit" },
	{ QUALITY_NO_USER, "user part unreadable" },
	{ QUALITY_FP, "frame pointers may be missing" },
	{ QUALITY_NO_SAMPLES, "no samples" },
	{ QUALITY_COPY, "truncated copy" },
	{ QUALITY_HOLE, "a page of the stack unreadable" },
	{ QUALITY_NO_TABLE, "no unwind table" },
	{ QUALITY_ASTRAY, "unwind table that leads astray" },
	{ QUALITY_DEEP, "cut at the depth limit" },
};

#define OF_MODULE (QUALITY_NO_TABLE | QUALITY_ASTRAY)

void quality__add(struct strbuf *sb, const struct block *block)
{
	const char *comma = "";

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if (!(block->stack_quality & reasons[i].bit))
			continue;
		strbuf__addf(sb, "%s%s", comma, reasons[i].words);
		if (reasons[i].bit & OF_MODULE && block->quality_module)
			strbuf__addf(sb, " in %s", block->quality_module);
		comma = ", ";
	}
	if (!*comma)
		strbuf__adds(sb, "complete");
}
