/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of the Markdown report: texts, which may be any bytes, and cells of a table. */
#ifndef JANK_EXPORT_REPORT_MD_H
#define JANK_EXPORT_REPORT_MD_H

#include "export/report/report.h"

#define MD_NAME_COLUMNS 60

/* Adds a text as it is, without the meaning that Markdown would give it. clean: memory to use. */
void md__add_text(struct strbuf *sb, struct strbuf *clean, const char *text);

/* Adds a name as code, "?" for none. Neither a backtick nor a bar can end it. */
void md__add_code(struct strbuf *sb, struct strbuf *clean, const char *name);

/* "1,234,567" */
void md__add_grouped(struct strbuf *sb, uint64_t n);

/* "1 block", "2 blocks" */
void md__add_count(struct strbuf *sb, uint64_t n, const char *noun);

/* Pads a cell of a table, which begins at `begin`, to a width; on its left for a number. */
void md__pad(struct strbuf *sb, size_t begin, unsigned width, bool number);

#endif
