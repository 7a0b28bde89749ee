/* SPDX-License-Identifier: GPL-2.0 */
/* Leaves samples of a dispatch out where there are too many, so that what is left still tells the same. */
#ifndef JANK_MODEL_THIN_H
#define JANK_MODEL_THIN_H

#include "model/block.h"
#include <stddef.h>

#define THIN_MIN                                                                                   \
	16 /* more than that can always be thinned: first, last, and one of each state are less */

/*
 * Frees about every second of samples in the order in which they came, and closes the gaps. Those of each state are thinned
 * among themselves, so that each keeps its part; of neighbours that stand for as many the longest span stays. The
 * first, the last and each state's longest always stay. Returns how many are left: with more than THIN_MIN less than cnt.
 */
size_t thin__halve(struct sample *samples, size_t cnt);

/* Afterwards each tick of the sampler stands for as many: newer ones, which were thinned less often, would outweigh. */
size_t thin__even_ticks(struct sample *samples, size_t cnt);

#endif
