/* SPDX-License-Identifier: GPL-2.0 */
/* Why stacks end early, in words. */
#ifndef JANK_EXPORT_QUALITY_H
#define JANK_EXPORT_QUALITY_H

#include "base/strbuf.h"
#include "model/block.h"

/* "complete", or the reasons (enum stack_quality), joined by ", ". */
void quality__add(struct strbuf *sb, const struct block *block);

#endif
