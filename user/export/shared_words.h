/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that several sinks share: messages, waits, modules; and columns of a terminal. */
#ifndef JANK_EXPORT_SHARED_WORDS_H
#define JANK_EXPORT_SHARED_WORDS_H

#include "base/function_name.h"
#include "base/strbuf.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stdint.h>

/* The module's name without its directories: "libc.so.6"; "" when unknown. */
const char *module__base(const char *module);

/*
 * Adds a short phrase for what a dispatch handled, "QTimerEvent to MainWindow", "on_read(), tcp
 * 10.0.0.1:80->10.0.0.7:41322". Adds nothing if nothing is known. Accepts NULL.
 */
void message__add_phrase(struct strbuf *sb, const Jankbpf__Message *message);

/* Adds a short name, "timer_cb()". `call`: the name is a function's. */
void symbol__add_short(struct strbuf *sb, const Jankbpf__Symbol *symbol, bool call);

/* Adds the full name, "+0x1234" without one. */
void symbol__add(struct strbuf *sb, const Jankbpf__Symbol *symbol);

/*
 * Adds "for /var/lib/x on vda1", "for unix /run/x.sock (postgres, pid 612), 250 ms at most". Leaves
 * out a mutex's owner if its tid is `said`. `all` adds the descriptor and the requested bytes. Adds
 * nothing if nothing is known. Accepts NULL.
 */
void wait__add_phrase(struct strbuf *sb, const Jankbpf__WaitedFor *waited, uint32_t said,
		      const char *syscall, bool all);

/* --- text in terminal columns (cells.c) */

/*
 * Adds str, safe for a terminal (valid UTF-8, no control bytes, nothing invisible, no change of
 * writing direction). Cuts it to max columns, the last of them then "…". Returns the columns used.
 */
unsigned cells__add(struct strbuf *sb, const char *str, unsigned max);

/* Columns of str when it is not cut. */
unsigned cells__width(const char *str);

#endif
