/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A quick reader for records in the very form that json.c writes: no blanks, members once and in
 * the order of the schema, no unknown ones. It makes the message without a tree, in a fifth of the
 * time. It refuses every other text; json__read_record then reads that with jansson.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/json/json.h"

#define DIGITS_MAX   18 /* of an integer that fits into 63 bits */
#define DECIMALS_MAX 15 /* digits of a decimal whose division is exact to the last bit */
#define OTHER	     (-EBADMSG)
#define ARRAY_MIN    4

/* A position in the text. Functions return 0, OTHER for another form, or -ENOMEM. */
struct own {
	const char *at, *end;
};

static bool eat(struct own *o, char c)
{
	if (o->at == o->end || *o->at != c)
		return false;
	o->at++;
	return true;
}

static bool eat_word(struct own *o, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(o->end - o->at) < len || memcmp(o->at, word, len))
		return false;
	o->at += len;
	return true;
}

/* --- strings */

/* Adds one escaped character. */
static int read_escape(struct own *o, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *known;
	unsigned value = 0;

	if (o->at == o->end || !*o->at)
		return OTHER;
	known = strchr(from, *o->at);
	if (known) {
		o->at++;
		*(*to)++ = into[known - from];
		return 0;
	}
	if (eat_word(o, "u2028") || eat_word(o, "u2029")) {
		memcpy(*to, "\xe2\x80", 2);
		(*to)[2] = o->at[-1] == '8' ? '\xa8' : '\xa9';
		*to += 3;
		return 0;
	}
	if (!eat_word(o, "u00") || o->end - o->at < 2)
		return OTHER;
	for (int i = 0; i < 2; i++, o->at++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = *o->at ? strchr(digits, *o->at) : NULL;

		if (!digit)
			return OTHER;
		value = value * 16 + (unsigned)(digit - digits);
	}
	if (!value)
		return OTHER;
	if (value >= 0x80)
		*(*to)++ = (char)(0xc0 | value >> 6);
	*(*to)++ = (char)(value < 0x80 ? value : 0x80 | (value & 0x3f));
	return 0;
}

static int read_char(struct own *o, char **to)
{
	size_t len;

	if ((unsigned char)*o->at < 0x20)
		return OTHER;
	if (eat(o, '\\'))
		return read_escape(o, to);
	len = (unsigned char)*o->at < 0x80 ? 1 : text__utf8_len(o->at, (size_t)(o->end - o->at));
	if (!len)
		return OTHER;
	memcpy(*to, o->at, len);
	*to += len;
	o->at += len;
	return 0;
}

/* Bytes up to the closing quote. */
static size_t raw_len(const struct own *o)
{
	const char *at = o->at;

	while (at < o->end && *at != '"')
		at += *at == '\\' && at + 1 < o->end ? 2 : 1;
	return (size_t)(at - o->at);
}

/* An escape is never shorter than its character. */
static int read_string(struct own *o, char **ret)
{
	char *text, *to;
	int res = 0;

	if (!eat(o, '"'))
		return OTHER;
	text = to = malloc(raw_len(o) + 1);
	if (!text)
		return -ENOMEM;
	while (!res && o->at < o->end && *o->at != '"')
		res = read_char(o, &to);
	*to = '\0';
	if (!res && !eat(o, '"'))
		res = OTHER;
	if (res)
		free(text);
	else
		*ret = text;
	return res;
}

/* --- numbers */

/* Digits as an integer; *ret_cnt of them. */
static uint64_t read_digits(struct own *o, size_t *ret_cnt)
{
	const char *begin = o->at;
	uint64_t value = 0;

	while (o->at < o->end && *o->at >= '0' && *o->at <= '9' && o->at - begin <= DIGITS_MAX)
		value = value * 10 + (uint64_t)(*o->at++ - '0');
	*ret_cnt = (size_t)(o->at - begin);
	return value;
}

static int read_integer(struct own *o, const struct field *row, uint64_t *ret)
{
	bool zero = o->at < o->end && *o->at == '0';
	size_t cnt;

	*ret = read_digits(o, &cnt);
	if (!cnt || cnt > DIGITS_MAX || (zero && cnt > 1))
		return OTHER;
	return *ret <= row->max && (row->min <= 0 || *ret >= (uint64_t)row->min) ? 0 : OTHER;
}

