/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protobuf messages: optional fields, and messages that no arena has. Each of these is as
 * protobuf-c unpacks it: a block of malloc for itself, and for each text, array and message in it.
 * protobuf_c_message_free_unpacked(message, NULL) frees it all.
 */
#ifndef JANK_BASE_PROTO_H
#define JANK_BASE_PROTO_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
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

/* Sets a field that is there from now on. */
#define SET(message, field, value) ((message)->has_##field = true, (message)->field = (value))

/* Sets a field whose value 0 means that it is not known, or that there is nothing to tell. */
#define SET_KNOWN(message, field, value)                                                           \
	((message)->has_##field = !!(value), (message)->field = (value))

#endif
