/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables over the journal's JSON. The parsed trees are kept and pointed into: a frame's strings live as
 * long as the table.
 */
#include "app/recorded.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "app/recorded_message.h"
#include "intake/journal.h"

#define INLINED_MAX 64 /* frames at one address */

/* pid and address of frames; tid, kind and start of a load; pid alone of a process */
struct key {
	uint64_t a, b, kind;
};

struct entry {
	struct key key;
	json_t *json;
	struct identity process; /* of JOURNAL_PROCESS */
	UT_hash_handle hh;
};

struct recorded {
	struct recorded_session session;
	struct entry *entries;
	json_t *session_json, *end_json;
};

struct recorded *recorded__new(void)
{
	struct recorded *r = calloc(1, sizeof(*r));

	if (r)
		r->session.fps = 60;
	return r;
}

void recorded__free(struct recorded *r)
{
	struct entry *entry, *next;

	if (!r)
		return;
	HASH_ITER (hh, r->entries, entry, next) {
		HASH_DEL(r->entries, entry);
		json_decref(entry->json);
		free(entry);
	}
	json_decref(r->session_json);
	json_decref(r->end_json);
	free(r);
}

static char *text(json_t *json, const char *key)
{
	return (char *)json_string_value(json_object_get(json, key));
}

static uint64_t number(json_t *json, const char *key)
{
	return json_integer_value(json_object_get(json, key));
}

static double real(json_t *json, const char *key)
{
	json_t *value = json_object_get(json, key);

	return json_is_number(value) ? json_number_value(value) : -1;
}

static const struct entry *find(const struct recorded *r, struct key key)
{
	struct entry *entry;

	HASH_FIND(hh, r->entries, &key, sizeof(key), entry);
	return entry;
}

/* The last of one key counts. Takes the reference. */
static int put(struct recorded *r, struct key key, json_t *json, struct entry **ret)
{
	struct entry *entry;

	HASH_FIND(hh, r->entries, &key, sizeof(key), entry);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry) {
			json_decref(json);
			return -ENOMEM;
		}
		entry->key = key;
		HASH_ADD(hh, r->entries, key, sizeof(key), entry);
	}
	json_decref(entry->json);
	entry->json = json;
	if (ret)
		*ret = entry;
	return 0;
}

static int add_session(struct recorded *r, json_t *json)
{
	json_decref(r->session_json);
	r->session_json = json;
	r->session.known = true;
	r->session.threshold_ns = number(json, "threshold_ns");
	r->session.hang_ns = number(json, "hang_ns");
	r->session.fps = number(json, "fps");
	r->session.real_offset_ns = number(json, "real_offset_ns");
	r->session.host = (struct host_info){
		.name = text(json, "name"),
		.kernel = text(json, "kernel"),
		.arch = text(json, "arch"),
		.boot_id = text(json, "boot_id"),
		.cpus = number(json, "cpus"),
	};
	return 0;
}

static int add_process(struct recorded *r, json_t *json)
{
	struct key key = { number(json, "pid"), 0, JOURNAL_PROCESS };
	struct entry *entry;
	int res = put(r, key, json, &entry);

	if (res)
		return res;
	entry->process = (struct identity){
		.pid = number(json, "pid"),
		.uid = number(json, "uid"),
		.ns_pid = number(json, "ns_pid"),
		.name = text(json, "name"),
		.exe = text(json, "exe"),
		.cgroup = text(json, "cgroup"),
		.container = text(json, "container"),
		.pod = text(json, "pod"),
		.unit = text(json, "unit"),
	};
	return 0;
}

static int add_load(struct recorded *r, json_t *json)
{
	bool hang = json_is_true(json_object_get(json, "hang"));
	struct key key = { number(json, "tid") << 1 | hang, number(json, "start_ns"),
			   JOURNAL_LOAD };

	return put(r, key, json, NULL);
}

static int add_message(struct recorded *r, json_t *json)
{
	bool hang = json_is_true(json_object_get(json, "hang"));
	struct key key = { number(json, "tid") << 1 | hang, number(json, "start_ns"),
			   JOURNAL_MESSAGE };

	return put(r, key, json, NULL);
}

static int add_frames(struct recorded *r, json_t *json)
{
	const char *address = text(json, "address");
	struct key key = { number(json, "pid"), 0, JOURNAL_FRAMES };

	if (!address || !json_is_array(json_object_get(json, "frames"))) {
		json_decref(json);
		return -EBADMSG;
	}
	key.b = strtoull(address, NULL, 16);
	return put(r, key, json, NULL);
}

static int add_end(struct recorded *r, json_t *json)
{
	json_decref(r->end_json);
	r->end_json = json;
	r->session.elapsed_ns = number(json, "elapsed_ns");
	return 0;
}

int recorded__add(struct recorded *r, const struct jank_rec *rec)
{
	static const struct {
		uint16_t kind;
		int (*add)(struct recorded *r, json_t *json);
	} rows[] = {
		{ JOURNAL_SESSION, add_session }, { JOURNAL_PROCESS, add_process },
		{ JOURNAL_LOAD, add_load },	  { JOURNAL_FRAMES, add_frames },
		{ JOURNAL_END, add_end },	  { JOURNAL_MESSAGE, add_message },
	};
	json_t *json;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].kind != rec->kind)
			continue;
		json = json_loads(journal__json(rec), 0, NULL);
		if (json_is_object(json))
			return rows[i].add(r, json);
		json_decref(json);
		return -EBADMSG;
	}
	return 0;
}