static int read_decimal(struct own *o, double *ret)
{
	bool negative = eat(o, '-'), zero = o->at < o->end && *o->at == '0';
	size_t cnt, decimals = 0;
	uint64_t value = read_digits(o, &cnt), power = 1;

	if (!cnt || (zero && cnt > 1))
		return OTHER;
	if (eat(o, '.')) {
		const char *begin = o->at;
		uint64_t fraction = read_digits(o, &decimals);

		if (!decimals || cnt + decimals > DECIMALS_MAX)
			return OTHER;
		for (; begin < o->at; begin++)
			power *= 10;
		value = value * power + fraction;
	}
	if (cnt + decimals > DECIMALS_MAX)
		return OTHER;
	*ret = (double)value / (double)power * (negative ? -1 : 1);
	return 0;
}

static int read_hex(struct own *o, uint64_t *ret)
{
	size_t cnt = 0;

	if (!eat_word(o, "\"0x"))
		return OTHER;
	for (*ret = 0; o->at < o->end && *o->at != '"'; o->at++, cnt++) {
		unsigned char c = (unsigned char)*o->at;

		if (cnt == 16 || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return OTHER;
		*ret = *ret << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return cnt && eat(o, '"') ? 0 : OTHER;
}

/* --- values */

static int read_object(struct own *o, const ProtobufCMessageDescriptor *descriptor,
		       const struct field *rows, ProtobufCMessage **ret);

static int read_number(struct own *o, const ProtobufCFieldDescriptor *field,
		       const struct field *row, void *ret)
{
	uint64_t number = 0;
	int res = row->format == FIELD_HEX ? read_hex(o, &number) : read_integer(o, row, &number);

	if (res)
		return res;
	if (field->type == PROTOBUF_C_TYPE_UINT64)
		*(uint64_t *)ret = number;
	else
		*(uint32_t *)ret = (uint32_t)number;
	return 0;
}

static int read_value(struct own *o, const ProtobufCFieldDescriptor *field, const struct field *row,
		      void *ret)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_INT32:
		return read_number(o, field, row, ret);
	case PROTOBUF_C_TYPE_DOUBLE:
		return read_decimal(o, ret);
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)ret = eat_word(o, "true");
		return *(protobuf_c_boolean *)ret || eat_word(o, "false") ? 0 : OTHER;
	case PROTOBUF_C_TYPE_STRING:
		return read_string(o, ret);
	case PROTOBUF_C_TYPE_MESSAGE:
		return read_object(o, field->descriptor, row->fields, ret);
	default:
		return OTHER;
	}
}

/* Counts only complete values: the others are not freed with the message. */
static int read_array(struct own *o, const ProtobufCFieldDescriptor *field, const struct field *row,
		      ProtobufCMessage *message)
{
	char *base = (char *)message;
	size_t *cnt = (size_t *)(base + field->quantifier_offset), cap = 0;
	size_t size = field__value_size(field);
	char **values = (char **)(base + field->offset);
	int res = 0;

	if (!eat(o, '['))
		return OTHER;
	if (eat(o, ']'))
		return 0;
	while (!res) {
		if (*cnt == cap) {
			char *longer = reallocarray(*values, cap ? cap * 2 : ARRAY_MIN, size);

			if (!longer)
				return -ENOMEM;
			*values = longer;
			cap = cap ? cap * 2 : ARRAY_MIN;
		}
		res = read_value(o, field, row, *values + *cnt * size);
		*cnt += !res;
		if (!res && !eat(o, ','))
			return eat(o, ']') ? 0 : OTHER;
	}
	return res;
}

