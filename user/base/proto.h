/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages that no arena has. Each is as protobuf-c unpacks it: a block of malloc for itself, for
 * each text, array and message in it. protobuf_c_message_free_unpacked(message, NULL) frees it all.
 */
#ifndef JANK_BASE_PROTO_H
#define JANK_BASE_PROTO_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/* Empty. NULL: out of memory. The cast is the caller's. */
void *proto__new(const ProtobufCMessageDescriptor *descriptor);

/* A deep copy. NULL: out of memory, or message is NULL. */
void *proto__copy(const ProtobufCMessage *message);

/*
 * The fields of two messages of one type; those of `over` where both have one, elements of both for
 * a list. over: may be NULL. NULL: out of memory.
 */
void *proto__merged(const ProtobufCMessage *under, const ProtobufCMessage *over);

#endif
