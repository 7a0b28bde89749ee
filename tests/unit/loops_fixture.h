/* SPDX-License-Identifier: GPL-2.0 */
/* Loops to feed with records: for the tests of what the loops make of them. */
#ifndef JANK_LOOPS_FIXTURE_H
#define JANK_LOOPS_FIXTURE_H

#include "tests/tap.h"
#include "tests/unit/model_fixture.h"

static struct losses losses; /* of the loops of fresh() */

static inline struct loops *fresh(void)
{
	losses = (struct losses){ 0 };
	return loops__new(&losses);
}

/* Feeds a record that completes no dispatch. */
static inline void feed(struct loops *loops, const void *rec)
{
	struct dispatch *dispatch;

	if (fixture__feed(loops, rec, &dispatch) || dispatch)
		ok(false, "a record completed a dispatch, or was refused");
	dispatch__free(dispatch);
}

#endif
