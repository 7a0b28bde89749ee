/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsers of numbers, times and sizes in options. Each returns 0, or -EINVAL or -ERANGE with a
 * message that quotes `str` and names a valid form. *ret is unchanged on failure. err's exit status
 * is JANK_EXIT_USAGE. `what` names the option in the message, e.g. "--threshold".
 */
#ifndef JANK_BASE_PARSE_H
#define JANK_BASE_PARSE_H

#include "base/err.h"
#include <stdint.h>

int parse__u64(const char *str, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
	       struct err *err);

/*
 * A number (decimals allowed: "1.5s") with us, ms, s, m or h; without a unit: milliseconds. Range
 * in ns.
 */
int parse__time(const char *str, const char *what, uint64_t min_ns, uint64_t max_ns,
		uint64_t *ret_ns, struct err *err);

/* Like parse__time; without a unit: seconds. */
int parse__long_time(const char *str, const char *what, uint64_t min_ns, uint64_t max_ns,
		     uint64_t *ret_ns, struct err *err);

/* Bytes with an optional k, M or G (powers of 1024; "KiB", "MB", … are accepted too). */
int parse__size(const char *str, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
		struct err *err);

#endif
