/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of a record: one arena, which the builder's next call empties. Out of memory ends the call at once, by
 * longjmp, so that no step has to check; nothing outside of the arena and the builder's one buffer is held meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/record/record_parts.h"

#define CHUNK_SZ (64 << 10)

struct chunk {
	struct chunk *next;
	size_t used, size;
	max_align_t data[];
};

struct record *record__new(void)
{
	return calloc(1, sizeof(struct record));
}

/* All but the first one made, if it is no larger than keep. */
static void drop_chunks(struct record *r, size_t keep)
{
	while (r->chunks && (r->chunks->next || r->chunks->size > keep)) {
		struct chunk *next = r->chunks->next;

		free(r->chunks);
		r->chunks = next;
	}
}

void record__free(struct record *record)
{
	if (!record)
		return;
	drop_chunks(record, 0);
	strbuf__free(&record->words);
	free(record);
}

void record__begin(struct record *r, bool stacks)
{
	drop_chunks(r, CHUNK_SZ);
	if (r->chunks)
		r->chunks->used = 0;
	r->stacks = stacks;
}

static struct chunk *add_chunk(struct record *r, size_t size)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		longjmp(r->out_of_memory, 1);
	*chunk = (struct chunk){ .next = r->chunks, .size = size };
	r->chunks = chunk;
	return chunk;
}

void *record__take(struct record *r, size_t size)
{
	struct chunk *chunk = r->chunks;
	void *ret;

	size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	if (!chunk || chunk->size - chunk->used < size)
		chunk = add_chunk(r, size > CHUNK_SZ ? size : CHUNK_SZ);
	ret = (char *)chunk->data + chunk->used;
	chunk->used += size;
	return memset(ret, 0, size);
}

void *record__message(struct record *r, const ProtobufCMessageDescriptor *descriptor)
{
	ProtobufCMessage *ret = record__take(r, descriptor->sizeof_message);

	protobuf_c_message_init(descriptor, ret);
	return ret;
}

void *record__array(struct record *r, size_t cnt, size_t *ret_cnt)
{
	*ret_cnt = cnt;
	return cnt ? record__take(r, cnt * sizeof(void *)) : NULL;
}

struct strbuf *record__words(struct record *r)
{
	strbuf__reset(&r->words);
	return &r->words;
}

char *record__take_words(struct record *r)
{
	if (r->words.failed)
		longjmp(r->out_of_memory, 1);
	return memcpy(record__take(r, r->words.len + 1), strbuf__str(&r->words), r->words.len);
}

char *record__str(struct record *r, const char *text)
{
	if (!text || !text[text__utf8_part(text)])
		return (char *)text;
	text__add_utf8(record__words(r), text);
	return record__take_words(r);
}

void record__set_named(ProtobufCMessage *message, const char *name, uint64_t value)
{
	const ProtobufCFieldDescriptor *field =
		protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);

	if (!field)
		return;
	*(protobuf_c_boolean *)((char *)message + field->quantifier_offset) = true;
	*(uint64_t *)((char *)message + field->offset) = value;
}
