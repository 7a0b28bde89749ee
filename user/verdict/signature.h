/* SPDX-License-Identifier: GPL-2.0 */
/* One fault is one signature, whatever the run, the machine and the build; another fault has another. */
#ifndef JANK_VERDICT_SIGNATURE_H
#define JANK_VERDICT_SIGNATURE_H

#include "verdict/proof.h"

/* Fills cause.signature, by the first part (which exists), its frame, and the chain's end where that part has one. */
void signature__make(struct proof *proof);

#endif
