/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of fields and methods in a mapping.txt. See r8_mapping.h. */
#include "symbol/languages/r8_mapping.h"

#include <string.h>

#define LINE_NR_MAX 0x7fffffffu

struct text {
	const char *at, *end;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool take(struct text *text, char c)
{
	if (text->at == text->end || *text->at != c)
		return false;
	text->at++;
	return true;
}

/* Returns false when no number is there, or one that is no line. */
static bool take_number(struct text *text, uint32_t *ret)
{
	uint64_t value = 0;

	if (text->at == text->end || !is_digit(*text->at))
		return false;
	while (text->at < text->end && is_digit(*text->at)) {
		value = value * 10 + (*text->at++ - '0');
		if (value > LINE_NR_MAX)
			return false;
	}
	*ret = value;
	return true;
}

/* "1:5:" or "1:" in front of the type. */
static bool take_range(struct text *text, struct r8_member *ret)
{
	if (!is_digit(*text->at))
		return true;
	ret->has_range = true;
	if (!take_number(text, &ret->begin) || !take(text, ':'))
		return false;
	ret->end = ret->begin;
	if (text->at == text->end || !is_digit(*text->at))
		return true;
	return take_number(text, &ret->end) && take(text, ':') && ret->begin <= ret->end;
}

/* ":10:14" or ":10" behind the arguments. */
static bool take_original(struct text *text, struct r8_member *ret)
{
	if (!take(text, ':'))
		return true;
	ret->has_original = true;
	if (!take_number(text, &ret->original_begin))
		return false;
	ret->original_end = ret->original_begin;
	return !take(text, ':') || take_number(text, &ret->original_end);
}

/* " -> " and what follows, in one line. */
static bool take_given(struct text *text, struct r8_member *ret)
{
	static const char arrow[] = " -> ";

	if ((size_t)(text->end - text->at) <= strlen(arrow) ||
	    memcmp(text->at, arrow, strlen(arrow)))
		return false;
	ret->given = text->at + strlen(arrow);
	ret->given_len = text->end - ret->given;
	return !memchr(ret->given, ' ', ret->given_len);
}

/* "com.other.Class.name" into the class and the name. */
static void split(struct r8_member *member)
{
	const char *dot = memrchr(member->name, '.', member->name_len);

	if (!dot)
		return;
	member->class = member->name;
	member->class_len = dot - member->name;
	member->name_len -= member->class_len + 1;
	member->name = dot + 1;
}

bool r8_member__parse(const char *line, size_t len, struct r8_member *ret)
{
	struct text text = { line, line + len };
	const char *type_end, *paren, *close;

	*ret = (struct r8_member){};
	while (text.at < text.end && (*text.at == ' ' || *text.at == '\t'))
		text.at++;
	if (text.at == text.end || !take_range(&text, ret))
		return false;
	type_end = memchr(text.at, ' ', text.end - text.at);
	if (!type_end || type_end == text.at || memchr(text.at, ':', type_end - text.at))
		return false;
	text.at = ret->name = type_end + 1;
	type_end = memchr(text.at, ' ', text.end - text.at);
	paren = memchr(text.at, '(', text.end - text.at);
	ret->is_method = paren && type_end && paren < type_end;
	if (!ret->is_method) {
		if (!type_end)
			return false;
		ret->name_len = type_end - ret->name;
		text.at = type_end;
		return ret->name_len && take_given(&text, ret);
	}
	ret->name_len = paren - ret->name;
	close = memchr(paren, ')', text.end - paren);
	if (!close || !ret->name_len)
		return false;
	text.at = close + 1;
	split(ret);
	return ret->name_len && take_original(&text, ret) && take_given(&text, ret);
}

uint32_t r8_member__line(const struct r8_member *member, uint32_t line)
{
	if (!member->has_original)
		return line;
	if (member->original_begin == member->original_end)
		return member->original_begin;
	if (!line || !member->has_range ||
	    member->original_end - member->original_begin != member->end - member->begin)
		return 0;
	return member->original_begin + (line - member->begin);
}
