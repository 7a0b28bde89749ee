/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `diff` and `fleet diff` share: times of operands, output, exit status. */
#ifndef JANK_CLI_DIFF_OUTPUT_H
#define JANK_CLI_DIFF_OUTPUT_H

#include "base/err.h"
#include "export/diff/diff.h"
#include "options/options.h"

/*
 * Splits "WORD[@FROM..TO]": *len becomes that of WORD, and the times are set that are given, in ns
 * since 1970. 0, or -errno with a message.
 */
int time_range__read(const char *word, size_t *len, uint64_t *from_ns, uint64_t *to_ns,
		     struct err *err);

/* Prints to stdout as text or JSON, by opts. names: of both sides. 0, or -errno with a message. */
int diff__print(const struct diff *diff, const struct diff_findings *findings,
		const char *const *names, const struct options *opts, struct err *err);

/* The status of a comparison that returned res: 3 if something is worse. */
int diff__exit_status(int res, const struct diff_findings *findings, const struct err *err);

#endif
