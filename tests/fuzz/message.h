/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damage to protobuf messages: to a field, by descriptors, so that the message stays valid; or to
 * bytes, tags and lengths of the encoding.
 */
#ifndef JANK_FUZZ_MESSAGE_H
#define JANK_FUZZ_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "export/json/json.h"
#include "tests/fuzz/fuzz.h"

static inline char *fuzz__text(struct fuzz *f)
{
	static const char *const texts[] = {
		"",	  "x",	  "\x1b[31m", "\xff\xfe", "a\nb", "\"\\\"", "\xe2\x80\xae",
		"/../..", "%s%n", "-1",
	};

	return strdup(texts[fuzz__below(f, sizeof(texts) / sizeof(texts[0]))]);
}

static inline void fuzz__message(struct fuzz *f, ProtobufCMessage *message);

/* Another value for a field that is set, or for a number that is not. */
static inline void fuzz__value(struct fuzz *f, const ProtobufCFieldDescriptor *field, void *value)
{
	uint64_t number = fuzz__chance(f, 3) ? fuzz__any(f) : fuzz__number(f);

	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		if (*(char **)value && *(const char **)value != field->default_value) {
			free(*(char **)value);
			*(char **)value = fuzz__text(f);
		}
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		if (*(ProtobufCMessage **)value)
			fuzz__message(f, *(ProtobufCMessage **)value);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)value = number & 1;
		break;
	default:
		memcpy(value, &number, field__value_size(field));
	}
}

/* Changes one field of the message, or of one that it contains. */
static inline void fuzz__message(struct fuzz *f, ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *descriptor = message->descriptor;
	const ProtobufCFieldDescriptor *field =
		&descriptor->fields[fuzz__below(f, descriptor->n_fields)];
	char *base = (char *)message;
	size_t *cnt = (size_t *)(base + field->quantifier_offset);

	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		if (*cnt)
			fuzz__value(f, field,
				    *(char **)(base + field->offset) +
					    fuzz__below(f, *cnt) * field__value_size(field));
		return;
	}
	fuzz__value(f, field, base + field->offset);
	if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
		*(protobuf_c_boolean *)(base + field->quantifier_offset) = !fuzz__chance(f, 8);
}

/* Changes an encoded message: bits, or a byte to one with a special meaning for a decoder. */
static inline void fuzz__encoded(struct fuzz *f, uint8_t *bytes, size_t len)
{
	static const uint8_t nasty[] = { 0, 0x7f, 0x80, 0xff, 0x0a, 0x0b, 0x0c, 0x32 };

	for (size_t i = 1 + fuzz__below(f, 4); len && i; i--) {
		size_t at = fuzz__below(f, len);

		if (fuzz__chance(f, 2))
			bytes[at] ^= 1u << fuzz__below(f, 8);
		else
			bytes[at] = nasty[fuzz__below(f, sizeof(nasty))];
	}
}

#endif