static int read_member(struct own *o, const ProtobufCFieldDescriptor *field,
		       const struct field *row, ProtobufCMessage *message)
{
	char *base = (char *)message;
	int res;

	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return read_array(o, field, row, message);
	res = read_value(o, field, row, base + field->offset);
	if (!res && field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
		*(protobuf_c_boolean *)(base + field->quantifier_offset) = true;
	return res;
}

/* The next member's field, at *i or later: none comes twice. */
static bool find_field(struct own *o, const ProtobufCMessageDescriptor *descriptor, unsigned *i)
{
	const char *name = o->at + 1, *quote;

	if (!eat(o, '"'))
		return false;
	quote = memchr(name, '"', (size_t)(o->end - name));
	if (!quote)
		return false;
	for (; *i < descriptor->n_fields; (*i)++) {
		const char *known = descriptor->fields[*i].name;
		size_t len = strlen(known);

		if (len == (size_t)(quote - name) && !memcmp(known, name, len)) {
			o->at = quote + 1;
			return eat(o, ':');
		}
	}
	return false;
}

/* Reads members up to the closing brace. */
static int read_members(struct own *o, const struct field *rows, ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *descriptor = message->descriptor;
	unsigned i = 0;
	int res = 0;

	if (eat(o, '}'))
		return 0;
	while (!res) {
		if (!find_field(o, descriptor, &i))
			return OTHER;
		res = read_member(o, &descriptor->fields[i], &rows[i], message);
		i++;
		if (!res && !eat(o, ','))
			return eat(o, '}') ? 0 : OTHER;
	}
	return res;
}

/* Sets *ret only to a complete message. */
static int read_object(struct own *o, const ProtobufCMessageDescriptor *descriptor,
		       const struct field *rows, ProtobufCMessage **ret)
{
	ProtobufCMessage *message;
	int res;

	if (!eat(o, '{'))
		return OTHER;
	message = calloc(1, descriptor->sizeof_message);
	if (!message)
		return -ENOMEM;
	protobuf_c_message_init(descriptor, message);
	res = read_members(o, rows, message);
	if (res)
		protobuf_c_message_free_unpacked(message, NULL);
	else
		*ret = message;
	return res;
}

/* Reads {"type":"…","schema":"…", and leaves the position before the first member. */
static int read_head(struct own *o, Jankbpf__Record *record, unsigned *ret_kind)
{
	const ProtobufCMessageDescriptor *descriptor = record->base.descriptor;
	int res = OTHER;

	if (!eat_word(o, "{\"type\":\""))
		return OTHER;
	for (*ret_kind = 0; *ret_kind < descriptor->n_fields; (*ret_kind)++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[*ret_kind];

		if (field->type == PROTOBUF_C_TYPE_MESSAGE && eat_word(o, field->name))
			break;
	}
	if (*ret_kind < descriptor->n_fields && eat_word(o, "\",\"schema\":"))
		res = read_string(o, &record->schema);
	return res;
}

static int read_record(struct own *o, Jankbpf__Record *record)
{
	const ProtobufCFieldDescriptor *field;
	const ProtobufCMessageDescriptor *descriptor;
	ProtobufCMessage *message;
	unsigned kind;
	int res = read_head(o, record, &kind);

	if (res)
		return res;
	field = &record->base.descriptor->fields[kind];
	descriptor = field->descriptor;
	message = calloc(1, descriptor->sizeof_message);
	if (!message)
		return -ENOMEM;
	protobuf_c_message_init(descriptor, message);
	record->block = (Jankbpf__Block *)message;
	record->type_case = (Jankbpf__Record__TypeCase)field->id;
	if (!eat(o, ','))
		return eat(o, '}') ? 0 : OTHER;
	if (o->at < o->end && *o->at == '}')
		return OTHER;
	return read_members(o, fields__of_record[kind].fields, message);
}

int json__read_own(const char *text, size_t len, Jankbpf__Record **ret)
{
	struct own o = { text, text + len };
	Jankbpf__Record *record = calloc(1, sizeof(*record));
	int res;

	if (!record)
		return -ENOMEM;
	jankbpf__record__init(record);
	res = read_record(&o, record);
	if (!res)
		eat(&o, '\n');
	if (!res && o.at != o.end)
		res = OTHER;
	if (res)
		jankbpf__record__free_unpacked(record, NULL);
	else
		*ret = record;
	return res;
}
