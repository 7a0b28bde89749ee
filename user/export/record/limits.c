/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/record/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "files/bucket.h"

#define WINDOW_NS (3600 * NS_PER_SEC)
#define TOKEN	  1000000ull /* a record, in the bucket: it counts in whole numbers */

/* Written records of a fault; hangs of a fault count by themselves. */
struct fault_count {
	UT_hash_handle hh;
	uint64_t window_ns; /* begin of the hour */
	unsigned cnt;	    /* in it */
	uint64_t worst_ns;  /* of all written ones */
	char key[];
};

struct left_out {
	UT_hash_handle hh;
	Jankbpf__LeftOut *message; /* owned, as protobuf-c unpacks it */
	char key[];
};

struct limits {
	struct fault_count *faults;
	struct left_out *left_out;
	struct bucket bucket;
	struct limit_counts counts, told; /* told: at the end of the last interval */
};

struct limits *limits__new(void)
{
	return calloc(1, sizeof(struct limits));
}

void limits__end_interval(struct limits *limits)
{
	struct left_out *entry, *next;

	HASH_ITER (hh, limits->left_out, entry, next) {
		HASH_DEL(limits->left_out, entry);
		jankbpf__left_out__free_unpacked(entry->message, NULL);
		free(entry);
	}
	limits->told = limits->counts;
}

void limits__free(struct limits *limits)
{
	struct fault_count *fault, *next;

	if (!limits)
		return;
	limits__end_interval(limits);
	HASH_ITER (hh, limits->faults, fault, next) {
		HASH_DEL(limits->faults, fault);
		free(fault);
	}
	free(limits);
}

/* --- the limits */

static const Jankbpf__Block *block_of(const Jankbpf__Record *record)
{
	return record->type_case == JANKBPF__RECORD__TYPE_HANG ? record->hang : record->block;
}

static const char *signature_of(const Jankbpf__Block *block)
{
	return block->cause && block->cause->signature ? block->cause->signature : "";
}

static uint64_t delay_of(const Jankbpf__Block *block)
{
	return block->has_delay_ns ? block->delay_ns : block->duration_ns;
}

static struct fault_count *add_fault(struct limits *limits, const char *key)
{
	struct fault_count *fault = calloc(1, sizeof(*fault) + strlen(key) + 1);

	if (!fault)
		return NULL;
	strcpy(fault->key, key);
	HASH_ADD_STR(limits->faults, key, fault);
	return fault;
}

/* NULL: out of memory. */
static struct fault_count *find_fault(struct limits *limits, const Jankbpf__Record *record)
{
	struct strbuf key = STRBUF_INIT;
	struct fault_count *fault;

	strbuf__adds(&key, record->type_case == JANKBPF__RECORD__TYPE_HANG ? "hang " : "");
	strbuf__adds(&key, signature_of(block_of(record)));
	HASH_FIND_STR(limits->faults, strbuf__str(&key), fault);
	if (!fault && HASH_COUNT(limits->faults) >= LIMITS_FAULTS_MAX) {
		strbuf__reset(&key);
		strbuf__adds(&key, "others");
		HASH_FIND_STR(limits->faults, strbuf__str(&key), fault);
	}
	if (!fault && !key.failed)
		fault = add_fault(limits, strbuf__str(&key));
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

static struct left_out *add_entry(struct limits *limits, const char *key,
				  const Jankbpf__Block *block)
{
	struct left_out *entry = calloc(1, sizeof(*entry) + strlen(key) + 1);

	if (entry)
		entry->message = message_of(block);
	if (!entry || !entry->message) {
		free(entry);
		return NULL;
	}
	strcpy(entry->key, key);
	HASH_ADD_STR(limits->left_out, key, entry);
	return entry;
}

static struct left_out *find_entry(struct limits *limits, const Jankbpf__Block *block)
{
	struct strbuf key = STRBUF_INIT;
	struct left_out *entry;

	strbuf__addf(&key, "%s\n%s\n%s\n%s", signature_of(block), block->process ?: "",
		     block->unit ?: "", block->loop ?: "");
	HASH_FIND_STR(limits->left_out, strbuf__str(&key), entry);
	if (!entry && HASH_COUNT(limits->left_out) >= LIMITS_LEFT_OUT_MAX - 1) {
		strbuf__reset(&key);
		block = NULL;
		HASH_FIND_STR(limits->left_out, "", entry);
	}
	if (!entry && !key.failed)
		entry = add_entry(limits, strbuf__str(&key), block);
	strbuf__free(&key);
	return entry;
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
	delay_ns = delay_of(record->block);
	entry->message->blocks++;
	entry->message->total_ns += delay_ns;
	if (delay_ns > entry->message->max_ns)
		entry->message->max_ns = delay_ns;
}

bool limits__takes(struct limits *limits, struct limit_rates rates, const Jankbpf__Record *record,
		   uint64_t now_ns)
{
	struct fault_count *fault = find_fault(limits, record);
	uint64_t delay_ns = delay_of(block_of(record));

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
	size_t cnt = 0;

	*ret = calloc(HASH_COUNT(limits->left_out) + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (struct left_out *entry = limits->left_out; entry; entry = entry->hh.next)
		(*ret)[cnt++] = entry->message;
	*ret_cnt = cnt;
	return 0;
}
