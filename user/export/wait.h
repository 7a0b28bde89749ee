/* SPDX-License-Identifier: GPL-2.0 */
/* What a span waited for: the parts of struct waited that take more than a look at a pointer. */
#ifndef JANK_EXPORT_WAIT_H
#define JANK_EXPORT_WAIT_H

#include "base/strbuf.h"
#include "model/block.h"
#include <stdbool.h>
#include <stdint.h>

/* Its descriptor; -1: none, or not known. Accepts NULL, as all of these. */
int32_t wait__fd(const struct waited *waited);

/* The longest that it was to wait, where a limit was asked for. */
bool wait__timeout(const struct waited *waited, uint64_t *ret_ns);

/* How many bytes were to be read or written, where the system call is one that says so. */
bool wait__bytes(const struct waited *waited, const char *syscall_name, uint64_t *ret);

/*
 * "for /var/lib/x on vda1", "for unix /run/x.sock (postgres, pid 612), 250 ms at most"; any bytes. A mutex's owner is
 * left out where it is `said`, a thread. `all` adds the descriptor and the bytes asked for. Nothing where nothing is known.
 */
void wait__add_phrase(struct strbuf *sb, const struct waited *waited, uint32_t said,
		      const char *syscall_name, bool all);

#endif
