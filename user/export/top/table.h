/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of `jankbpf top` as text with colours: the head, the rows of loops, those of faults. */
#ifndef JANK_EXPORT_TOP_TABLE_H
#define JANK_EXPORT_TOP_TABLE_H

#include "export/text/text.h"
#include "export/top/loops.h"

/* Two lines: time, sums, threshold and own cost; then what is missing, or a blank one. */
void table__put_head(struct text *t, const struct loops_view *v);

void table__put_columns(struct text *t, enum style style, bool with_stalls);
/* style: of the whole row; STYLE_NONE: its own colours. */
void table__put_loop(struct text *t, enum style style, const struct loops_view *v,
		     const struct watched_loop *loop, bool with_stalls);

/* With the stalls of the fault, or with its process. */
void table__put_fault_columns(struct text *t, enum style style, bool with_process);
void table__put_fault(struct text *t, enum style style, const struct loops_view *v,
		      const struct loop_fault *fault, bool with_stalls);

#endif
