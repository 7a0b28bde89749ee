/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON writer. It writes a member only where its field is present. */
#include "export/json/json.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "export/sink.h"

static void add_message(struct jsonw *w, const ProtobufCMessage *message,
			const struct field *fields);

static bool is_present(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	const char *base = (const char *)message;

	if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE)
		return *(void *const *)(base + field->offset) != NULL;
	return *(const protobuf_c_boolean *)(base + field->quantifier_offset);
}

/* An address is a string: JSON readers keep 53 bits of a number, and a kernel address has 64. */
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

/*
 * The record is flat: the name of its one set field is the member `type`, and that field's members
 * are the record's.
 */
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

/*
 * --- the JSON reader: converts jansson's tree into a message, by descriptors. Nesting is bounded
 * by the schema. Integers above 2^63 - 1 are refused: jansson has no type for them.
 */

struct reader {
	uint64_t unknown_cnt;
	struct err *err;
};

static int read_message(struct reader *r, const json_t *json,
			const ProtobufCMessageDescriptor *descriptor, const struct field *rows,
			ProtobufCMessage **ret);

static int bad(struct reader *r, const ProtobufCFieldDescriptor *field, const char *wanted)
{
	return err__set(r->err, EBADMSG, "member '%s' is not %s", field->name, wanted);
}

static int read_hex(struct reader *r, const json_t *json, const ProtobufCFieldDescriptor *field,
		    uint64_t *ret)
{
	const char *text = json_string_value(json);
	size_t cnt = 0;

	/* strtoull alone accepts signs, blanks and another 0x. */
	if (text && !strncmp(text, "0x", 2))
		cnt = strspn(text + 2, "0123456789abcdefABCDEF");
	if (!cnt || cnt > 16 || text[2 + cnt])
		return bad(r, field, "an address of the form \"0x…\"");
	*ret = strtoull(text + 2, NULL, 16);
	return 0;
}

static int read_number(struct reader *r, const json_t *json, const ProtobufCFieldDescriptor *field,
		       const struct field *row, json_int_t *ret)
{
	*ret = json_integer_value(json);
	if (!json_is_integer(json))
		return bad(r, field, "an integer");
	if (*ret < row->min || (*ret > 0 && (uint64_t)*ret > row->max))
		return err__set(r->err, EBADMSG,
				"member '%s' is %" PRId64 ", which is not in %" PRId64
				" to %" PRIu64,
				field->name, (int64_t)*ret, row->min, row->max);
	return 0;
}

static int read_value(struct reader *r, const json_t *json, const ProtobufCFieldDescriptor *field,
		      const struct field *row, void *ret)
{
	json_int_t number = 0;
	int res = row->format == FIELD_NUMBER ? read_number(r, json, field, row, &number) : 0;

	if (res)
		return res;
	switch (field->type) {
	case PROTOBUF_C_TYPE_UINT64:
		if (row->format == FIELD_HEX)
			return read_hex(r, json, field, ret);
		*(uint64_t *)ret = number;
		return 0;
	case PROTOBUF_C_TYPE_UINT32:
		*(uint32_t *)ret = number;
		return 0;
	case PROTOBUF_C_TYPE_INT32:
		*(int32_t *)ret = number;
		return 0;
	case PROTOBUF_C_TYPE_DOUBLE:
		*(double *)ret = json_number_value(json);
		return json_is_number(json) ? 0 : bad(r, field, "a number");
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)ret = json_is_true(json);
		return json_is_boolean(json) ? 0 : bad(r, field, "true or false");
	case PROTOBUF_C_TYPE_STRING:
		if (!json_is_string(json))
			return bad(r, field, "a string");
		*(char **)ret = strdup(json_string_value(json));
		return *(char **)ret ? 0 : -ENOMEM;
	default:
		return read_message(r, json, field->descriptor, row->fields, ret);
	}
}

static int read_array(struct reader *r, const json_t *json, const ProtobufCFieldDescriptor *field,
		      const struct field *row, ProtobufCMessage *message)
{
	char *base = (char *)message, *values;
	size_t cnt = json_array_size(json), *ret_cnt = (size_t *)(base + field->quantifier_offset);
	int res = 0;

	if (!json_is_array(json))
		return bad(r, field, "an array");
	if (!cnt)
		return 0;
	values = calloc(cnt, field__value_size(field));
	if (!values)
		return -ENOMEM;
	*(void **)(base + field->offset) = values;
	while (*ret_cnt < cnt && !res) {
		res = read_value(r, json_array_get(json, *ret_cnt), field, row,
				 values + *ret_cnt * field__value_size(field));
		/*
		 * A partly read value is freed with the rest; free_unpacked does not accept NULL.
		 */
		*ret_cnt += !res;
	}
	return res;
}

