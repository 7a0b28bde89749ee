/* SPDX-License-Identifier: GPL-2.0 */
/* What may be longer than a line: wrapped at its spaces, or moved whole to a line of its own. */
#include <string.h>

#include "export/cells.h"
#include "export/text/text.h"

/* The words of str, each behind a space unless it begins its line. */
void text__wrap(struct text *t, enum style style, const char *indent, const char *str)
{
	struct strbuf word = STRBUF_INIT;
	bool begun = t->col;

	while (*str) {
		size_t len = strcspn(str, " ");

		strbuf__reset(&word);
		strbuf__add(&word, str, len);
		str += len + (str[len] == ' ');
		if (!len)
			continue;
		if (begun && 1 + cells__width(strbuf__str(&word)) > text__left(t)) {
			text__nl(t);
			begun = false;
		}
		text__put(t, STYLE_NONE, begun ? " " : indent);
		text__put(t, style, strbuf__str(&word));
		begun = true;
	}
	t->out.failed |= word.failed;
	strbuf__free(&word);
}

void text__put_beside(struct text *t, const char *str)
{
	if (!*str)
		return;
	if (2 + cells__width(str) <= text__left(t)) {
		text__put(t, STYLE_NONE, ", ");
	} else {
		text__nl(t);
		text__put(t, STYLE_NONE, "          ");
	}
	text__put(t, STYLE_NONE, str);
}
