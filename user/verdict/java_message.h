/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of an android.os.Message that only the stacks tell. */
#ifndef JANK_VERDICT_JAVA_MESSAGE_H
#define JANK_VERDICT_JAVA_MESSAGE_H

#include "model/block.h"

/*
 * Fills the handler or the callback of the block's message from the functions that
 * Handler.dispatchMessage called, and adds the message's name to its number if the Handler is one
 * of loops/android_messages.tbl. Changes nothing if the stacks do not show it, or contradict each
 * other, or a mark has told the handler. Requires named frames. 0 or -ENOMEM.
 */
int java_message__name(struct block *block);

#endif
