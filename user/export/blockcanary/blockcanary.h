/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BlockCanary log: one file for each block that has ended (docs/blockcanary-format.md). */
#ifndef JANK_EXPORT_BLOCKCANARY_BLOCKCANARY_H
#define JANK_EXPORT_BLOCKCANARY_BLOCKCANARY_H

#include "base/strbuf.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stdint.h>

/* The block's end in wall time: the log's name and its file's mtime. */
uint64_t blockcanary__time_ns(const Jankbpf__Block *block);

/* Adds the whole log. qualifier: BlockCanary's qua, NULL for the program's version. */
void blockcanary__add_log(struct strbuf *sb, const Jankbpf__Block *block, const char *qualifier);

/* Adds the part from "stack = " on. */
void blockcanary__add_stacks(struct strbuf *sb, const Jankbpf__Block *block);

/* Adds "MM-dd HH:mm:ss.SSS" of a time of the block. */
void blockcanary__add_time(struct strbuf *sb, const Jankbpf__Block *block, uint64_t mono_ns);

#endif
