/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds what the limits left out to the record of an interval or of the run that was made last. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/record/record.h"

static Jankbpf__Limited *limited_of(struct record *r, struct limit_counts counts)
{
	Jankbpf__Limited *ret = NEW(r, limited);

	SET_KNOWN(ret, per_signature, counts.per_signature);
	SET_KNOWN(ret, per_second, counts.per_s);
	return ret;
}

int record__limit_summary(struct record *r, const struct limits *limits)
{
	if (setjmp(r->arena.out_of_memory))
		return -ENOMEM;
	r->summary->limited = limited_of(r, limits__counts(limits, true));
	return 0;
}

int record__limit_interval(struct record *r, const struct limits *limits)
{
	Jankbpf__Interval *ret = r->interval;
	Jankbpf__LeftOut **list;
	size_t cnt;
	int res = limits__left_out(limits, &list, &cnt);

	if (!res && setjmp(r->arena.out_of_memory))
		res = -ENOMEM;
	if (!res) {
		ret->limited = limited_of(r, limits__counts(limits, false));
		ret->left_out = record__array(r, cnt, &ret->n_left_out);
		for (size_t i = 0; i < ret->n_left_out; i++)
			ret->left_out[i] = list[i];
	}
	free(list);
	return res;
}