static int read_member(struct reader *r, const json_t *json, const ProtobufCFieldDescriptor *field,
		       const struct field *row, ProtobufCMessage *message)
{
	char *base = (char *)message;
	int res;

	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return read_array(r, json, field, row, message);
	res = read_value(r, json, field, row, base + field->offset);
	if (!res && field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
		*(protobuf_c_boolean *)(base + field->quantifier_offset) = true;
	return res;
}

static int read_members(struct reader *r, const json_t *json, const struct field *rows,
			ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *descriptor = message->descriptor;
	const json_t *value;
	const char *key;
	int res = 0;

	/* jansson's iterators do not accept const. */
	json_object_foreach((json_t *)json, key, value)
	{
		const ProtobufCFieldDescriptor *field =
			protobuf_c_message_descriptor_get_field_by_name(descriptor, key);

		if (field)
			res = read_member(r, value, field, &rows[field - descriptor->fields],
					  message);
		else
			r->unknown_cnt++;
		if (res)
			break;
	}
	return res;
}

/* Sets *ret only to a complete message. */
static int read_message(struct reader *r, const json_t *json,
			const ProtobufCMessageDescriptor *descriptor, const struct field *rows,
			ProtobufCMessage **ret)
{
	ProtobufCMessage *message;
	int res;

	if (!json_is_object(json))
		return err__set(r->err, EBADMSG, "'%s' is not an object", descriptor->short_name);
	message = calloc(1, descriptor->sizeof_message);
	if (!message)
		return -ENOMEM;
	protobuf_c_message_init(descriptor, message);
	res = read_members(r, json, rows, message);
	if (res)
		protobuf_c_message_free_unpacked(message, NULL);
	else
		*ret = message;
	return res;
}

static const ProtobufCFieldDescriptor *kind_of(const json_t *json)
{
	const char *type = json_string_value(json_object_get(json, "type"));
	const ProtobufCFieldDescriptor *field =
		type ? protobuf_c_message_descriptor_get_field_by_name(&jankbpf__record__descriptor,
								       type)
		     : NULL;

	return field && field->type == PROTOBUF_C_TYPE_MESSAGE ? field : NULL;
}

static int read_record(struct reader *r, json_t *json, Jankbpf__Record **ret)
{
	const ProtobufCFieldDescriptor *kind = kind_of(json);
	const char *schema = json_string_value(json_object_get(json, "schema"));
	Jankbpf__Record *record;
	int res;

	if (!kind || !schema)
		return err__set(r->err, EBADMSG, "no record of jankbpf: it lacks type and schema");
	record = calloc(1, sizeof(*record));
	if (!record)
		return -ENOMEM;
	jankbpf__record__init(record);
	record->schema = strdup(schema);
	json_object_del(json, "type");
	json_object_del(json, "schema");
	res = record->schema
		      ? read_message(
				r, json, kind->descriptor,
				fields__of_record[kind - jankbpf__record__descriptor.fields].fields,
				(ProtobufCMessage **)&record->block)
		      : -ENOMEM;
	if (res) {
		jankbpf__record__free_unpacked(record, NULL);
		return res;
	}
	record->type_case = (Jankbpf__Record__TypeCase)kind->id;
	*ret = record;
	return 0;
}

int json__read_record(const char *text, size_t len, Jankbpf__Record **ret,
		      uint64_t *ret_unknown_cnt, struct err *err)
{
	struct reader r = { .err = err };
	uint64_t failed = alloc__own_cnt();
	json_error_t error;
	json_t *json;
	int res = json__read_own(text, len, ret);

	if (res != -EBADMSG) {
		if (!res)
			*ret_unknown_cnt = 0;
		return res;
	}
	json_set_alloc_funcs(malloc, free); /* base/alloc.h counts failures */
	json = json_loadb(text, len, 0, &error);
	if (alloc__own_cnt() != failed) { /* then values may be missing */
		json_decref(json);
		return -ENOMEM;
	}
	if (!json)
		return err__set(err, EBADMSG, "no JSON: %s", error.text);
	res = read_record(&r, json, ret);
	json_decref(json);
	if (!res)
		*ret_unknown_cnt = r.unknown_cnt;
	return res;
}

/*
 * --- the JSON Schema in the binary, for `jankbpf --schema`: mk/schema.mk converts it to a C string
 */

const char json_schema[] =
#include "json_schema.inc"
	;
