/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Optional fields of a protobuf message of C. */
#ifndef JANK_BASE_MESSAGE_H
#define JANK_BASE_MESSAGE_H

#include <stdbool.h>

/* Sets a field that is there from now on. */
#define SET(message, field, value) ((message)->has_##field = true, (message)->field = (value))

/* Sets a field whose value 0 means that it is not known, or that there is nothing to tell. */
#define SET_KNOWN(message, field, value)                                                           \
	((message)->has_##field = !!(value), (message)->field = (value))

#endif
