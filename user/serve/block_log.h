/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BlockCanary log of a block, among the logs of a directory. */
#ifndef JANK_SERVE_BLOCK_LOG_H
#define JANK_SERVE_BLOCK_LOG_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * Finds the log of the block with this end (wall time) and record_index__hash of its id: of one
 * millisecond there may be several logs. Sets the name. False: there is none.
 */
bool block_log__find(int dirfd, uint64_t end_ns, uint64_t id, struct strbuf *ret_name);

/* Adds the content of that log to ret. False: there is none, or it cannot be read. */
bool block_log__read(int dirfd, uint64_t end_ns, uint64_t id, struct strbuf *ret);

#endif