const struct recorded_session *recorded__session(const struct recorded *r)
{
	return &r->session;
}

const struct identity *recorded__process(const struct recorded *r, uint32_t pid)
{
	const struct entry *entry = find(r, (struct key){ pid, 0, JOURNAL_PROCESS });

	return entry ? &entry->process : NULL;
}

static const struct entry *find_load(const struct recorded *r, const struct jank_rec_block *rec)
{
	bool hang = rec->hdr.kind == JANK_REC_HANG;
	struct key key = { (uint64_t)rec->hdr.tid << 1 | hang, rec->start_ns, JOURNAL_LOAD };

	return find(r, key);
}

const char *recorded__loop(const struct recorded *r, const struct jank_rec_block *rec)
{
	const struct entry *entry = find_load(r, rec);

	return entry ? text(entry->json, "loop") : NULL;
}

bool recorded__left_out(const struct recorded *r, const struct jank_rec_block *rec)
{
	const struct entry *entry = find_load(r, rec);

	return entry && json_is_true(json_object_get(entry->json, "left_out"));
}

const char *recorded__loop_of(const struct recorded *r, uint32_t pid, uint32_t loop)
{
	json_t *loops = json_object_get(r->end_json, "loops"), *value;
	size_t i;

	json_array_foreach(loops, i, value)
	{
		if (number(value, "pid") == pid && number(value, "loop") == loop)
			return text(value, "name");
	}
	return NULL;
}

bool recorded__load(const struct recorded *r, const struct jank_rec_block *rec,
		    struct machine_load *ret, struct host_info *host, int64_t *real_offset_ns)
{
	const struct entry *entry = find_load(r, rec);

	*ret = (struct machine_load){ -1, -1, -1, -1, -1, false };
	if (!entry)
		return false;
	ret->total_pct = real(entry->json, "total_pct");
	ret->process_pct = real(entry->json, "process_pct");
	ret->user_pct = real(entry->json, "user_pct");
	ret->system_pct = real(entry->json, "system_pct");
	ret->iowait_pct = real(entry->json, "iowait_pct");
	*real_offset_ns = number(entry->json, "real_offset_ns");
	host->mem_total_kb = number(entry->json, "mem_total_kb");
	host->mem_free_kb = number(entry->json, "mem_free_kb");
	host->mem_available_kb = number(entry->json, "mem_available_kb");
	return true;
}

static void set_frame(struct frame *frame, json_t *json, uint64_t address)
{
	*frame = (struct frame){
		.address = address,
		.function = text(json, "function"),
		.offset = number(json, "offset"),
		.module = text(json, "module"),
		.build_id = text(json, "build_id"),
		.file = text(json, "file"),
		.line = number(json, "line"),
		.kernel = json_is_true(json_object_get(json, "kernel")),
		.inlined = json_is_true(json_object_get(json, "inlined")),
		.app = json_is_true(json_object_get(json, "app")),
	};
}

static int add_frames_of(struct stack *stack, const struct entry *entry, uint64_t address,
			 bool kernel)
{
	json_t *list = entry ? json_object_get(entry->json, "frames") : NULL;
	size_t named = json_array_size(list), cnt;
	struct frame *frames;

	if (named > INLINED_MAX)
		named = INLINED_MAX;
	cnt = named ? named : 1;
	frames = realloc(stack->frames, (stack->frame_cnt + cnt) * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	stack->frames = frames;
	frames += stack->frame_cnt;
	stack->frame_cnt += cnt;
	frames[0] = (struct frame){ .address = address, .kernel = kernel };
	for (size_t i = 0; i < named; i++)
		set_frame(&frames[i], json_array_get(list, i), address);
	return 0;
}

int recorded__name(void *recorded, uint32_t pid, struct stack *stack)
{
	for (uint32_t i = 0; i < stack->kernel_cnt + stack->user_cnt; i++) {
		bool kernel = i < stack->kernel_cnt;
		struct key key = { kernel ? 0 : pid, stack->addresses[i], JOURNAL_FRAMES };
		int res = add_frames_of(stack, find(recorded, key), stack->addresses[i], kernel);

		if (res)
			return res;
	}
	return 0;
}

int recorded__message(void *recorded, struct block *block)
{
	bool hang = block->type == BLOCK_HANG;
	struct key key = { (uint64_t)block->tid << 1 | hang, block->start_ns, JOURNAL_MESSAGE };
	const struct entry *entry = find(recorded, key);

	if (!entry || !block->message)
		return 0;
	return recorded_message__fill(block->message, entry->json);
}

int recorded__losses(const struct recorded *r, struct block_loss **ret, size_t *ret_cnt)
{
	json_t *lost = json_object_get(r->end_json, "lost"), *value;
	struct block_loss *list = NULL;
	const char *key;
	size_t cnt = 0;

	if (json_object_size(lost)) {
		list = calloc(json_object_size(lost), sizeof(*list));
		if (!list)
			return -ENOMEM;
	}
	json_object_foreach(lost, key, value)
	{
		if (json_integer_value(value) > 0)
			list[cnt++] = (struct block_loss){ key, json_integer_value(value) };
	}
	*ret = list;
	*ret_cnt = cnt;
	return 0;
}
