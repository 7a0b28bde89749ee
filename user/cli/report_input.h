/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records that a report is made of: from a directory of -o, from files, from journals. */
#ifndef JANK_CLI_REPORT_INPUT_H
#define JANK_CLI_REPORT_INPUT_H

#include "base/err.h"
#include "options/options.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stdint.h>

struct r8_mapping;

/* Gets each record. Nonzero ends the reading and is returned. */
typedef int report_take_fn(void *ctx, const Jankbpf__Record *record);

struct report_input {
	const struct options *opts; /* of the run; journals are judged without most of them */
	struct r8_mapping *mapping; /* for the frames of records; borrowed. NULL: none */
	report_take_fn *take;
	void *ctx;
	uint64_t record_cnt; /* records that were read */
	uint64_t odd_cnt;    /* lines and messages that are no records, and torn ends */
};

/*
 * Reads one argument: a directory with blocks.jsonl or blocks.pb and their rotated files, a file of
 * records, a journal, or "-" for stdin. Damage is reported on stderr and is no error: what is
 * readable up to it is used. Returns 0, what take returned, or -errno with a message.
 */
int report_input__read(struct report_input *in, const char *path, struct err *err);

#endif
