/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/stack_line.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define SHOWN_MAX 5
#define WORD_MAX  48 /* bytes: of templates the begin */
#define ARROW	  " ← "

/* Every program begins in them. */
static bool is_start(const char *name)
{
	static const char *const starts[] = {
		"_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone",
		"clone3", "__clone3"
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (text__begins(name, starts[i]) && strcspn(name, "@") == strlen(starts[i]))
			return true;
	return false;
}

/* NULL: nothing to show. */
static const char *word_of(const struct frame *frame)
{
	const char *name = frame->function;

	if (frame->kernel || !frame->app || (name && is_start(name)))
		return NULL;
	return name ? name : frame->module ? text__base_name(frame->module) : NULL;
}

/*
 * The words, without repetitions, of which the last one is the outermost. Returns their number; 0:
 * there are only files, which say no more than the process's name.
 */
static size_t words_of(const struct stack *stack, const char *words[SHOWN_MAX])
{
	const char *last = "";
	bool named = false;
	size_t cnt = 0;

	for (size_t i = 0; i < stack->frame_cnt; i++) {
		const char *word = word_of(&stack->frames[i]);

		if (!word || !strcmp(word, last))
			continue;
		last = word;
		named |= stack->frames[i].function != NULL;
		if (cnt < SHOWN_MAX)
			words[cnt] = word;
		cnt++;
	}
	if (!named || cnt <= SHOWN_MAX)
		return named ? cnt : 0;
	words[SHOWN_MAX - 2] = "…";
	words[SHOWN_MAX - 1] = last;
	return SHOWN_MAX;
}

void stack_line__make(const struct stack *stack, char *ret, size_t sz)
{
	const char *words[SHOWN_MAX];
	size_t cnt = words_of(stack, words), len = 0;

	*ret = 0;
	for (size_t i = 0; i < cnt && len < sz; i++)
		len += (size_t)snprintf(ret + len, sz - len, "%s%.*s", i ? ARROW : "",
					(int)text__cut(words[i], WORD_MAX), words[i]);
}
