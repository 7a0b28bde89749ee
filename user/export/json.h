/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the JSON of a block and of the summary. */
#ifndef JANK_EXPORT_JSON_H
#define JANK_EXPORT_JSON_H

#include "base/jsonw.h"
#include "model/block.h"

/* `lost` with its object of counts by reason. */
void json__add_lost(struct jsonw *w, const struct block_loss *lost, size_t cnt);

#endif
