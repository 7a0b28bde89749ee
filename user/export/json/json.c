/* SPDX-License-Identifier: GPL-2.0 */
/* The JSON writer. A member is written where its field is present: what is not known is left out. */
#include "export/json/json.h"

#include <stdio.h>

#include "export/json/fields.h"
#include "export/json/jsonw.h"

static void add_message(struct jsonw *w, const ProtobufCMessage *message,
			const struct field *fields);

static bool is_present(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	const char *base = (const char *)message;

	if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE)
		return *(void *const *)(base + field->offset) != NULL;
	return *(const protobuf_c_boolean *)(base + field->quantifier_offset);
}

/*
 * An address is a string: JSON's readers keep 53 bits of a number, and a kernel address has 64.
 */
static void add_hex(struct jsonw *w, uint64_t value)
{
	char text[2 + 16 + 1];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	jsonw__str(w, text);
}

static void add_value(struct jsonw *w, const ProtobufCFieldDescriptor *field,
		      const struct field *row, const void *value)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_UINT64:
		if (row->format == FIELD_HEX)
			add_hex(w, *(const uint64_t *)value);
		else
			jsonw__u64(w, *(const uint64_t *)value);
		break;
	case PROTOBUF_C_TYPE_UINT32:
		jsonw__u64(w, *(const uint32_t *)value);
		break;
	case PROTOBUF_C_TYPE_INT32:
		jsonw__i64(w, *(const int32_t *)value);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		jsonw__fixed(w, *(const double *)value, row->decimals);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		jsonw__bool(w, *(const protobuf_c_boolean *)value);
		break;
	case PROTOBUF_C_TYPE_STRING:
		jsonw__str(w, *(const char *const *)value);
		break;
	default:
		add_message(w, *(const ProtobufCMessage *const *)value, row->fields);
	}
}

static void add_array(struct jsonw *w, const ProtobufCMessage *message,
		      const ProtobufCFieldDescriptor *field, const struct field *row)
{
	const char *base = (const char *)message;
	size_t cnt = *(const size_t *)(base + field->quantifier_offset);
	const char *values = *(const char *const *)(base + field->offset);

	if (!cnt && !row->empty)
		return;
	jsonw__karray(w, field->name);
	for (size_t i = 0; i < cnt; i++)
		add_value(w, field, row, values + i * field__value_size(field));
	jsonw__array_end(w);
}

static void add_members(struct jsonw *w, const ProtobufCMessage *message, const struct field *rows)
{
	for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];

		if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			add_array(w, message, field, &rows[i]);
		} else if (is_present(message, field)) {
			jsonw__key(w, field->name);
			add_value(w, field, &rows[i], (const char *)message + field->offset);
		}
	}
}

static void add_message(struct jsonw *w, const ProtobufCMessage *message,
			const struct field *fields)
{
	jsonw__object(w);
	add_members(w, message, fields);
	jsonw__object_end(w);
}

/* Flat: the name of the one field that is set is the member `type`, its members are the record's. */
void json__add_record(struct strbuf *sb, const Jankbpf__Record *record)
{
	const ProtobufCMessageDescriptor *descriptor = record->base.descriptor;
	struct jsonw w;

	jsonw__init(&w, sb);
	jsonw__object(&w);
	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];

		if (field->type != PROTOBUF_C_TYPE_MESSAGE ||
		    field->id != (uint32_t)record->type_case)
			continue;
		jsonw__kstr(&w, "type", field->name);
		jsonw__kstr_known(&w, "schema", record->schema);
		add_members(&w, &record->block->base, fields__of_record[i].fields);
	}
	jsonw__object_end(&w);
}
