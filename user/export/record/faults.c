/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/record/faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "export/values.h"
#include "model/hist.h"

/* Blocks of a signature, to number them. */
struct signature {
	UT_hash_handle hh;
	uint64_t cnt;
	char text[]; /* with its NUL */
};

struct group {
	UT_hash_handle hh;
	struct durations delays;
	Jankbpf__Fault *fault; /* owned, as protobuf-c unpacks it */
	char key[];	       /* "": not known */
};

/* A hang whose block has not come yet. */
struct open_hang {
	UT_hash_handle hh;
	Jankbpf__Fault *fault; /* owned */
	char id[];
};

struct faults {
	enum fault_group by;
	struct signature *signatures;
	struct group *groups;
	struct open_hang *hangs;
	uint64_t more_cnt;
};

static const char *const words[] = {
	[FAULT_GROUP_SIGNATURE] = "signature",
	[FAULT_GROUP_PROCESS] = "process",
	[FAULT_GROUP_LOOP] = "loop",
	[FAULT_GROUP_MESSAGE] = "message",
};

struct faults *faults__new(enum fault_group by)
{
	struct faults *ret = calloc(1, sizeof(*ret));

	if (ret)
		ret->by = by;
	return ret;
}

static void free_fault(Jankbpf__Fault *fault)
{
	if (fault)
		jankbpf__fault__free_unpacked(fault, NULL);
}

static void free_group(struct group *group)
{
	free_fault(group->fault);
	free(group);
}

static void free_hang(struct open_hang *hang)
{
	free_fault(hang->fault);
	free(hang);
}

void faults__free(struct faults *faults)
{
	struct signature *signature, *next_signature;
	struct group *group, *next_group;
	struct open_hang *hang, *next_hang;

	if (!faults)
		return;
	HASH_ITER (hh, faults->signatures, signature, next_signature) {
		HASH_DEL(faults->signatures, signature);
		free(signature);
	}
	HASH_ITER (hh, faults->groups, group, next_group) {
		HASH_DEL(faults->groups, group);
		free_group(group);
	}
	HASH_ITER (hh, faults->hangs, hang, next_hang) {
		HASH_DEL(faults->hangs, hang);
		free_hang(hang);
	}
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

/* A copy that owns its strings. NULL: out of memory. */
static Jankbpf__Fault *copy_of(const Jankbpf__Fault *fault)
{
	size_t size = jankbpf__fault__get_packed_size(fault);
	uint8_t *bytes = malloc(size + 1);
	Jankbpf__Fault *ret = NULL;

	if (bytes) {
		jankbpf__fault__pack(fault, bytes);
		ret = jankbpf__fault__unpack(NULL, size, bytes);
	}
	free(bytes);
	return ret;
}

static struct group *find_group(const struct faults *faults, const char *key)
{
	struct group *ret;

	HASH_FIND_STR(faults->groups, key, ret);
	return ret;
}

/* NULL: too many, or out of memory. */
static struct group *add_group(struct faults *faults, const char *key, Jankbpf__Fault *fault)
{
	struct group *group = NULL;

	if (HASH_COUNT(faults->groups) < FAULTS_MAX)
		group = calloc(1, sizeof(*group) + strlen(key) + 1);
	if (group) {
		strcpy(group->key, key);
		HASH_ADD_STR(faults->groups, key, group);
	}
	if (group)
		group->fault = fault;
	return group;
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
	copy = copy_of(&merged);
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
	const char *key = fault->key ?: "";
	struct group *group = find_group(faults, key);
	Jankbpf__Fault *copy;

	if (group) {
		if (fault->max_ns > group->fault->max_ns)
			return replace(group, fault) ? NULL : group;
		return set_last(group->fault, fault->last) ? NULL : group;
	}
	copy = copy_of(fault);
	group = copy ? add_group(faults, key, copy) : NULL;
	if (!group)
		free_fault(copy);
	return group;
}

/* --- blocks */

/* 0: not numbered. */
static uint64_t number(struct faults *faults, const char *text)
{
	struct signature *signature;

	HASH_FIND_STR(faults->signatures, text, signature);
	if (!signature && HASH_COUNT(faults->signatures) < SIGNATURES_MAX &&
	    (signature = calloc(1, sizeof(*signature) + strlen(text) + 1))) {
		strcpy(signature->text, text);
		HASH_ADD_STR(faults->signatures, text, signature);
	}
	return signature ? ++signature->cnt : 0;
}

static void end_hang(struct faults *faults, const char *id)
{
	struct open_hang *hang = NULL;

	if (id)
		HASH_FIND_STR(faults->hangs, id, hang);
	if (!hang)
		return;
	HASH_DEL(faults->hangs, hang);
	free_hang(hang);
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
		res = HASH_COUNT(faults->groups) < FAULTS_MAX ? -ENOMEM : 0;
	}
	strbuf__free(&key);
	return res;
}

int faults__add_hang(struct faults *faults, const Jankbpf__Block *block)
{
	struct strbuf key = STRBUF_INIT;
	struct open_hang *hang = NULL;
	Jankbpf__Fault fault;

	if (!block->id)
		return 0;
	end_hang(faults, block->id); /* an earlier report of it */
	if (HASH_COUNT(faults->hangs) >= OPEN_HANGS_MAX)
		return 0;
	add_key(faults, &key, block);
	fault = fault_of(block, strbuf__str(&key));
	hang = key.failed ? NULL : calloc(1, sizeof(*hang) + strlen(block->id) + 1);
	if (hang) {
		strcpy(hang->id, block->id);
		HASH_ADD_STR(faults->hangs, id, hang);
	}
	if (hang)
		hang->fault = copy_of(&fault);
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
	struct open_hang *hang, *next;

	HASH_ITER (hh, faults->hangs, hang, next) {
		struct group *group = hang->fault ? take(faults, hang->fault) : NULL;

		if (!group && HASH_COUNT(faults->groups) < FAULTS_MAX)
			return -ENOMEM;
		if (group) {
			group->fault->hangs++;
			group->fault->has_hangs = true;
		}
		HASH_DEL(faults->hangs, hang);
		free_hang(hang);
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

	*ret = calloc(HASH_COUNT(faults->groups) + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (group = faults->groups; group; group = group->hh.next) {
		Jankbpf__Fault *fault = group->fault;

		fault->has_p50_ns = durations__quantile(&group->delays, 500, &fault->p50_ns);
		(*ret)[cnt++] = fault;
	}
	qsort(*ret, cnt, sizeof(**ret), orders[order]);
	*ret_cnt = cnt;
	return res;
}
