/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matching of function names with the tables of loops/wait_reasons.tbl. */
#include "model/chain/wait_reason.h"

#include <string.h>

#include "wait_reasons.inc" /* by tools/loops/reasons */

#define NAME_LEN_MAX 512 /* traced programs choose the names */

/*
 * Matches the whole name, ignoring compiler suffixes (".isra.0") and symbol versions
 * ("@@GLIBC_2.34").
 */
static bool is_whole(const char *name, const char *pattern)
{
	size_t len = strlen(pattern);

	return !strncmp(name, pattern, len) && (!name[len] || name[len] == '.' || name[len] == '@');
}

static bool matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);

	if (pattern[0] == '*')
		return memmem(name, strnlen(name, NAME_LEN_MAX), pattern + 1, len - 1);
	if (pattern[0] != name[0])
		return false;
	if (pattern[len - 1] == '*')
		return !strncmp(name, pattern, len - 1);
	return is_whole(name, pattern);
}

/* Index of the first rule below `end` that matches, or end. */
static size_t first_rule(const struct wait_reason_table *table, const char *name, size_t end)
{
	for (size_t i = 0; i < end; i++)
		if (matches(table->rules[i].pattern, name))
			return i;
	return end;
}

static bool may_match(const struct wait_reason_table *table, const struct frame *frame)
{
	return frame->function && !frame->inlined && frame->kernel == table->kernel;
}

const char *wait_reason_table__any(const struct wait_reason_table *table, const struct stack *stack)
{
	size_t best = table->cnt;

	for (size_t i = 0; best && i < stack->frame_cnt; i++)
		if (may_match(table, &stack->frames[i]))
			best = first_rule(table, stack->frames[i].function, best);
	return best < table->cnt ? table->rules[best].reason : NULL;
}

const char *wait_reason_table__innermost(const struct wait_reason_table *table,
					 const struct stack *stack, const struct frame **ret)
{
	for (size_t i = 0; i < stack->frame_cnt; i++) {
		size_t rule = table->cnt;

		if (may_match(table, &stack->frames[i]))
			rule = first_rule(table, stack->frames[i].function, table->cnt);
		if (rule == table->cnt)
			continue;
		*ret = &stack->frames[i];
		return table->rules[rule].reason;
	}
	return NULL;
}

const char *wait_reason_table__name(const struct wait_reason_table *table, const char *name)
{
	size_t rule = name ? first_rule(table, name, table->cnt) : table->cnt;

	return rule < table->cnt ? table->rules[rule].reason : NULL;
}
