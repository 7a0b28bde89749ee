/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define CHUNK_SZ (64 << 10)

struct chunk {
	struct chunk *next;
	size_t used, size;
	max_align_t data[];
};

/* Frees all chunks except the first one made, which stays if it is no larger than keep. */
static void drop_chunks(struct arena *arena, size_t keep)
{
	while (arena->chunks && (arena->chunks->next || arena->chunks->size > keep)) {
		struct chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
}

void arena__reset(struct arena *arena)
{
	drop_chunks(arena, CHUNK_SZ);
	if (arena->chunks)
		arena->chunks->used = 0;
}

void arena__free(struct arena *arena)
{
	drop_chunks(arena, 0);
	strbuf__free(&arena->words);
}

static struct chunk *add_chunk(struct arena *arena, size_t size)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		longjmp(arena->out_of_memory, 1);
	*chunk = (struct chunk){ .next = arena->chunks, .size = size };
	arena->chunks = chunk;
	return chunk;
}

void *arena__take(struct arena *arena, size_t size)
{
	struct chunk *chunk = arena->chunks;
	void *ret;

	size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	if (!chunk || chunk->size - chunk->used < size)
		chunk = add_chunk(arena, size > CHUNK_SZ ? size : CHUNK_SZ);
	ret = (char *)chunk->data + chunk->used;
	chunk->used += size;
	return memset(ret, 0, size);
}

void *arena__message(struct arena *arena, const ProtobufCMessageDescriptor *descriptor)
{
	ProtobufCMessage *ret = arena__take(arena, descriptor->sizeof_message);

	protobuf_c_message_init(descriptor, ret);
	return ret;
}

struct strbuf *arena__words(struct arena *arena)
{
	strbuf__reset(&arena->words);
	return &arena->words;
}

char *arena__take_words(struct arena *arena)
{
	if (arena->words.failed)
		longjmp(arena->out_of_memory, 1);
	return memcpy(arena__take(arena, arena->words.len + 1), strbuf__str(&arena->words),
		      arena->words.len);
}

char *arena__str(struct arena *arena, const char *text)
{
	if (!text || text__is_clean(text))
		return (char *)text;
	text__add_clean(arena__words(arena), text);
	return arena__take_words(arena);
}

struct buffer {
	ProtobufCBuffer base;
	struct strbuf *to;
};

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
	strbuf__add(((struct buffer *)buffer)->to, data, len);
}

void strbuf__add_message(struct strbuf *sb, const ProtobufCMessage *message)
{
	struct buffer buffer = { .base.append = append, .to = sb };

	protobuf_c_message_pack_to_buffer(message, &buffer.base);
}
