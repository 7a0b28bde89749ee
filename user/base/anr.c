/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table of Android's limits. */
#include "base/anr.h"

#include "base/clock.h"

const uint64_t anr__limits_s[ANR_LIMITS] = { 5, 10, 20, 200 };

uint32_t anr__exceeded(uint64_t delay_ns)
{
	uint32_t ret = 0;

	for (int i = 0; i < ANR_LIMITS; i++)
		if (delay_ns > anr__limits_s[i] * NS_PER_SEC)
			ret = anr__limits_s[i];
	return ret;
}
