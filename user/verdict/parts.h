/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the verdict: which states, and which faults in them, took a tenth of the time or more. */
#ifndef JANK_VERDICT_PARTS_H
#define JANK_VERDICT_PARTS_H

#include "verdict/proof.h"

/*
 * Fills cause.parts but for their frames, and the samples' parts. There is one part at least, that of the largest
 * state. What is less than a tenth counts with the largest part of its state.
 */
void parts__divide(struct proof *proof);

#endif
