/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables that the profiles of a request share: texts, frames, stacks, attributes. */
#include "export/otlp/profiles.h"

#include <stddef.h>
#include <string.h>

#include "export/report/report.h"
#include "export/values.h"

/* Bytes of zeros that public readers expect in an empty link. */
#define TRACE_ID_SZ 16
#define SPAN_ID_SZ  8

void dictionary__init(struct dictionary *d, struct otlp *o)
{
	*d = (struct dictionary){ .o = o };
	list__add(o, &d->tables[TABLE_TEXTS], "");
	list__add(o, &d->tables[TABLE_FUNCTIONS], OTLP_NEW(o, function));
	list__add(o, &d->tables[TABLE_MAPPINGS], OTLP_NEW(o, mapping));
	list__add(o, &d->tables[TABLE_LOCATIONS], OTLP_NEW(o, location));
	list__add(o, &d->tables[TABLE_STACKS], OTLP_NEW(o, stack));
	list__add(o, &d->tables[TABLE_ATTRIBUTES], OTLP_NEW(o, key_value_and_unit));
}

/* Numbers begin at 1, as indices of entries other than the zero value do. */
static int32_t get(struct dictionary *d, enum table table, const void *key, size_t len,
		   bool *ret_new)
{
	return (int32_t)otlp__number(d->o, table, key, len, ret_new);
}

int32_t dictionary__text(struct dictionary *d, const char *text)
{
	char *clean = otlp__text(d->o, text);
	bool is_new;
	int32_t ret;

	if (!clean || !*clean)
		return 0;
	ret = get(d, TABLE_TEXTS, clean, strlen(clean), &is_new);
	if (is_new)
		list__add(d->o, &d->tables[TABLE_TEXTS], clean);
	return ret;
}

/* 0 for a value that is not known. */
int32_t dictionary__attribute(struct dictionary *d, const char *key, const char *value)
{
	const int32_t pair[] = { dictionary__text(d, key), dictionary__text(d, value) };
	Otlp__KeyValueAndUnit *attribute;
	bool is_new;
	int32_t ret;

	if (!pair[1])
		return 0;
	ret = get(d, TABLE_ATTRIBUTES, pair, sizeof(pair), &is_new);
	if (!is_new)
		return ret;
	attribute = OTLP_NEW(d->o, key_value_and_unit);
	attribute->key_strindex = pair[0];
	attribute->value = otlp__text_value(d->o, d->tables[TABLE_TEXTS].at[pair[1]]);
	list__add(d->o, &d->tables[TABLE_ATTRIBUTES], attribute);
	return ret;
}

static int32_t get_function(struct dictionary *d, int32_t name, int32_t file)
{
	const int32_t key[] = { name, file };
	Otlp__Function *function;
	bool is_new;
	int32_t ret = get(d, TABLE_FUNCTIONS, key, sizeof(key), &is_new);

	if (!is_new)
		return ret;
	function = OTLP_NEW(d->o, function);
	function->name_strindex = name;
	function->filename_strindex = file;
	list__add(d->o, &d->tables[TABLE_FUNCTIONS], function);
	return ret;
}

static int32_t *one_index(struct dictionary *d, int32_t index)
{
	int32_t *ret = arena__take(&d->o->arena, sizeof(*ret));

	*ret = index;
	return ret;
}

/* Its addresses are offsets in its file, as those of the records are. */
static int32_t get_mapping(struct dictionary *d, const Jankbpf__Frame *frame)
{
	int32_t key[2], ret;
	Otlp__Mapping *mapping;
	bool is_new;

	if (!frame->module || !*frame->module)
		return 0;
	key[0] = dictionary__text(d, frame->module);
	key[1] = dictionary__attribute(d, "process.executable.build_id.gnu", frame->build_id);
	ret = get(d, TABLE_MAPPINGS, key, sizeof(key), &is_new);
	if (!is_new)
		return ret;
	mapping = OTLP_NEW(d->o, mapping);
	mapping->memory_limit = UINT64_MAX;
	mapping->filename_strindex = key[0];
	if (key[1]) {
		mapping->attribute_indices = one_index(d, key[1]);
		mapping->n_attribute_indices = 1;
	}
	list__add(d->o, &d->tables[TABLE_MAPPINGS], mapping);
	return ret;
}

/* The word of the conventions for the language of a frame. */
static const char *frame_type(const Jankbpf__Frame *frame)
{
	static const char *const words[][2] = {
		{ "javascript", "v8js" }, { "java", "jvm" },   { "python", "cpython" },
		{ "dotnet", "dotnet" },	  { "ruby", "ruby" },  { "php", "php" },
		{ "perl", "perl" },	  { "lua", "luajit" },
	};

	if (frame->kernel)
		return "kernel";
	for (size_t i = 0; frame->language && i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(frame->language, words[i][0]))
			return words[i][1];
	return frame->language ? frame->language : "native";
}

/* A location as a key of its table. */
struct location_key {
	uint64_t address;
	int32_t mapping, type;
	struct {
		int32_t function, line;
	} lines[OTLP_LINES_MAX];
};

