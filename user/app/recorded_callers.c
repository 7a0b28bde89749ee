/* SPDX-License-Identifier: GPL-2.0 */
/* Callers that were found as it was recorded, by thread and time of their stacks. Anybody may have written the journal. */
#include <stdlib.h>
#include <string.h>

#include "app/recorded_parts.h"
#include "intake/journal.h"
#include "model/sample.h"

#define CALLERS_MAX 1024 /* numbers in one stack's text */

/* The hexadecimal numbers of a text; 0: it holds none. */
static size_t read_numbers(const char *text, uint64_t *ret, size_t max)
{
	size_t cnt = 0;

	while (text && *text && cnt < max) {
		char *end;

		ret[cnt] = strtoull(text, &end, 16);
		if (end == text)
			break;
		cnt++;
		text = end;
	}
	return cnt;
}

static int put_script(struct stack *stack, const uint64_t *numbers, size_t cnt)
{
	struct jank_script_frame script[JANK_SCRIPT_MAX];

	cnt /= 4;
	if (!cnt || cnt > JANK_SCRIPT_MAX)
		return 0;
	for (size_t i = 0; i < cnt; i++)
		script[i] = (struct jank_script_frame){ numbers[4 * i], numbers[4 * i + 1],
							numbers[4 * i + 2], numbers[4 * i + 3] };
	return stack__set_script(stack, script, cnt);
}

static int put(struct stack *stack, const json_t *json)
{
	uint64_t numbers[CALLERS_MAX], end = recorded__number(json, "end");
	size_t cnt = read_numbers(recorded__text(json, "addresses"), numbers, CALLERS_MAX);
	const char *module = recorded__text(json, "end_module");
	enum stack_end why = end <= STACK_END_DEEP ? (enum stack_end)end : STACK_END_UNKNOWN;
	int res = cnt ? stack__set_callers(stack, numbers, cnt, why, module) : 0;

	if (res)
		return res;
	cnt = read_numbers(recorded__text(json, "script"), numbers, CALLERS_MAX);
	return put_script(stack, numbers, cnt);
}

static bool is_of(const json_t *json, uint32_t tid, const struct stack *stack)
{
	return stack->addresses && recorded__number(json, "t_ns") == stack->t_ns &&
	       recorded__number(json, "tid") == tid;
}

/* Those of the block come before those of its chain, each in the order of time: looking goes on where it ended. */
static int fill(const json_t *list, size_t *at, uint32_t tid, struct stack *stack)
{
	size_t cnt = json_array_size(list);

	for (size_t i = 0; i < cnt; i++) {
		size_t place = (*at + i) % cnt;
		const json_t *json = json_array_get(list, place);

		if (!is_of(json, tid, stack))
			continue;
		*at = place + 1;
		return put(stack, json);
	}
	return 0;
}

int recorded__callers(void *recorded, struct block *block)
{
	const struct recorded_entry *entry = recorded__of_block(recorded, block, JOURNAL_CALLERS);
	const json_t *list = entry ? json_object_get(entry->json, "stacks") : NULL;
	struct stack *stack;
	size_t at = 0;
	uint32_t tid;
	int res = 0;

	for (size_t nr = 0; !res && (stack = block__stack(block, nr, &tid)); nr++)
		res = fill(list, &at, tid, stack);
	return res;
}
