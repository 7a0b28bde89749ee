/* SPDX-License-Identifier: GPL-2.0 */
/* What a block waited for, as a journal tells it. */
#ifndef JANK_RECORDED_WAITED_H
#define JANK_RECORDED_WAITED_H

#include <jansson.h>

#include "model/block.h"

/*
 * Fills the names of what its spans and links waited for, its links' processes, preemptors' cgroups, and its CPU's
 * figures from a WAITED record's JSON, which anybody may have written. 0 or -ENOMEM.
 */
int recorded_waited__fill(struct block *block, const json_t *json);

#endif