static int32_t get_location(struct dictionary *d, const struct location_key *key, size_t cnt)
{
	size_t len = offsetof(struct location_key, lines) + cnt * sizeof(key->lines[0]);
	Otlp__Location *location;
	bool is_new;
	int32_t ret = get(d, TABLE_LOCATIONS, key, len, &is_new);

	if (!is_new)
		return ret;
	location = OTLP_NEW(d->o, location);
	location->mapping_index = key->mapping;
	location->address = key->address;
	if (key->type) {
		location->attribute_indices = one_index(d, key->type);
		location->n_attribute_indices = 1;
	}
	location->lines = arena__take(&d->o->arena, cnt * sizeof(*location->lines));
	for (size_t i = 0; i < cnt; i++) {
		location->lines[i] = OTLP_NEW(d->o, line);
		location->lines[i]->function_index = key->lines[i].function;
		location->lines[i]->line = key->lines[i].line;
	}
	location->n_lines = cnt;
	list__add(d->o, &d->tables[TABLE_LOCATIONS], location);
	return ret;
}

static void add_line(struct dictionary *d, struct location_key *key, size_t at,
		     const Jankbpf__Frame *frame)
{
	const char *name;

	frame__add_place(arena__words(&d->o->arena), frame, false);
	name = arena__take_words(&d->o->arena);
	/* A function must have a name. */
	key->lines[at].function = get_function(d, dictionary__text(d, *name ? name : "?"),
					       dictionary__text(d, frame->file));
	key->lines[at].line = frame->line > INT32_MAX ? 0 : (int32_t)frame->line;
}

/* Inlined frames are lines of the next frame's location. Returns the number of locations. */
static size_t add_locations(struct dictionary *d, Jankbpf__Frame *const *frames, size_t cnt,
			    int32_t *ret)
{
	size_t ret_cnt = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct location_key key = {};
		size_t lines = 0;

		while (i + 1 < cnt && frames[i]->inlined && lines < OTLP_LINES_MAX - 1)
			add_line(d, &key, lines++, frames[i++]);
		add_line(d, &key, lines++, frames[i]);
		key.mapping = get_mapping(d, frames[i]);
		key.type = dictionary__attribute(d, "profile.frame.type", frame_type(frames[i]));
		/* A named frame has only the offset in its function. */
		if (!frames[i]->function)
			key.address = frames[i]->module ? frames[i]->offset : frames[i]->address;
		ret[ret_cnt++] = get_location(d, &key, lines);
	}
	return ret_cnt;
}

int32_t dictionary__stack(struct dictionary *d, Jankbpf__Frame *const *frames, size_t cnt,
			  const char *name)
{
	int32_t *indices = arena__take(&d->o->arena, (cnt + 1) * sizeof(*indices)), ret;
	size_t index_cnt = add_locations(d, frames, cnt, indices);
	Otlp__Stack *stack;
	bool is_new;

	if (!index_cnt) {
		struct location_key key = {};

		key.lines[0].function = get_function(d, dictionary__text(d, name), 0);
		indices[index_cnt++] = get_location(d, &key, 1);
	}
	ret = get(d, TABLE_STACKS, indices, index_cnt * sizeof(*indices), &is_new);
	if (!is_new)
		return ret;
	stack = OTLP_NEW(d->o, stack);
	stack->location_indices = indices;
	stack->n_location_indices = index_cnt;
	list__add(d->o, &d->tables[TABLE_STACKS], stack);
	return ret;
}

static Otlp__ProfileLink **no_link(struct dictionary *d)
{
	Otlp__ProfileLink **ret = arena__take(&d->o->arena, sizeof(*ret));

	*ret = OTLP_NEW(d->o, profile_link);
	(*ret)->trace_id.data = arena__take(&d->o->arena, TRACE_ID_SZ);
	(*ret)->trace_id.len = TRACE_ID_SZ;
	(*ret)->span_id.data = arena__take(&d->o->arena, SPAN_ID_SZ);
	(*ret)->span_id.len = SPAN_ID_SZ;
	return ret;
}

#define SET_TABLE(message, field, list)                                                            \
	((message)->field = (void *)(list).at, (message)->n_##field = (list).cnt)

Otlp__ProfilesDictionary *dictionary__message(struct dictionary *d)
{
	Otlp__ProfilesDictionary *ret = OTLP_NEW(d->o, profiles_dictionary);

	SET_TABLE(ret, string_table, d->tables[TABLE_TEXTS]);
	SET_TABLE(ret, function_table, d->tables[TABLE_FUNCTIONS]);
	SET_TABLE(ret, mapping_table, d->tables[TABLE_MAPPINGS]);
	SET_TABLE(ret, location_table, d->tables[TABLE_LOCATIONS]);
	SET_TABLE(ret, stack_table, d->tables[TABLE_STACKS]);
	SET_TABLE(ret, attribute_table, d->tables[TABLE_ATTRIBUTES]);
	ret->link_table = no_link(d);
	ret->n_link_table = 1;
	return ret;
}
