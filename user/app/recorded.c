/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables over the journal's JSON. The parsed trees are kept and pointed into: a frame's strings live as
 * long as the table.
 */
#include "app/recorded_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "intake/journal.h"

struct recorded *recorded__new(void)
{
	struct recorded *r = calloc(1, sizeof(*r));

	if (r)
		r->session.fps = 60;
	return r;
}

void recorded__free(struct recorded *r)
{
	struct recorded_entry *entry, *next;

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

char *recorded__text(const json_t *json, const char *key)
{
	return (char *)json_string_value(json_object_get(json, key));
}

uint64_t recorded__number(const json_t *json, const char *key)
{
	return json_integer_value(json_object_get(json, key));
}

const struct recorded_entry *recorded__find(const struct recorded *r, struct recorded_key key)
{
	struct recorded_entry *entry;

	HASH_FIND(hh, r->entries, &key, sizeof(key), entry);
	return entry;
}

/* The last of one key counts. Takes the reference. */
static int put(struct recorded *r, struct recorded_key key, json_t *json,
	       struct recorded_entry **ret)
{
	struct recorded_entry *entry;

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
	r->session.threshold_ns = recorded__number(json, "threshold_ns");
	r->session.hang_ns = recorded__number(json, "hang_ns");
	r->session.fps = recorded__number(json, "fps");
	r->session.real_offset_ns = recorded__number(json, "real_offset_ns");
	r->session.host = (struct host_info){
		.name = recorded__text(json, "name"),
		.kernel = recorded__text(json, "kernel"),
		.arch = recorded__text(json, "arch"),
		.boot_id = recorded__text(json, "boot_id"),
		.cpus = recorded__number(json, "cpus"),
	};
	return 0;
}

static int add_process(struct recorded *r, json_t *json)
{
	struct recorded_key key = { recorded__number(json, "pid"), 0, JOURNAL_PROCESS };
	struct recorded_entry *entry;
	int res = put(r, key, json, &entry);

	if (res)
		return res;
	entry->process = (struct identity){
		.pid = recorded__number(json, "pid"),
		.uid = recorded__number(json, "uid"),
		.ns_pid = recorded__number(json, "ns_pid"),
		.name = recorded__text(json, "name"),
		.exe = recorded__text(json, "exe"),
		.cgroup = recorded__text(json, "cgroup"),
		.container = recorded__text(json, "container"),
		.pod = recorded__text(json, "pod"),
		.unit = recorded__text(json, "unit"),
	};
	return 0;
}

/* Of a block; a hang and its end are two. */
static int add_of_block(struct recorded *r, json_t *json, enum journal_kind kind)
{
	bool hang = json_is_true(json_object_get(json, "hang"));
	struct recorded_key key = { recorded__number(json, "tid") << 1 | hang,
				    recorded__number(json, "start_ns"), kind };

	return put(r, key, json, NULL);
}

static int add_load(struct recorded *r, json_t *json)
{
	return add_of_block(r, json, JOURNAL_LOAD);
}

static int add_message(struct recorded *r, json_t *json)
{
	return add_of_block(r, json, JOURNAL_MESSAGE);
}

static int add_waited(struct recorded *r, json_t *json)
{
	return add_of_block(r, json, JOURNAL_WAITED);
}

static int add_callers(struct recorded *r, json_t *json)
{
	return add_of_block(r, json, JOURNAL_CALLERS);
}

static int add_frames(struct recorded *r, json_t *json)
{
	const char *address = recorded__text(json, "address");
	struct recorded_key key = { recorded__number(json, "pid"), 0, JOURNAL_FRAMES };

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
	r->session.elapsed_ns = recorded__number(json, "elapsed_ns");
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
		{ JOURNAL_WAITED, add_waited },	  { JOURNAL_CALLERS, add_callers },
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
	const struct recorded_entry *entry =
		recorded__find(r, (struct recorded_key){ pid, 0, JOURNAL_PROCESS });

	return entry ? &entry->process : NULL;
}

const char *recorded__loop_of(const struct recorded *r, uint32_t pid, uint32_t loop)
{
	json_t *loops = json_object_get(r->end_json, "loops"), *value;
	size_t i;

	json_array_foreach(loops, i, value)
	{
		if (recorded__number(value, "pid") == pid &&
		    recorded__number(value, "loop") == loop)
			return recorded__text(value, "name");
	}
	return NULL;
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
