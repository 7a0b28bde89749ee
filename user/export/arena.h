/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of a message and all its parts, freed at once. When out of memory, a call does not return:
 * longjmp ends the work on the message, so no step has to check. Set out_of_memory by setjmp first,
 * and keep nothing that is allocated outside the arena meanwhile. One thread at a time.
 */
#ifndef JANK_EXPORT_ARENA_H
#define JANK_EXPORT_ARENA_H

#include "base/strbuf.h"
#include <protobuf-c/protobuf-c.h>
#include <setjmp.h>
#include <stddef.h>

/* All zero: empty. */
struct arena {
	struct chunk *chunks; /* the newest comes first */
	struct strbuf words;  /* buffer for a text */
	jmp_buf out_of_memory;
};

/* Frees what was taken; keeps some memory for the next message. */
void arena__reset(struct arena *arena);
void arena__free(struct arena *arena);

/* Each returns zeroed memory. A message has its descriptor and its default values. */
void *arena__take(struct arena *arena, size_t size);
void *arena__message(struct arena *arena, const ProtobufCMessageDescriptor *descriptor);

/* An empty text buffer, and a copy of its last content. */
struct strbuf *arena__words(struct arena *arena);
char *arena__take_words(struct arena *arena);

/* Adds the encoded message. */
void strbuf__add_message(struct strbuf *sb, const ProtobufCMessage *message);

/* The string itself, or a copy by the rule of text__add_clean. NULL for NULL. */
char *arena__str(struct arena *arena, const char *text);

#endif
