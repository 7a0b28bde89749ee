/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in a terminal's columns. */
#ifndef JANK_EXPORT_CELLS_H
#define JANK_EXPORT_CELLS_H

#include "base/strbuf.h"

/*
 * Adds str, clean for a terminal (no control bytes, valid UTF-8, nothing invisible or that turns
 * the direction of writing), cut to at most max columns, the last of them then "…". Returns the
 * columns taken.
 */
unsigned cells__add(struct strbuf *sb, const char *str, unsigned max);

/* Columns that str would take when not cut. */
unsigned cells__width(const char *str);

#endif
