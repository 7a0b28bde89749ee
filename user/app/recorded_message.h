/* SPDX-License-Identifier: GPL-2.0 */
/* What a block handled, as a journal tells it. */
#ifndef JANK_RECORDED_MESSAGE_H
#define JANK_RECORDED_MESSAGE_H

#include <jansson.h>

#include "model/message.h"

/* Fills the names from a MESSAGE record's JSON, which anybody may have written. 0 or -ENOMEM. */
int recorded_message__fill(struct message *message, const json_t *json);

#endif
