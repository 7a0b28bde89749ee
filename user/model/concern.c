/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/concern.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "model/stack.h"

/* The function of "int com.example.Main.run(int)" or "Lcom/example/Main;::run", with dots. */
static bool matches_java(const char *function, const char *glob)
{
	const char *paren = strchr(function, '('), *space = strchr(function, ' ');
	const char *colons = strstr(function, ";::");
	struct strbuf name = STRBUF_INIT;
	bool ret;

	if (space && paren && space < paren)
		return text__matches(glob, space + 1);
	if (function[0] != 'L' || !colons)
		return false;
	strbuf__add(&name, function + 1, (size_t)(colons - function) - 1);
	strbuf__addf(&name, ".%s", colons + strlen(";::"));
	for (char *at = name.data; at && (at = strchr(at, '/'));)
		*at = '.';
	ret = text__matches(glob, strbuf__str(&name));
	strbuf__free(&name);
	return ret;
}

static bool matches_function(const char *function, const char *glob)
{
	struct strbuf name = STRBUF_INIT;
	bool ret;

	if (text__matches(glob, function) || matches_java(function, glob))
		return true;
	function__add_short(&name, function, "", false);
	ret = text__matches(glob, strbuf__str(&name));
	strbuf__free(&name);
	return ret;
}

static bool matches_path(const char *path, const char *glob)
{
	return path && (text__matches(glob, path) || text__matches(glob, text__base_name(path)));
}

bool concern__matches(const struct frame *frame, const char *glob)
{
	if (frame->kernel)
		return false;
	return (frame->function && matches_function(frame->function, glob)) ||
	       matches_path(frame->module, glob) || matches_path(frame->file, glob);
}

static bool matches_any(const struct frame *frame, const char *const *globs, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (concern__matches(frame, globs[i]))
			return true;
	return false;
}

void concern__mark(struct stack *stack, const char *const *globs, size_t cnt)
{
	size_t first = 0;

	while (first < stack->frame_cnt && !matches_any(&stack->frames[first], globs, cnt))
		first++;
	if (!cnt || first == stack->frame_cnt)
		return;
	for (size_t i = 0; i < stack->frame_cnt; i++) {
		stack->frames[i].app =
			i == first || (i > first && matches_any(&stack->frames[i], globs, cnt));
		stack->frames[i].owner = CODE_UNKNOWN;
	}
}

/* --- --ignore */

static bool is_signature(const char *pattern)
{
	return strlen(pattern) >= IGNORED_SIGNATURE_MIN &&
	       !pattern[strspn(pattern, "0123456789abcdef")];
}

static bool has_frame(const struct block *block, const char *glob)
{
	if (block->cause.frame && concern__matches(block->cause.frame, glob))
		return true;
	for (size_t i = 0; i < block->sample_cnt; i++) {
		const struct stack *stack = &block->samples[i].stack;

		for (size_t k = 0; k < stack->frame_cnt; k++)
			if (stack__is_app(&stack->frames[k]) && !stack->frames[k].dispatcher &&
			    concern__matches(&stack->frames[k], glob))
				return true;
	}
	return false;
}

bool ignored__takes(struct ignored *list, size_t cnt, const struct block *block)
{
	for (size_t i = 0; i < cnt; i++) {
		const char *pattern = list[i].pattern;

		if (is_signature(pattern) ? !text__begins(block->cause.signature, pattern)
					  : !has_frame(block, pattern))
			continue;
		list[i].cnt++;
		return true;
	}
	return false;
}
