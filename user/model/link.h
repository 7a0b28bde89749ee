/* SPDX-License-Identifier: GPL-2.0 */
/* The life of a link of the chain of wakers. */
#ifndef JANK_MODEL_LINK_H
#define JANK_MODEL_LINK_H

#include "model/block.h"
#include <stddef.h>

void links__free(struct link *links, size_t cnt); /* the array, too; accepts NULL with 0 */
void links__cut(struct link **links, size_t *cnt, size_t keep); /* frees those behind; all: NULL */
size_t link__bytes(const struct link *link);			/* of memory, about */

#endif
