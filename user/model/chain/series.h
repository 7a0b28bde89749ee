/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits in slices: who wants a lock may wait for it with a time-out, again and again, as CPython does for its own every 5 ms. All
 * of them are one wait, which whoever ended the last one answers for.
 */
#ifndef JANK_MODEL_CHAIN_SERIES_H
#define JANK_MODEL_CHAIN_SERIES_H

#include "model/chain/suspect.h"
#include <stdbool.h>
#include <stddef.h>

/* Is sample i a wait that the one after it goes on with? samples: in time order. */
bool series__goes_on(const struct sample *samples, size_t cnt, size_t i);

/* The wait of sample i, from the first on of those that it goes on with. */
struct wait series__wait(const struct sample *samples, size_t i, uint32_t tgid, uint32_t tid);

#endif
