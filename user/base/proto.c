/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/proto.h"

#include <stdlib.h>

void *proto__new(const ProtobufCMessageDescriptor *descriptor)
{
	ProtobufCMessage *ret = malloc(descriptor->sizeof_message);

	if (ret)
		protobuf_c_message_init(descriptor, ret);
	return ret;
}

void *proto__copy(const ProtobufCMessage *message)
{
	return message ? proto__merged(message, NULL) : NULL;
}

/* Messages that are packed one behind the other unpack as one: so says the format. */
void *proto__merged(const ProtobufCMessage *under, const ProtobufCMessage *over)
{
	size_t size = protobuf_c_message_get_packed_size(under);
	size_t more = over ? protobuf_c_message_get_packed_size(over) : 0;
	uint8_t *bytes = malloc(size + more + 1);
	ProtobufCMessage *ret = NULL;

	if (bytes) {
		protobuf_c_message_pack(under, bytes);
		if (over)
			protobuf_c_message_pack(over, bytes + size);
		ret = protobuf_c_message_unpack(under->descriptor, NULL, size + more, bytes);
	}
	free(bytes);
	return ret;
}
