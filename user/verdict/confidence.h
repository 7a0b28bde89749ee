/* SPDX-License-Identifier: GPL-2.0 */
/* How much of the verdict was seen, not inferred. */
#ifndef JANK_VERDICT_CONFIDENCE_H
#define JANK_VERDICT_CONFIDENCE_H

#include "verdict/proof.h"

/*
 * 0 to 1, of the first part; its kind and share are exact whatever this says. The product of
 *
 *   coverage: the part of its time for which there is a sample: spans' time to the state's; of n ticks 1 - 1/(n + 1);
 *   names: 0.7 + 0.3 × the part of that time with an application's frame;
 *   records: 0.9 for each reason for which the block misses some;
 *   culprit: for a wait on somebody, 0.5 + 0.5 × the part of the chain's end's time that was seen; 0.7 with only
 *   a waker, 0.5 with nobody, where who ended it is what matters. For a wait for a CPU 0.5 + 0.5 × the part of
 *   it for which it is known who ran, unless it was throttled or stolen, which is counted.
 */
double confidence__of(const struct proof *proof);

#endif
