/* SPDX-License-Identifier: GPL-2.0 */
/* Walks a record for frames. See named_json.h. */
#include "app/named_json.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

static const char *text_of(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

static bool is_nameless(const json_t *json)
{
	return text_of(json, "module") && json_is_integer(json_object_get(json, "offset")) &&
	       !json_object_get(json, "function") && !json_object_get(json, "kernel");
}

static void note_missing(struct named_json *named, const char *module, const char *build_id)
{
	size_t len = strlen(build_id);
	struct missing *m;

	HASH_FIND(hh, named->missing, build_id, len, m);
	if (!m) {
		m = calloc(1, sizeof(*m) + len + 1);
		if (!m)
			return;
		m->module = strdup(module);
		if (!m->module) {
			free(m);
			return;
		}
		memcpy(m->build_id, build_id, len);
		m->found = offline__knows(named->offline, build_id);
		HASH_ADD_KEYPTR(hh, named->missing, m->build_id, len, m);
	}
	m->cnt++;
}

/* The names of a frame: their number, 0 for none. */
static size_t look_up(struct named_json *named, const json_t *json, bool exact,
		      struct frame frames[OFFLINE_FRAMES_MAX])
{
	const char *build_id = text_of(json, "build_id"), *module = text_of(json, "module");
	size_t cnt;

	named->nameless_cnt++;
	if (!build_id) {
		named->lost_cnt += module[0] == '/';
		return 0;
	}
	offline__archive(named->offline, build_id, module);
	cnt = offline__name(named->offline, build_id,
			    json_integer_value(json_object_get(json, "offset")), exact, frames);
	if (cnt)
		named->named_cnt++;
	else
		note_missing(named, module, build_id);
	return cnt;
}

/* In the order of our own records. */
static json_t *make_frame(const json_t *from, const struct frame *frame)
{
	json_t *ret = json_object();

	json_object_set_new(ret, "function", json_string(frame->function));
	json_object_set_new(ret, "offset", json_integer(frame->offset));
	json_object_set(ret, "module", json_object_get(from, "module"));
	json_object_set(ret, "build_id", json_object_get(from, "build_id"));
	if (frame->file) {
		json_object_set_new(ret, "file", json_string(frame->file));
		if (frame->line)
			json_object_set_new(ret, "line", json_integer(frame->line));
	}
	if (frame->inlined)
		json_object_set_new(ret, "inlined", json_true());
	return ret;
}

static bool fill_value(struct named_json *named, json_t *json, unsigned depth);

/* The first frame in user space is where the thread was, the others are returned to. */
static bool fill_stack(struct named_json *named, json_t *stack)
{
	struct frame frames[OFFLINE_FRAMES_MAX];
	bool exact = true, ret = false;

	for (size_t i = 0; i < json_array_size(stack); i++) {
		json_t *json = json_array_get(stack, i);
		size_t cnt = is_nameless(json) ? look_up(named, json, exact, frames) : 0;

		if (!json_is_true(json_object_get(json, "kernel")) &&
		    !json_is_true(json_object_get(json, "inlined")))
			exact = false;
		if (!cnt)
			continue;
		json_incref(json);
		json_array_remove(stack, i);
		for (size_t k = 0; k < cnt; k++)
			json_array_insert_new(stack, i + k, make_frame(json, &frames[k]));
		json_decref(json);
		i += cnt - 1;
		ret = true;
	}
	return ret;
}

/* Is that the place where a sample's thread was? Samples come after what is told of them. */
static bool is_leaf(const json_t *record, const json_t *json)
{
	json_t *sample, *frame;
	size_t i, k;

	json_array_foreach(json_object_get(record, "samples"), i, sample)
	{
		json_array_foreach(json_object_get(sample, "stack"), k, frame)
		{
			if (json_is_true(json_object_get(frame, "kernel")))
				continue;
			if (json_equal(frame, json))
				return true;
			break;
		}
	}
	return false;
}

/* One by itself, as a cause's, names its function, not what was inlined there. */
static bool fill_frame(struct named_json *named, json_t *parent, const char *key, json_t *json)
{
	struct frame frames[OFFLINE_FRAMES_MAX];
	size_t cnt = look_up(named, json, is_leaf(named->record, json), frames);

	if (!cnt)
		return false;
	json_object_set_new(parent, key, make_frame(json, &frames[cnt - 1]));
	return true;
}

static bool is_stack(const char *key)
{
	return !strcmp(key, "stack") || !strcmp(key, "wake_stack");
}

static bool fill_object(struct named_json *named, json_t *json, unsigned depth)
{
	bool ret = false;
	const char *key;
	json_t *value;

	json_object_foreach(json, key, value)
	{
		if (is_stack(key) && json_is_array(value))
			ret |= fill_stack(named, value);
		else if (is_nameless(value))
			ret |= fill_frame(named, json, key, value);
		else
			ret |= fill_value(named, value, depth);
	}
	return ret;
}

static bool fill_value(struct named_json *named, json_t *json, unsigned depth)
{
	bool ret = false;
	json_t *value;
	size_t i;

	if (depth > DEPTH_MAX)
		return false;
	if (json_is_object(json))
		return fill_object(named, json, depth + 1);
	json_array_foreach(json, i, value) ret |= fill_value(named, value, depth + 1);
	return ret;
}

bool named_json__fill(struct named_json *named, json_t *json)
{
	named->record = json;
	return fill_value(named, json, 0);
}

void named_json__free(struct named_json *named)
{
	struct missing *m, *next;

	HASH_ITER (hh, named->missing, m, next) {
		HASH_DEL(named->missing, m);
		free(m->module);
		free(m);
	}
	offline__free(named->offline);
}
