/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/record/faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/groups.h"
#include "base/proto.h"
#include "base/strbuf.h"
#include "export/values.h"
#include "model/hist.h"

/* Blocks of a signature, to number them. */
struct signature {
	struct group_node node; /* by its text */
	uint64_t cnt;
};

/* Blocks of a key; "": it is not known. Or a hang, by its id, whose block has not come yet. */
struct group {
	struct group_node node;
	struct durations delays;
	Jankbpf__Fault *fault; /* owned, as protobuf-c unpacks it */
};

struct faults {
	enum fault_group by;
	struct groups signatures, groups, hangs;
	uint64_t more_cnt;
};

static const char *const words[] = {
	[FAULT_GROUP_SIGNATURE] = "signature",
	[FAULT_GROUP_PROCESS] = "process",
	[FAULT_GROUP_LOOP] = "loop",
	[FAULT_GROUP_MESSAGE] = "message",
};

static void free_fault(Jankbpf__Fault *fault)
{
	if (fault)
		jankbpf__fault__free_unpacked(fault, NULL);
}

static void clear_group(void *group)
{
	free_fault(((struct group *)group)->fault);
}

struct faults *faults__new(enum fault_group by)
{
	struct faults *ret = calloc(1, sizeof(*ret));

	if (!ret)
		return NULL;
	ret->by = by;
	groups__init(&ret->signatures, sizeof(struct signature), SIGNATURES_MAX, NULL);
	groups__init(&ret->groups, sizeof(struct group), FAULTS_MAX, clear_group);
	groups__init(&ret->hangs, sizeof(struct group), OPEN_HANGS_MAX, clear_group);
	return ret;
}

void faults__free(struct faults *faults)
{
	if (!faults)
		return;
	groups__free(&faults->signatures);
	groups__free(&faults->groups);
	groups__free(&faults->hangs);
	free(faults);
}

const char *faults__grouped_by(const struct faults *faults)
{
	return words[faults->by];
}

uint64_t faults__more(const struct faults *faults)
{
	return faults->more_cnt;
}

/* --- the key of a block */

/* Without numbers of descriptors and connections: those would make a group of each. */
static void add_message(struct strbuf *sb, const Jankbpf__Message *message)
{
	const Jankbpf__Symbol *function = NULL;

	if (!message)
		return;
	function = message->handler ?: message->callback;
	if (message->what)
		strbuf__adds(sb, message->what);
	if (message->what && function)
		strbuf__adds(sb, " to ");
	if (function)
		symbol__add(sb, function);
	if (!message->what && !function && message->fd_target)
		strbuf__add(sb, message->fd_target, strcspn(message->fd_target, " "));
}

static void add_key(const struct faults *faults, struct strbuf *sb, const Jankbpf__Block *block)
{
	const char *key = NULL;

	switch (faults->by) {
	case FAULT_GROUP_SIGNATURE:
		key = block->cause ? block->cause->signature : NULL;
		break;
	case FAULT_GROUP_PROCESS:
		key = block->process;
		break;
	case FAULT_GROUP_LOOP:
		key = block->loop;
		break;
	case FAULT_GROUP_MESSAGE:
		add_message(sb, block->message);
		break;
	}
	if (key)
		strbuf__adds(sb, key);
}

/* --- groups */

/* Borrows from the block and from key. */
static Jankbpf__Fault fault_of(const Jankbpf__Block *block, const char *key)
{
	static Jankbpf__Cause unknown = JANKBPF__CAUSE__INIT;
	const Jankbpf__Cause *cause = block->cause ?: &unknown;
	Jankbpf__Fault ret = JANKBPF__FAULT__INIT;

	ret.key = *key ? (char *)key : NULL;
	ret.has_blocks = ret.has_total_ns = ret.has_max_ns = true;
	ret.max_ns = value__delay(block);
	ret.kind = cause->kind;
	ret.summary = cause->summary;
	ret.frame = cause->frame;
	ret.signature = cause->signature;
	ret.has_signature_version = cause->has_signature_version;
	ret.signature_version = cause->signature_version;
	ret.process = block->process;
	ret.has_pid = block->has_pid;
	ret.pid = block->pid;
	ret.loop = block->loop;
	ret.id = block->id;
	ret.first = ret.last = block->start;
	return ret;
}

/* Counts go on; the texts become those of the longer block. 0 or -ENOMEM. */
static int replace(struct group *group, const Jankbpf__Fault *longer)
{
	const Jankbpf__Fault *old = group->fault;
	Jankbpf__Fault merged = *longer, *copy;

	merged.blocks = old->blocks;
	merged.has_hangs = old->has_hangs;
	merged.hangs = old->hangs;
	merged.total_ns = old->total_ns;
	merged.has_behind = old->has_behind;
	merged.behind = old->behind;
	merged.first = old->first;
	copy = proto__copy(&merged.base);
	if (!copy)
		return -ENOMEM;
	free_fault(group->fault);
	group->fault = copy;
	return 0;
}

static int set_last(Jankbpf__Fault *fault, const char *start)
{
	char *copy = start ? strdup(start) : NULL;

	if (start && !copy)
		return -ENOMEM;
	free(fault->last);
	fault->last = copy;
	return 0;
}

/* The group of a new block or hang, whose texts it takes if they are longer. NULL: none. */
static struct group *take(struct faults *faults, const Jankbpf__Fault *fault)
{
	struct group *group = groups__get_text(&faults->groups, fault->key ?: "");

