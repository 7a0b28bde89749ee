/* SPDX-License-Identifier: GPL-2.0 */
/* Batches for the tests of OTLP's encoder, and what is asked of its messages. */
#ifndef TESTS_OTLP_FIXTURE_H
#define TESTS_OTLP_FIXTURE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/backend.h"
#include "schema/otlp.pb-c.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_record.h"

#define OTLP_RECORDS 16

struct otlp_batch {
	Jankbpf__Record *records[OTLP_RECORDS];
	size_t cnt;
	struct strbuf body;
};

static inline Jankbpf__Record *otlp__copy(const Jankbpf__Record *record)
{
	size_t len = jankbpf__record__get_packed_size(record);
	uint8_t *bytes = malloc(len);
	Jankbpf__Record *ret;

	jankbpf__record__pack(record, bytes);
	ret = jankbpf__record__unpack(NULL, len, bytes);
	free(bytes);
	if (!ret)
		abort();
	return ret;
}

/* Adds a copy, which the caller may change. */
static inline Jankbpf__Record *otlp__add(struct otlp_batch *b, const Jankbpf__Record *record)
{
	if (b->cnt == OTLP_RECORDS)
		abort();
	return b->records[b->cnt++] = otlp__copy(record);
}

static inline Jankbpf__Block *otlp__add_block(struct otlp_batch *b, const char *name)
{
	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct block *block;
		Jankbpf__Record *record;

		if (strcmp(fixtures[i].name, name) != 0)
			continue;
		block = fixtures[i].make();
		record = otlp__add(b, fixture__record(block));
		block__free(block);
		return record->block;
	}
	abort();
}

/* Replaces a text of a record; len bytes of it. */
static inline void otlp__set(char **text, const char *pattern, size_t len)
{
	size_t pattern_len = strlen(pattern);

	free(*text);
	*text = malloc(len + 1);
	for (size_t i = 0; i < len; i++)
		(*text)[i] = pattern[i % pattern_len];
	(*text)[len] = '\0';
}

/* Removes what the environment of the process says. */
static inline void otlp__unname(Jankbpf__Block *block)
{
	char **texts[] = { &block->service_name, &block->service_version, &block->version,
			   &block->service_namespace, &block->deployment_environment };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		free(*texts[i]);
		*texts[i] = NULL;
	}
}

/* The body of a part is in b->body. */
static inline int otlp__encode_part(struct otlp_batch *b, const char *name)
{
	const struct batch batch = { "0123456789abcdef0123456789abcdef", 7, b->records, b->cnt, 0 };

	strbuf__reset(&b->body);
	for (size_t i = 0; i < otlp_backend.part_cnt; i++)
		if (!strcmp(otlp_backend.parts[i].name, name))
			return otlp_backend.parts[i].encode(&batch, &b->body);
	return -ENOENT;
}

static inline void otlp__empty(struct otlp_batch *b)
{
	for (size_t i = 0; i < b->cnt; i++)
		jankbpf__record__free_unpacked(b->records[i], NULL);
	strbuf__free(&b->body);
	*b = (struct otlp_batch){};
}

/* NULL: no such attribute. */
static inline const Otlp__AnyValue *otlp__value(Otlp__KeyValue *const *list, size_t cnt,
						const char *key)
{
	for (size_t i = 0; i < cnt; i++)
		if (!strcmp(list[i]->key, key))
			return list[i]->value;
	return NULL;
}

#define OTLP_TEXT(message, key)                                                                    \
	otlp__text_of(otlp__value((message)->attributes, (message)->n_attributes, key))
#define OTLP_INT(message, key)                                                                     \
	otlp__int_of(otlp__value((message)->attributes, (message)->n_attributes, key))

static inline const char *otlp__text_of(const Otlp__AnyValue *value)
{
	return value && value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE
		       ? value->string_value
		       : NULL;
}

/* -1: none. */
static inline int64_t otlp__int_of(const Otlp__AnyValue *value)
{
	return value && value->value_case == OTLP__ANY_VALUE__VALUE_INT_VALUE ? value->int_value
									      : -1;
}

static inline bool otlp__is_valid(const ProtobufCMessage *message);

static inline bool otlp__is_valid_value(const ProtobufCFieldDescriptor *field, const void *value)
{
	const char *text;

	if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		return otlp__is_valid(*(const ProtobufCMessage *const *)value);
	if (field->type != PROTOBUF_C_TYPE_STRING)
		return true;
	text = *(const char *const *)value;
	return text__is_clean(text);
}

/* Is all text of the message UTF-8, as proto3 demands? */
static inline bool otlp__is_valid(const ProtobufCMessage *message)
{
	for (unsigned i = 0; message && i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		const char *base = (const char *)message, *at = base + field->offset;
		const void *quantifier = base + field->quantifier_offset;

		if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			const char *values = *(const char *const *)at;

			if (field->type != PROTOBUF_C_TYPE_MESSAGE &&
			    field->type != PROTOBUF_C_TYPE_STRING)
				continue;
			for (size_t j = 0; j < *(const size_t *)quantifier; j++)
				if (!otlp__is_valid_value(field, values + j * sizeof(void *)))
					return false;
		} else if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
			if (*(const uint32_t *)quantifier == field->id &&
			    !otlp__is_valid_value(field, at))
				return false;
		} else if (!otlp__is_valid_value(field, at)) {
			return false;
		}
	}
	return true;
}

#endif
