/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations on stacks with named frames. */
#include "model/stack.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "model/own_code.h"
#include "model/script_owner.h"

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

bool stack__same_code(const struct frame *a, const struct frame *b)
{
	return text__same(a->function, b->function) && text__same(a->module, b->module) &&
	       (a->function || a->start == b->start);
}

bool stack__has(const struct stack *stack, const struct frame *frame)
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

		if (frame->kernel || frame->language || !stack__has(idle_place, frame))
			return;
		frame->dispatcher = true;
	}
}

/* --- owners */

static bool is_evaluation(const struct frame *frame)
{
	return !frame->kernel && frame->function && script_owner__evaluates(frame->function);
}

bool stack__has_language(const struct stack *stack)
{
	for (size_t i = 0; i < stack->frame_cnt; i++)
		if (stack->frames[i].language || is_evaluation(&stack->frames[i]))
			return true;
	return false;
}

bool block__has_language(const struct block *block)
{
	for (size_t i = 0; i < block->sample_cnt; i++)
		if (stack__has_language(&block->samples[i].stack))
			return true;
	return false;
}

/* Index of main, by the C library's frame outside of it; or the number of frames. */
static size_t find_main(const struct stack *stack)
{
	size_t i = stack->frame_cnt;

	while (i && !text__begins(stack->frames[i - 1].function, "__libc_start") &&
	       !text__begins(stack->frames[i - 1].function, "__libc_init"))
		i--;
	if (!i)
		return stack->frame_cnt;
	while (i && !stack->frames[i - 1].app)
		i--;
	return i ? i - 1 : 0;
}

static enum code_owner owner_of(const struct frame *frame, const char *exe)
{
	if (!strcmp(frame->module, "[jit]"))
		return frame->function ? CODE_OWN : CODE_UNKNOWN;
	return own_code__has(exe, frame->module) ? CODE_OWN : CODE_LIBRARY;
}

void stack__mark_owners(struct stack *stack, const char *exe)
{
	const struct frame *last = NULL;
	size_t end;

	if (!exe || stack__has_language(stack))
		return;
	end = find_main(stack);
	for (size_t i = 0; i < end; i++) {
		struct frame *frame = &stack->frames[i];

		if (frame->kernel || !frame->app || !frame->module)
			continue;
		/* The symbolizer shares the texts, so that most frames need no comparison. */
		if (last && last->module == frame->module && *frame->module == '/')
			frame->owner = last->owner;
		else
			frame->owner = owner_of(frame, exe);
		last = frame;
	}
}

/* --- the frame to blame */

typedef bool is_fn(const struct frame *frame);

/* The innermost frame of the program's own code outside of the dispatcher. */
static const struct frame *innermost_own(const struct stack *stack, is_fn *is)
{
	for (size_t i = 0; i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];

		if (frame->owner == CODE_OWN && !frame->dispatcher && is(frame))
			return frame;
	}
	return NULL;
}

/*
 * The innermost matching frame with a name, else without; among dispatcher frames, or among the
 * others. A library's dispatcher is no answer: it only calls what takes the time.
 */
static const struct frame *innermost_of(const struct stack *stack, is_fn *is, bool dispatcher)
{
	const struct frame *nameless = NULL;

	for (size_t i = 0; i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];

		if (!frame->module || frame->dispatcher != dispatcher || !is(frame) ||
		    (dispatcher && frame->owner == CODE_LIBRARY))
			continue;
		if (frame->function)
			return frame;
		if (!nameless)
			nameless = frame;
	}
	return nameless;
}

