/* SPDX-License-Identifier: GPL-2.0 */
/* Android's ANR limits, and the ids of a dispatch's records. */
#include "base/clock.h"

#include "model/block.h"
#include "tests/tap.h"

int main(void)
{
	is_uint(anr__exceeded(5 * NS_PER_SEC), 0, "not longer than the first limit");
	is_uint(anr__exceeded(5 * NS_PER_SEC + 1), 5, "longer than that of an input event");
	is_uint(anr__exceeded(19 * NS_PER_SEC), 10, "than a broadcast's");
	is_uint(anr__exceeded(21 * NS_PER_SEC), 20, "than a service's");
	is_uint(anr__exceeded(UINT64_MAX), 200, "than all of them");
	is_uint(hang__number(BLOCK_JANK, 7 * NS_PER_SEC), 0, "a block");
	is_uint(hang__number(BLOCK_HANG, NS_PER_SEC), 1, "a hang below the limits has no suffix");
	is_uint(hang__number(BLOCK_HANG, 7 * NS_PER_SEC), 6,
		"the same dispatch's record at the first limit");
	return tap__done();
}
