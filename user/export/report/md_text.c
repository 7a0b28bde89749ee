/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of the Markdown report. Names may be any bytes: none of them ends a cell, a code or a
 * fence.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/report/md.h"

/* Emphasis is harmless, and its escapes are hard to read on a terminal. */
static bool is_markup(char c)
{
	return strchr("\\`<[]|", c);
}

void md__add_text(struct strbuf *sb, struct strbuf *clean, const char *text)
{
	const char *str;

	strbuf__reset(clean);
	text__add_clean(clean, text);
	str = strbuf__str(clean);
	for (size_t i = 0; str[i]; i++) {
		if (is_markup(str[i]))
			strbuf__addc(sb, '\\');
		strbuf__addc(sb, str[i]);
	}
}

void md__add_code(struct strbuf *sb, struct strbuf *clean, const char *name)
{
	size_t begin;

	strbuf__reset(clean);
	cells__add(clean, name && *name ? name : "?", MD_NAME_COLUMNS);
	strbuf__addc(sb, '`');
	begin = sb->len;
	strbuf__adds(sb, strbuf__str(clean));
	for (size_t i = begin; i < sb->len; i++)
		if (sb->data[i] == '`' || sb->data[i] == '|')
			sb->data[i] = '\'';
	strbuf__addc(sb, '`');
}

void md__add_grouped(struct strbuf *sb, uint64_t n)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			strbuf__addc(sb, ',');
		strbuf__addc(sb, digits[i]);
	}
}

void md__add_count(struct strbuf *sb, uint64_t n, const char *noun)
{
	md__add_grouped(sb, n);
	strbuf__addf(sb, " %s%s", noun, n == 1 ? "" : "s");
}

void md__pad(struct strbuf *sb, size_t begin, unsigned width, bool number)
{
	char *text = sb->failed ? NULL : strdup(strbuf__str(sb) + begin);
	unsigned used = text ? cells__width(text) : width;

	if (used < width && number) {
		sb->len = begin;
		strbuf__addf(sb, "%*s%s", (int)(width - used), "", text);
	} else if (used < width) {
		strbuf__addf(sb, "%*s", (int)(width - used), "");
	}
	free(text);
}
