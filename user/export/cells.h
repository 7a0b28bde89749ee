/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text in terminal columns. */
#ifndef JANK_EXPORT_CELLS_H
#define JANK_EXPORT_CELLS_H

#include "base/strbuf.h"

/*
 * Adds str, safe for a terminal (valid UTF-8, no control bytes, nothing invisible, no change of
 * writing direction). Cuts it to max columns, the last of them then "…". Returns the columns used.
 */
unsigned cells__add(struct strbuf *sb, const char *str, unsigned max);

/* Columns of str when it is not cut. */
unsigned cells__width(const char *str);

#endif
