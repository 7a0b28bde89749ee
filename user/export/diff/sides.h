/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of a comparison, which records and sums fill. One thread. */
#ifndef JANK_EXPORT_DIFF_SIDES_H
#define JANK_EXPORT_DIFF_SIDES_H

#include "export/diff/diff.h"

/*
 * The entry of a key, which is made if it is missing. 0 or -ENOMEM. *ret is NULL without an error
 * if there are too many.
 */
int diff__get_loop(struct diff *diff, const char *key, const char *process, const char *kind,
		   struct diff_loop **ret);
int diff__get_fault(struct diff *diff, struct diff_loop *loop, const char *key,
		    struct diff_fault **ret);

/* Adds an empty interval with room for so many buckets. NULL: out of memory. */
struct diff_interval *diff__new_interval(struct diff_side *side, size_t bucket_cnt);

/* Each adds to a side of a fault. 0 or -ENOMEM. */
int diff__add_end(struct diff_fault *fault, unsigned nr, uint64_t end_ns, uint64_t cnt);
int diff__add_delay(struct diff_fault *fault, unsigned nr, uint64_t delay_ns);

#endif
