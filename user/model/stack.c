/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations on stacks with named frames. */
#include "model/stack.h"

#include <string.h>

#include "base/function_name.h"
#include "base/strbuf.h"

#define PROBE_DEPTH_MAX 12 /* frames from the tracepoint to the helper that takes the stack */

static bool starts_with_any(const char *str, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (!strncmp(str, *prefixes, strlen(*prefixes)))
			return true;
	return false;
}

static bool is_probe(const struct frame *frame)
{
	static const char *const prefixes[] = { "bpf_",		  "__bpf_",	 "__traceiter_",
						"trace_call_bpf", "perf_trace_", NULL };

	return frame->kernel && frame->function && starts_with_any(frame->function, prefixes);
}

void stack__trim_probe(struct stack *stack)
{
	size_t drop = 0;

	for (size_t i = 0; i < stack->frame_cnt && i < PROBE_DEPTH_MAX; i++)
		if (is_probe(&stack->frames[i]))
			drop = i + 1;
	if (!drop)
		return;
	stack->frame_cnt -= drop;
	memmove(stack->frames, stack->frames + drop, stack->frame_cnt * sizeof(*stack->frames));
}

void stack__trim_stray(struct stack *stack)
{
	size_t users = 0;

	for (size_t i = 0; i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];

		if (frame->kernel || !users++ || frame->module || frame->function)
			continue;
		stack->frame_cnt = i;
		return;
	}
}

/* V8 internals: a template's name has the return type in front. */
static bool is_inner(const struct frame *frame)
{
	static const char space[] = "v8::internal::";
	struct strbuf name = STRBUF_INIT;
	bool ret;

	if (!frame->function || !strstr(frame->function, space))
		return false;
	function__add_short(&name, frame->function, "", false);
	ret = !strncmp(strbuf__str(&name), space, strlen(space));
	strbuf__free(&name);
	return ret;
}

bool stack__is_app(const struct frame *frame)
{
	return frame->app && !is_inner(frame);
}

static bool is_of_app(const struct frame *frame)
{
	return frame->app;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool stack__same_code(const struct frame *a, const struct frame *b)
{
	return same_text(a->function, b->function) && same_text(a->module, b->module);
}

static bool is_in(const struct stack *stack, const struct frame *frame)
{
	for (size_t i = 0; i < stack->frame_cnt; i++) {
		const struct frame *each = &stack->frames[i];

		if (each->address == frame->address ||
		    (frame->function && frame->module && stack__same_code(each, frame)))
			return true;
	}
	return false;
}

void stack__mark_dispatcher(struct stack *stack, const struct stack *idle_place)
{
	for (size_t i = stack->frame_cnt; i--;) {
		struct frame *frame = &stack->frames[i];

		if (frame->kernel || frame->language || !is_in(idle_place, frame))
			return;
		frame->dispatcher = true;
	}
}

/*
 * The innermost matching frame with a name, else without; among dispatcher frames, or among the
 * others.
 */
static const struct frame *innermost_of(const struct stack *stack,
					bool (*is)(const struct frame *frame), bool dispatcher)
{
	const struct frame *nameless = NULL;

	for (size_t i = 0; i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];

		if (!frame->module || frame->dispatcher != dispatcher || !is(frame))
			continue;
		if (frame->function)
			return frame;
		if (!nameless)
			nameless = frame;
	}
	return nameless;
}

static const struct frame *innermost(const struct stack *stack,
				     bool (*is)(const struct frame *frame))
{
	const struct frame *ret = innermost_of(stack, is, false);

	return ret ? ret : innermost_of(stack, is, true);
}

const struct frame *stack__app_frame(const struct stack *stack)
{
	return innermost(stack, stack__is_app);
}

const struct frame *stack__busy_frame(const struct stack *stack)
{
	return innermost(stack, is_of_app);
}

const struct frame *stack__frame_in(const struct stack *stack, uint32_t state)
{
	return state == JANK_STATE_RUNNING ? stack__busy_frame(stack) : stack__app_frame(stack);
}

bool stack__reaches_start(const struct stack *stack)
{
	static const char *const starts[] = {
		"_start",      "__libc_start",	 "start_thread",   "clone",	     "__clone",
		"__libc_init", "__start_thread", "runtime.goexit", "runtime.mstart", NULL
	};
	const struct frame *last;

	if (!stack->frame_cnt)
		return false;
	last = &stack->frames[stack->frame_cnt - 1];
	return !last->kernel && last->function && starts_with_any(last->function, starts);
}
