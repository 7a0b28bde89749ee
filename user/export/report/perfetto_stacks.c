/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interned callstacks of a Perfetto trace: each entry is written once, before its first use. */
#include "export/report/perfetto.h"
#include "export/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define TABLE_CNT 7

static struct perfetto_ids *table(struct perfetto_stacks *stacks, int i)
{
	struct perfetto_ids *tables[TABLE_CNT] = { &stacks->functions,	&stacks->frames,
						   &stacks->callstacks, &stacks->build_ids,
						   &stacks->paths,	&stacks->sources,
						   &stacks->mappings };

	return tables[i];
}

int stacks__init(struct perfetto_stacks *stacks)
{
	for (int i = 0; i < TABLE_CNT; i++) {
		table(stacks, i)->keys = intern__new();
		if (!table(stacks, i)->keys)
			return -ENOMEM;
	}
	return 0;
}

void stacks__free(struct perfetto_stacks *stacks)
{
	for (int i = 0; i < TABLE_CNT; i++)
		intern__free(table(stacks, i)->keys);
	free(stacks->frame_ids);
}

/* Forgets the interned data, so that memory is bounded. */
static void clear(struct perfetto *p)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	for (int i = 0; i < TABLE_CNT; i++) {
		struct perfetto_ids *ids = table(&p->stacks, i);

		ids->base += intern__cnt(ids->keys);
		intern__reset(ids->keys);
	}
	perfetto__write_defaults(p, &packet);
}

/* 0: the table is full. */
static uint64_t get(struct perfetto_ids *ids, const void *key, size_t len, bool *ret_new)
{
	uint32_t nr = intern__get(ids->keys, key, len, ret_new);

	return nr ? ids->base + nr : 0;
}

static void write_entry(struct perfetto *p, Perfetto__Protos__InternedData *data)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	packet.interned_data = data;
	perfetto__write(p, &packet);
}

/* Where an InternedString of each table goes. */
typedef void place_fn(Perfetto__Protos__InternedData *data,
		      Perfetto__Protos__InternedString **strings);

static void place_function(Perfetto__Protos__InternedData *data,
			   Perfetto__Protos__InternedString **strings)
{
	data->function_names = strings;
	data->n_function_names = 1;
}

static void place_build_id(Perfetto__Protos__InternedData *data,
			   Perfetto__Protos__InternedString **strings)
{
	data->build_ids = strings;
	data->n_build_ids = 1;
}

static void place_path(Perfetto__Protos__InternedData *data,
		       Perfetto__Protos__InternedString **strings)
{
	data->mapping_paths = strings;
	data->n_mapping_paths = 1;
}

static void place_source(Perfetto__Protos__InternedData *data,
			 Perfetto__Protos__InternedString **strings)
{
	data->source_paths = strings;
	data->n_source_paths = 1;
}

static uint64_t get_bytes(struct perfetto *p, struct perfetto_ids *ids, place_fn *place,
			  const void *bytes, size_t len)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__InternedString string = PERFETTO__PROTOS__INTERNED_STRING__INIT,
					 *list[1] = { &string };
	bool is_new;
	uint64_t iid = get(ids, bytes, len, &is_new);

	if (!iid || !is_new)
		return iid;
	string.has_iid = string.has_str = true;
	string.iid = iid;
	string.str = (ProtobufCBinaryData){ len, (uint8_t *)bytes };
	place(&data, list);
	write_entry(p, &data);
	return iid;
}

static uint64_t get_text(struct perfetto *p, struct perfetto_ids *ids, place_fn *place,
			 const char *text)
{
	struct strbuf clean = STRBUF_INIT;
	uint64_t iid = 0;

	if (!text || !*text)
		return 0;
	text__add_clean(&clean, text);
	if (clean.len)
		iid = get_bytes(p, ids, place, clean.data, clean.len);
	strbuf__free(&clean);
	return iid;
}

static uint8_t digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* Build ids are raw bytes there. 0 for other texts than hexadecimal digits. */
static uint64_t get_build_id(struct perfetto *p, const char *hex)
{
	uint8_t bytes[64];
	size_t len = hex ? strlen(hex) / 2 : 0;

	if (!len || len > sizeof(bytes) || strspn(hex, "0123456789abcdefABCDEF") != 2 * len ||
	    hex[2 * len])
		return 0;
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	return get_bytes(p, &p->stacks.build_ids, place_build_id, bytes, len);
}

