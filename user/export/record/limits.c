/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/record/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/groups.h"
#include "base/strbuf.h"
#include "export/values.h"
#include "files/bucket.h"

#define WINDOW_NS (3600 * NS_PER_SEC)
#define TOKEN	  1000000ull /* a record, in the bucket: it counts in whole numbers */

/* Written records of a fault; hangs of a fault count by themselves. */
struct fault_count {
	struct group_node node;
	uint64_t window_ns; /* begin of the hour */
	unsigned cnt;	    /* in it */
	uint64_t worst_ns;  /* of all written ones */
};

struct left_out {
	struct group_node node;
	Jankbpf__LeftOut *message; /* owned, as protobuf-c unpacks it */
};

struct limits {
	struct groups faults, left_out;
	struct bucket bucket;
	struct limit_counts counts, told; /* told: at the end of the last interval */
};

static void clear_left_out(void *entry)
{
	Jankbpf__LeftOut *message = ((struct left_out *)entry)->message;

	if (message)
		jankbpf__left_out__free_unpacked(message, NULL);
}

struct limits *limits__new(void)
{
	struct limits *ret = calloc(1, sizeof(*ret));

	if (!ret)
		return NULL;
	groups__init(&ret->faults, sizeof(struct fault_count), LIMITS_FAULTS_MAX, NULL);
	groups__init(&ret->left_out, sizeof(struct left_out), LIMITS_LEFT_OUT_MAX - 1,
		     clear_left_out);
	return ret;
}

void limits__end_interval(struct limits *limits)
{
	groups__free(&limits->left_out);
	limits->told = limits->counts;
}

void limits__free(struct limits *limits)
{
	if (!limits)
		return;
	groups__free(&limits->left_out);
	groups__free(&limits->faults);
	free(limits);
}

/* --- the limits */

static const Jankbpf__Block *block_of(const Jankbpf__Record *record)
{
	return record->type_case == JANKBPF__RECORD__TYPE_HANG ? record->hang : record->block;
}

/* NULL: out of memory. */
static struct fault_count *find_fault(struct limits *limits, const Jankbpf__Record *record)
{
	struct strbuf key = STRBUF_INIT;
	struct fault_count *fault = NULL;

	strbuf__adds(&key, record->type_case == JANKBPF__RECORD__TYPE_HANG ? "hang " : "");
	strbuf__adds(&key, value__signature(block_of(record)));
	if (!key.failed)
		fault = groups__get_text(&limits->faults, strbuf__str(&key));
	if (!fault && groups__is_full(&limits->faults))
		fault = groups__get_rest_text(&limits->faults, "others");
	strbuf__free(&key);
	return fault;
}

static bool is_over(struct fault_count *fault, unsigned max, uint64_t now_ns)
{
	if (!fault->window_ns || now_ns - fault->window_ns >= WINDOW_NS) {
		fault->window_ns = now_ns;
		fault->cnt = 0;
	}
	return max && fault->cnt >= max;
}

static bool takes_token(struct limits *limits, unsigned per_s, uint64_t now_ns)
{
	const struct bucket_rate rate = { per_s * TOKEN, per_s * TOKEN };

	if (!per_s)
		return true;
	if (bucket__left(&limits->bucket, rate, now_ns) < TOKEN)
		return false;
	bucket__take(&limits->bucket, TOKEN);
	return true;
}

/* --- what is over them */

static int copy(char **ret, const char *text)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

/* NULL: out of memory. Without a block: the entry of further ones. */
static Jankbpf__LeftOut *message_of(const Jankbpf__Block *block)
{
	Jankbpf__LeftOut *ret = malloc(sizeof(*ret));
	const Jankbpf__Cause *cause = block ? block->cause : NULL;
	int res = 0;

	if (!ret)
		return NULL;
	jankbpf__left_out__init(ret);
	ret->has_blocks = ret->has_total_ns = ret->has_max_ns = true;
	if (block)
		res = copy(&ret->process, block->process) ?: copy(&ret->unit, block->unit)
				?: copy(&ret->loop, block->loop);
	ret->has_signature_version = cause && cause->has_signature_version;
	ret->signature_version = cause ? cause->signature_version : 0;
	if (!res && cause)
		res = copy(&ret->signature, cause->signature) ?: copy(&ret->kind, cause->kind)
				?: copy(&ret->function, cause->frame ? cause->frame->function : NULL);
	if (!res)
		return ret;
	jankbpf__left_out__free_unpacked(ret, NULL);
	return NULL;
}

/* NULL: out of memory. */
static struct left_out *find_entry(struct limits *limits, const Jankbpf__Block *block)
{
	struct strbuf key = STRBUF_INIT;
	struct left_out *entry = NULL;

	strbuf__addf(&key, "%s\n%s\n%s\n%s", value__signature(block), block->process ?: "",
		     block->unit ?: "", block->loop ?: "");
	if (!key.failed)
		entry = groups__get_text(&limits->left_out, strbuf__str(&key));
	if (!entry && groups__is_full(&limits->left_out)) {
		block = NULL;
		entry = groups__get_rest_text(&limits->left_out, "");
	}
	strbuf__free(&key);
	if (!entry || entry->message)
		return entry;
	entry->message = message_of(block);
	if (entry->message)
		return entry;
	groups__drop(&limits->left_out, entry);
	return NULL;
}

/* Without memory it is counted in all only. */
static void leave_out(struct limits *limits, const Jankbpf__Record *record, uint64_t *cnt)
{
	struct left_out *entry;
	uint64_t delay_ns;

	++*cnt;
	if (record->type_case == JANKBPF__RECORD__TYPE_HANG)
		return;
	entry = find_entry(limits, record->block);
	if (!entry)
		return;
	delay_ns = value__delay(record->block);
	entry->message->blocks++;
	entry->message->total_ns += delay_ns;
	if (delay_ns > entry->message->max_ns)
		entry->message->max_ns = delay_ns;
}

bool limits__takes(struct limits *limits, struct limit_rates rates, const Jankbpf__Record *record,
		   uint64_t now_ns)
{
	struct fault_count *fault = find_fault(limits, record);
	uint64_t delay_ns = value__delay(block_of(record));

	if (fault && is_over(fault, rates.per_signature, now_ns) && delay_ns <= fault->worst_ns) {
		leave_out(limits, record, &limits->counts.per_signature);
		return false;
	}
	if (!takes_token(limits, rates.per_s, now_ns)) {
		leave_out(limits, record, &limits->counts.per_s);
		return false;
	}
	if (!fault)
		return true;
	fault->cnt++;
	if (delay_ns > fault->worst_ns)
		fault->worst_ns = delay_ns;
	return true;
}

struct limit_counts limits__counts(const struct limits *limits, bool of_run)
{
	const struct limit_counts *all = &limits->counts, *told = &limits->told;

	if (of_run)
		return *all;
	return (struct limit_counts){ all->per_signature - told->per_signature,
				      all->per_s - told->per_s };
}

int limits__left_out(const struct limits *limits, Jankbpf__LeftOut ***ret, size_t *ret_cnt)
{
	const struct left_out *entry;
	size_t cnt = 0;

	*ret = calloc(groups__cnt(&limits->left_out) + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	GROUPS_EACH(&limits->left_out, entry)
	(*ret)[cnt++] = entry->message;
	*ret_cnt = cnt;
	return 0;
}
