/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder for the records in the rings of mmaps.h, as perf_event_open(2) describes them, with
 * bounds checks.
 */
#ifndef JANK_UPROBES_MMAPS_RECORD_H
#define JANK_UPROBES_MMAPS_RECORD_H

#include "uprobes/mmaps.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mmaps_kind { MMAPS_MAP, MMAPS_EXEC, MMAPS_FORK, MMAPS_EXIT, MMAPS_LOST };

struct mmaps_record {
	enum mmaps_kind kind;
	pid_t pid;
	pid_t tid;    /* MMAPS_EXIT */
	pid_t parent; /* MMAPS_FORK */
	uint64_t lost_cnt;
	struct mmaps_map map; /* its path points to the one below */
	char path[PATH_MAX];
};

/* Size of the trailer of every record: sample_id with PERF_SAMPLE_TIME. */
#define MMAPS_TRAILER_SZ sizeof(uint64_t)

/* Decodes a whole record with its header. False: irrelevant or unknown. */
bool mmaps_record__decode(const void *data, size_t len, struct mmaps_record *ret);

#endif
