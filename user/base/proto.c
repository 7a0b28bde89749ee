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
	size_t size = message ? protobuf_c_message_get_packed_size(message) : 0;
	uint8_t *bytes = message ? malloc(size + 1) : NULL;
	ProtobufCMessage *ret = NULL;

	if (bytes) {
		protobuf_c_message_pack(message, bytes);
		ret = protobuf_c_message_unpack(message->descriptor, NULL, size, bytes);
	}
	free(bytes);
	return ret;
}