	if (!group)
		return NULL;
	if (!group->fault) {
		group->fault = proto__copy(&fault->base);
		if (group->fault)
			return group;
		groups__drop(&faults->groups, group);
		return NULL;
	}
	if (fault->max_ns > group->fault->max_ns)
		return replace(group, fault) ? NULL : group;
	return set_last(group->fault, fault->last) ? NULL : group;
}

/* --- blocks */

/* 0: not numbered. */
static uint64_t number(struct faults *faults, const char *text)
{
	struct signature *signature = groups__get_text(&faults->signatures, text);

	return signature ? ++signature->cnt : 0;
}

static void end_hang(struct faults *faults, const char *id)
{
	struct group *hang = id ? groups__find_text(&faults->hangs, id) : NULL;

	if (hang)
		groups__drop(&faults->hangs, hang);
}

int faults__add(struct faults *faults, Jankbpf__Block *block)
{
	struct strbuf key = STRBUF_INIT;
	struct group *group = NULL;
	Jankbpf__Fault fault;
	int res = 0;

	if (block->cause && block->cause->signature)
		block->occurrence = number(faults, block->cause->signature);
	block->has_occurrence = !!block->occurrence;
	end_hang(faults, block->id);
	add_key(faults, &key, block);
	fault = fault_of(block, strbuf__str(&key));
	if (!key.failed)
		group = take(faults, &fault);
	if (group) {
		group->fault->blocks++;
		group->fault->total_ns += value__delay(block);
		group->fault->behind += block->behind;
		group->fault->has_behind = !!group->fault->behind;
		durations__add_one(&group->delays, value__delay(block));
	} else {
		faults->more_cnt++;
		res = groups__is_full(&faults->groups) ? 0 : -ENOMEM;
	}
	strbuf__free(&key);
	return res;
}

int faults__add_hang(struct faults *faults, const Jankbpf__Block *block)
{
	struct strbuf key = STRBUF_INIT;
	struct group *hang = NULL;
	Jankbpf__Fault fault;

	if (!block->id)
		return 0;
	end_hang(faults, block->id); /* an earlier report of it */
	if (groups__is_full(&faults->hangs))
		return 0;
	add_key(faults, &key, block);
	fault = fault_of(block, strbuf__str(&key));
	hang = key.failed ? NULL : groups__get_text(&faults->hangs, block->id);
	if (hang)
		hang->fault = proto__copy(&fault.base);
	strbuf__free(&key);
	return hang && hang->fault ? 0 : -ENOMEM;
}

/* --- the list */

static int compare(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int by_total(const void *pa, const void *pb)
{
	const Jankbpf__Fault *a = *(Jankbpf__Fault *const *)pa, *b = *(Jankbpf__Fault *const *)pb;

	return compare(a->total_ns, b->total_ns) ?: compare(a->max_ns, b->max_ns);
}

static int by_blocks(const void *pa, const void *pb)
{
	const Jankbpf__Fault *a = *(Jankbpf__Fault *const *)pa, *b = *(Jankbpf__Fault *const *)pb;

	return compare(a->blocks, b->blocks) ?: by_total(pa, pb);
}

static int by_max(const void *pa, const void *pb)
{
	const Jankbpf__Fault *a = *(Jankbpf__Fault *const *)pa, *b = *(Jankbpf__Fault *const *)pb;

	return compare(a->max_ns, b->max_ns) ?: by_total(pa, pb);
}

/* RFC 3339 in one time zone sorts as text. */
static int by_last(const void *pa, const void *pb)
{
	const Jankbpf__Fault *a = *(Jankbpf__Fault *const *)pa, *b = *(Jankbpf__Fault *const *)pb;

	return strcmp(b->last ?: "", a->last ?: "") ?: by_total(pa, pb);
}

static int count_hangs(struct faults *faults)
{
	struct group *hang, *next;

	GROUPS_EACH_SAFE(&faults->hangs, hang, next)
	{
		struct group *group = hang->fault ? take(faults, hang->fault) : NULL;

		if (!group && !groups__is_full(&faults->groups))
			return -ENOMEM;
		if (group) {
			group->fault->hangs++;
			group->fault->has_hangs = true;
		}
		groups__drop(&faults->hangs, hang);
	}
	return 0;
}

int faults__list(struct faults *faults, enum fault_order order, Jankbpf__Fault ***ret,
		 size_t *ret_cnt)
{
	static int (*const orders[])(const void *, const void *) = {
		[FAULT_ORDER_TOTAL] = by_total,
		[FAULT_ORDER_BLOCKS] = by_blocks,
		[FAULT_ORDER_MAX] = by_max,
		[FAULT_ORDER_LAST] = by_last,
	};
	int res = count_hangs(faults);
	const struct group *group;
	size_t cnt = 0;

	*ret = calloc(groups__cnt(&faults->groups) + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	GROUPS_EACH(&faults->groups, group)
	{
		Jankbpf__Fault *fault = group->fault;

		fault->has_p50_ns = durations__quantile(&group->delays, 500, &fault->p50_ns);
		(*ret)[cnt++] = fault;
	}
	qsort(*ret, cnt, sizeof(**ret), orders[order]);
	*ret_cnt = cnt;
	return res;
}