static const struct frame *innermost(const struct stack *stack, is_fn *is)
{
	const struct frame *ret = innermost_own(stack, is);

	if (!ret)
		ret = innermost_of(stack, is, false);
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

/*
 * --- Frames of interpreters. Both lists have the innermost frame first. The probe marks the script
 * frame at which each call of the evaluation function starts. So each native evaluation frame pairs
 * with one run of script frames.
 */

struct merge {
	const struct stack *stack;
	const struct frame *named; /* the script's named frames, one for each */
	uint32_t at;		   /* index of the next script frame */
	struct frame *out;
	size_t cnt;
};

/* A perf trampoline of CPython: it repeats the same function. */
static bool is_trampoline(const struct merge *m, const struct frame *frame)
{
	for (uint32_t i = 0; frame->language && i < m->stack->script_cnt; i++)
		if (m->named[i].language)
			return !strcmp(frame->language, m->named[i].language);
	return false;
}

/*
 * The last of the frames with the same address: the function itself, which contains the inlined
 * others.
 */
static size_t group_end(const struct stack *native, size_t i)
{
	while (native->frames[i].inlined && i + 1 < native->frame_cnt &&
	       native->frames[i + 1].address == native->frames[i].address)
		i++;
	return i;
}

static size_t evaluation_cnt(const struct stack *native)
{
	size_t ret = 0;

	for (size_t i = 0; i < native->frame_cnt; i++)
		ret += is_evaluation(&native->frames[i]);
	return ret;
}

static size_t run_cnt(const struct stack *stack)
{
	size_t ret = 0;

	for (uint32_t i = 0; i < stack->script_cnt; i++)
		ret += stack->script[i].flags & JANK_SCRIPT_ENTRY;
	return ret;
}

/* True if the script has all of its frames: the outermost one is always an entry. */
static bool is_whole(const struct stack *stack)
{
	return stack->script_cnt < JANK_SCRIPT_MAX &&
	       stack->script[stack->script_cnt - 1].flags & JANK_SCRIPT_ENTRY;
}

static void add_run(struct merge *m)
{
	while (m->at < m->stack->script_cnt) {
		uint32_t at = m->at++;

		if (m->stack->script[at].code)
			m->out[m->cnt++] = m->named[at];
		if (m->stack->script[at].flags & JANK_SCRIPT_ENTRY)
			return;
	}
}

/*
 * If both lists are complete but there are more evaluation frames than runs, the innermost ones
 * have no script frame, or none yet.
 */
static size_t frameless_cnt(const struct stack *stack, const struct stack *native)
{
	size_t evaluations = evaluation_cnt(native), runs = run_cnt(stack);
	bool whole = stack->end == STACK_END_COMPLETE || stack__reaches_start(native);

	return whole && is_whole(stack) && evaluations > runs ? evaluations - runs : 0;
}

static void add_all(struct merge *m, const struct stack *native)
{
	size_t frameless = frameless_cnt(m->stack, native);

	for (size_t i = 0, end; i < native->frame_cnt; i = end + 1) {
		bool evaluation;

		end = group_end(native, i);
		if (is_trampoline(m, &native->frames[end]))
			continue;
		evaluation = is_evaluation(&native->frames[end]);
		if (evaluation && !frameless && m->at < m->stack->script_cnt) {
			add_run(m);
			continue;
		}
		frameless -= evaluation && frameless;
		memcpy(&m->out[m->cnt], &native->frames[i], (end + 1 - i) * sizeof(*m->out));
		m->cnt += end + 1 - i;
	}
	while (m->at < m->stack->script_cnt)
		add_run(m);
}

/* True if a function of a language on the native stack lost its name. */
static bool has_nameless(const struct merge *m)
{
	for (uint32_t i = 0; i < m->stack->script_cnt; i++)
		if (m->stack->script[i].flags & JANK_SCRIPT_NATIVE && m->named[i].language &&
		    !m->named[i].function)
			return true;
	return false;
}

/*
 * Decides which frames are application code: the best owner that the stack has, the application
 * before its libraries, and those before the runtime's own. A function without a name may be the
 * application's: then no other owner is to blame.
 */
static void settle_app(struct merge *m)
{
	unsigned best = has_nameless(m) ? SCRIPT_APPLICATION : UINT_MAX;

	for (size_t i = 0; i < m->cnt; i++)
		if (m->out[i].language && m->out[i].function &&
		    script_owner__rank(&m->out[i]) < best)
			best = script_owner__rank(&m->out[i]);
	for (size_t i = 0; i < m->cnt; i++) {
		struct frame *frame = &m->out[i];

		frame->app =
			frame->language && frame->function && script_owner__rank(frame) == best;
	}
}

/*
 * --- Functions of a language in frames of the native stack (JANK_SCRIPT_NATIVE): each replaces the
 * frame at the index of its address
 */

/* Index of the next user frame's address: all frames of an address have it, also those inlined. */
static uint32_t native_index(const struct stack *native, size_t i, uint32_t index)
{
	bool first = !i || native->frames[i - 1].kernel;

	return native->frames[i].kernel || first || native->frames[i - 1].inlined ? index
										  : index + 1;
}

/* The runtime's own code has no language, and no name that is better than one of a map. */
static void add_functions(struct merge *m, uint32_t index, const struct frame *native)
{
	for (; m->at < m->stack->script_cnt && m->stack->script[m->at].flags >> 16 == index;
	     m->at++) {
		const struct frame *named = &m->named[m->at];

		if (named->function && (named->language || !native->function))
			m->out[m->cnt++] = *named;
	}
}

static void replace_natives(struct merge *m, const struct stack *native)
{
	uint32_t index = 0;

	for (size_t i = 0; i < native->frame_cnt; i++) {
		size_t before = m->cnt;

		index = native_index(native, i, index);
		while (m->at < m->stack->script_cnt && m->stack->script[m->at].flags >> 16 < index)
			m->at++;
		if (!native->frames[i].kernel)
			add_functions(m, index, &native->frames[i]);
		if (m->cnt == before)
			m->out[m->cnt++] = native->frames[i];
		else
			i = group_end(native, i);
	}
}

int stack__merge_script(struct stack *stack)
{
	struct stack native = *stack;
	struct merge m = { .stack = stack };

	if (!stack->script_cnt || !stack->frames || stack->frame_cnt < stack->script_cnt)
		return 0;
	m.out = calloc(stack->frame_cnt, sizeof(*m.out));
	native.frame_cnt -= stack->script_cnt;
	m.named = stack->frames + native.frame_cnt;
	if (!m.out) {
		stack->frame_cnt = native.frame_cnt;
		return -ENOMEM;
	}
	stack__trim_probe(&native);
	stack__trim_stray(&native);
	if (stack->script[0].flags & JANK_SCRIPT_NATIVE)
		replace_natives(&m, &native);
	else
		add_all(&m, &native);
	settle_app(&m);
	free(stack->frames);
	stack->frames = m.out;
	stack->frame_cnt = m.cnt;
	return 0;
}
