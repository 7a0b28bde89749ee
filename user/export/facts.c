/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/facts.h"

#include <string.h>

static size_t count_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	size_t ret;

	memcpy(&ret, (const char *)message + field->quantifier_offset, sizeof(ret));
	return ret;
}

/* The message in a field, or the first of an array. NULL: there is none. */
static const ProtobufCMessage *inner(const ProtobufCMessage *message,
				     const ProtobufCFieldDescriptor *field)
{
	const void *at = (const char *)message + field->offset;

	if (field->label != PROTOBUF_C_LABEL_REPEATED)
		return *(ProtobufCMessage *const *)at;
	return count_of(message, field) ? **(ProtobufCMessage *const *const *)at : NULL;
}

static struct fact_value value_of(const ProtobufCMessage *message,
				  const ProtobufCFieldDescriptor *field)
{
	const void *at = (const char *)message + field->offset;
	struct fact_value ret = {};

	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		ret.number = count_of(message, field);
		ret.known = true;
	} else if (field->type == PROTOBUF_C_TYPE_STRING) {
		ret.text = *(char *const *)at;
		ret.known = ret.text;
	} else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		ret.known = inner(message, field);
	} else {
		ret.known = *(const protobuf_c_boolean *)((const char *)message +
							  field->quantifier_offset);
		ret.number = field->type == PROTOBUF_C_TYPE_UINT64 ? *(const uint64_t *)at
								   : *(const uint32_t *)at;
	}
	return ret;
}

static struct fact_value value_at(const signed char path[2], const Jankbpf__Interval *interval)
{
	const ProtobufCMessage *message = &interval->base;
	const ProtobufCFieldDescriptor *field = &message->descriptor->fields[path[0]];

	if (path[1] >= 0) {
		message = inner(message, field);
		if (!message)
			return (struct fact_value){};
		field = &message->descriptor->fields[path[1]];
	}
	return value_of(message, field);
}

struct fact_value fact__value(const struct fact *fact, const Jankbpf__Interval *interval)
{
	struct fact_value ret = value_at(fact->path, interval);

	if (fact->form == FACT_PRESENT)
		ret.number = ret.known;
	if (fact->word)
		ret.number = ret.text && !strcmp(ret.text, fact->word);
	if (fact->form == FACT_PRESENT || fact->word)
		ret.text = NULL;
	return ret;
}

bool fact__is_shown(const struct fact *fact, const Jankbpf__Interval *interval)
{
	return fact->shown_if[0] < 0 || value_at(fact->shown_if, interval).known;
}
