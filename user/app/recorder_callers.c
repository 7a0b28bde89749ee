/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The callers that were found in copies of stacks: a replay has no copies, nor the modules. A stack is known again by its
 * thread and time; addresses are in hexadecimal, for JSON's numbers end before they do.
 */
#include <inttypes.h>

#include "app/recorder_parts.h"

static void add_addresses(struct jsonw *w, const struct stack *stack)
{
	struct strbuf sb = STRBUF_INIT;

	for (uint32_t i = 0; i < stack->user_cnt; i++)
		strbuf__addf(&sb, "%s%" PRIx64, i ? " " : "",
			     stack->addresses[stack->kernel_cnt + i]);
	jsonw__kstr(w, "addresses", strbuf__str(&sb));
	strbuf__free(&sb);
}

static void add_script(struct jsonw *w, const struct stack *stack)
{
	struct strbuf sb = STRBUF_INIT;

	for (uint32_t i = 0; i < stack->script_cnt; i++)
		strbuf__addf(&sb, "%s%" PRIx64 " %" PRIx64 " %" PRIx32 " %" PRIx32, i ? " " : "",
			     (uint64_t)stack->script[i].code, (uint64_t)stack->script[i].instr,
			     stack->script[i].flags, stack->script[i].check);
	if (stack->script_cnt)
		jsonw__kstr(w, "script", strbuf__str(&sb));
	strbuf__free(&sb);
}

static void add_stack(struct jsonw *w, uint32_t tid, const struct stack *stack)
{
	if (stack->end == STACK_END_UNKNOWN && !stack->script_cnt)
		return;
	jsonw__object(w);
	jsonw__ku64(w, "tid", tid);
	jsonw__ku64(w, "t_ns", stack->t_ns);
	jsonw__ku64(w, "end", stack->end);
	jsonw__kstr_known(w, "end_module", stack->end_module);
	add_addresses(w, stack);
	add_script(w, stack);
	jsonw__object_end(w);
}

int recorder__callers(struct recorder *rec, const struct block *block)
{
	const struct stack *stack;
	struct jsonw w;
	uint32_t tid;

	recorder__begin(rec, block, &w);
	jsonw__karray(&w, "stacks");
	for (size_t nr = 0; (stack = block__stack(block, nr, &tid)); nr++)
		add_stack(&w, tid, stack);
	jsonw__array_end(&w);
	return recorder__write(rec, JOURNAL_CALLERS, &w);
}
