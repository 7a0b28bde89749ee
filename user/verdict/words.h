/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The words of a verdict's sentence. Names come from traced programs and hold any bytes: they are bounded here and
 * made safe by the exporters.
 */
#ifndef JANK_VERDICT_WORDS_H
#define JANK_VERDICT_WORDS_H

#include "base/strbuf.h"
#include "model/block.h"

void words__add_name(struct strbuf *sb, const char *name); /* cut at its end */
void words__add_path(struct strbuf *sb, const char *path); /* cut at its begin */

/* "ns::f", or "libx.so+0x12" for one without a name. */
void words__add_function(struct strbuf *sb, const struct frame *frame);

/* The same, with " (libx.so)" where that is not the process's own program. */
void words__add_place(struct strbuf *sb, const struct block *block, const struct frame *frame);

/* "redis-server (no symbols)": many places of a module that have no names */
void words__add_nameless(struct strbuf *sb, const struct frame *frame);

/* "thread 'x' (tid 12)" of the block's own process, else "postgres (pid 612)"; process may be NULL. */
void words__add_task(struct strbuf *sb, const struct block *block, const struct other_task *task,
		     const char *process);

/*
 * "'x' (pid 7 and 2 more, real-time priority 50)": who ran instead. The priority only where it is better than `than`.
 */
void words__add_runner(struct strbuf *sb, const struct other_task *task, size_t more,
		       uint16_t than);

void words__add_pct(struct strbuf *sb, double share); /* "80 %" */

/* The words of verdict.h's list, or NULL. */
const char *words__of_what(const char *what);

#endif