/* Readers want a mapping for each frame. They put a slash before the path. */
static uint64_t get_mapping(struct perfetto *p, const Jankbpf__Frame *frame)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__Mapping mapping = PERFETTO__PROTOS__MAPPING__INIT,
				  *list[1] = { &mapping };
	const char *path = frame->module ?: "[unknown]";
	uint64_t key[2], iid;
	bool is_new;

	path += *path == '/';
	key[0] = get_text(p, &p->stacks.paths, place_path, *path ? path : "[unknown]");
	if (!key[0])
		return 0;
	key[1] = get_build_id(p, frame->build_id);
	iid = get(&p->stacks.mappings, key, sizeof(key), &is_new);
	if (!iid || !is_new)
		return iid;
	mapping.has_iid = true;
	mapping.iid = iid;
	mapping.has_build_id = key[1];
	mapping.build_id = key[1];
	mapping.path_string_ids = key;
	mapping.n_path_string_ids = 1;
	data.mappings = list;
	data.n_mappings = 1;
	write_entry(p, &data);
	return iid;
}

/* A frame as a key of its table. */
struct frame_key {
	uint64_t function, mapping, pc, source, line;
};

static uint64_t get_frame(struct perfetto *p, const Jankbpf__Frame *from)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__Frame frame = PERFETTO__PROTOS__FRAME__INIT, *list[1] = { &frame };
	struct strbuf name = STRBUF_INIT;
	struct frame_key key = {};
	bool is_new;
	uint64_t iid;

	frame__add_place(&name, from, false);
	key.function = get_text(p, &p->stacks.functions, place_function, strbuf__str(&name));
	strbuf__free(&name);
	key.mapping = get_mapping(p, from);
	/* A named frame has only the offset in its function. */
	key.pc = from->function ? 0 : from->module ? from->offset : from->address;
	key.source = get_text(p, &p->stacks.sources, place_source, from->file);
	key.line = from->line;
	if (!key.function || !key.mapping)
		return 0;
	iid = get(&p->stacks.frames, &key, sizeof(key), &is_new);
	if (!iid || !is_new)
		return iid;
	frame.has_iid = frame.has_mapping_id = frame.has_rel_pc = true;
	frame.iid = iid;
	frame.has_function_name_id = key.function;
	frame.function_name_id = key.function;
	frame.mapping_id = key.mapping;
	frame.rel_pc = key.pc;
	frame.has_source_path_iid = key.source;
	frame.source_path_iid = key.source;
	frame.has_line_number = from->has_line;
	frame.line_number = from->line;
	data.frames = list;
	data.n_frames = 1;
	write_entry(p, &data);
	return iid;
}

static bool make_room(struct perfetto_stacks *stacks, size_t cnt)
{
	uint64_t *ids;

	if (cnt <= stacks->frame_cap)
		return true;
	ids = reallocarray(stacks->frame_ids, cnt, sizeof(*ids));
	if (!ids)
		return false;
	stacks->frame_ids = ids;
	stacks->frame_cap = cnt;
	return true;
}

/* 0: an empty stack, or no room. */
static uint64_t try_get(struct perfetto *p, Jankbpf__Frame *const *stack, size_t cnt)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__Callstack callstack = PERFETTO__PROTOS__CALLSTACK__INIT,
				    *list[1] = { &callstack };
	uint64_t *ids = p->stacks.frame_ids, iid;
	bool is_new;

	for (size_t i = 0; i < cnt; i++) {
		ids[i] = get_frame(p, stack[cnt - 1 - i]);
		if (!ids[i])
			return 0;
	}
	iid = get(&p->stacks.callstacks, ids, cnt * sizeof(*ids), &is_new);
	if (!iid || !is_new)
		return iid;
	callstack.has_iid = true;
	callstack.iid = iid;
	callstack.frame_ids = ids;
	callstack.n_frame_ids = cnt;
	data.callstacks = list;
	data.n_callstacks = 1;
	write_entry(p, &data);
	return iid;
}

uint64_t stacks__get(struct perfetto *p, Jankbpf__Frame *const *stack, size_t cnt)
{
	uint64_t iid;

	if (!cnt)
		return 0;
	if (!make_room(&p->stacks, cnt)) {
		p->report.cut_cnt++;
		return 0;
	}
	iid = try_get(p, stack, cnt);
	if (!iid) { /* a full table */
		clear(p);
		iid = try_get(p, stack, cnt);
		p->report.cut_cnt += !iid;
	}
	return iid;
}
