/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the text sink: every string goes through here, so that no line exceeds the
 * terminal's width and every name from a traced program is cleaned
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/text/text.h"
#include "export/values.h"

static const char *const style_codes[] = {
	[STYLE_NONE] = NULL,   [STYLE_DIM] = "2",   [STYLE_BOLD] = "1",	 [STYLE_JANK] = "1;33",
	[STYLE_HANG] = "1;31", [STYLE_GOOD] = "32", [STYLE_WARN] = "33", [STYLE_REVERSE] = "7",
};

/* A cell and a colour for each state; the cells differ even without colour. */
static const struct {
	const char *cell, *code;
} state_looks[JANK_STATE_CNT] = {
	[JANK_STATE_RUNNING] = { "█", "32" }, [JANK_STATE_RUNNABLE] = { "▓", "33" },
	[JANK_STATE_FUTEX] = { "▒", "35" },   [JANK_STATE_DISK] = { "▤", "34" },
	[JANK_STATE_SLEEP] = { "░", "36" },   [JANK_STATE_POLL] = { "▥", "36" },
	[JANK_STATE_SOCKET] = { "▨", "34" },  [JANK_STATE_PIPE] = { "▧", "34" },
	[JANK_STATE_BINDER] = { "▦", "35" },  [JANK_STATE_PAGE_FAULT] = { "▩", "31" },
	[JANK_STATE_STOPPED] = { "×", "37" }, [JANK_STATE_OTHER] = { "∙", "37" },
};

_Static_assert(JANK_STATE_CNT == 12, "state_looks: each state has a row");

const char *text__state_cell(uint32_t state)
{
	return state_looks[state < JANK_STATE_CNT ? state : JANK_STATE_OTHER].cell;
}

unsigned text__left(const struct text *t)
{
	return t->col < t->width ? t->width - t->col : 0;
}

static void put(struct text *t, const char *code, const char *str, unsigned max)
{
	if (max > text__left(t))
		max = text__left(t);
	if (!max || !*str)
		return;
	if (code && t->color)
		strbuf__addf(&t->out, "\033[%sm", code);
	t->col += cells__add(&t->out, str, max);
	if (code && t->color)
		strbuf__adds(&t->out, "\033[0m");
}

void text__put_cut(struct text *t, enum style style, const char *str, unsigned max)
{
	put(t, style_codes[style], str, max);
}

void text__put(struct text *t, enum style style, const char *str)
{
	put(t, style_codes[style], str, t->width);
}

void text__put_in_state(struct text *t, uint32_t state, const char *str)
{
	put(t, state_looks[state < JANK_STATE_CNT ? state : JANK_STATE_OTHER].code, str, t->width);
}

void text__putf(struct text *t, enum style style, const char *fmt, ...)
{
	struct strbuf sb = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf__vaddf(&sb, fmt, ap);
	va_end(ap);
	text__put(t, style, strbuf__str(&sb));
	t->out.failed |= sb.failed;
	strbuf__free(&sb);
}

void text__put_duration(struct text *t, enum style style, uint64_t ns)
{
	struct strbuf sb = STRBUF_INIT;

	clock__add_duration(&sb, ns);
	text__put(t, style, strbuf__str(&sb));
	t->out.failed |= sb.failed;
	strbuf__free(&sb);
}

void text__put_count(struct text *t, enum style style, uint64_t n, const char *noun)
{
	text__putf(t, style, "%s %s%s", text__grouped(n).str, noun, n == 1 ? "" : "s");
}

void text__fill(struct text *t, enum style style, const char *cell, unsigned to_col)
{
	bool styled = t->color && style_codes[style];

	if (to_col > t->width)
		to_col = t->width;
	if (t->col >= to_col)
		return;
	if (styled)
		strbuf__addf(&t->out, "\033[%sm", style_codes[style]);
	for (; t->col < to_col; t->col++)
		strbuf__adds(&t->out, cell);
	if (styled)
		strbuf__adds(&t->out, "\033[0m");
}

void text__nl(struct text *t)
{
	strbuf__addc(&t->out, '\n');
	t->col = 0;
	t->lines++;
}

struct pct text__pct(uint64_t part, uint64_t whole)
{
	double pct = whole ? 100.0 * (double)part / (double)whole : 0;
	struct pct ret;

	if (part && pct < 0.95)
		strcpy(ret.str, "<1%");
	else if (part < whole && pct > 99)
		strcpy(ret.str, ">99%");
	else
		snprintf(ret.str, sizeof(ret.str), "%.0f%%", pct < 999 ? pct : 999);
	return ret;
}

bool text__shows_all(const struct text *t)
{
	return t->verbosity > 0;
}

bool text__is_shown_part(const struct text *t, uint64_t part, uint64_t whole)
{
	return part && (text__shows_all(t) || part >= whole / 100);
}

struct grouped text__grouped(uint64_t n)
{
	struct grouped ret;
	char *p = ret.str + sizeof(ret.str) - 1;

	*p = '\0';
	for (unsigned digits = 0; n || !digits; n /= 10, digits++) {
		if (digits && digits % 3 == 0)
			*--p = ',';
		*--p = '0' + n % 10;
	}
	memmove(ret.str, p, strlen(p) + 1);
	return ret;
}

/* --- long texts: wrapped at spaces, or moved to a line of their own */

/* Writes the words of str, each after a space unless it begins its line. */
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

/* --- other character sets */

static const struct {
	const char *from;
	char to;
} ascii_of[] = {
	{ "━", '=' }, { "·", '|' }, { "…", '~' }, { "←", '<' }, { "↳", '^' }, { "▸", '>' },
	{ "»", '>' }, { "×", 'x' }, { "µ", 'u' }, { "█", '#' }, { "▓", '+' }, { "▒", '%' },
	{ "▤", 'd' }, { "░", '.' }, { "▥", 'e' }, { "▨", 's' }, { "▧", 'p' }, { "▦", 'b' },
	{ "▩", 'f' }, { "∙", 'o' }, { "▕", '|' }, { "▏", '|' }, { "▁", '_' }, { "▂", '_' },
	{ "▃", '-' }, { "▄", '-' }, { "▅", '=' }, { "▆", '=' }, { "▇", '#' },
};

static char to_ascii(const char *character, size_t len)
{
	for (size_t i = 0; i < sizeof(ascii_of) / sizeof(*ascii_of); i++)
		if (!strncmp(ascii_of[i].from, character, len) && !ascii_of[i].from[len])
			return ascii_of[i].to;
	return '?';
}

void text__to_ascii(struct strbuf *sb)
{
	char *to = sb->data;
	size_t len;

	for (size_t i = 0; i < sb->len; i += len) {
		len = text__utf8_len(sb->data + i, sb->len - i) ?: 1;
		*to++ = len > 1 ? to_ascii(sb->data + i, len) : sb->data[i];
	}
	if (sb->len)
		sb->len = (size_t)(to - sb->data);
}
