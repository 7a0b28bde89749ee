/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two more frames of a stack beside the one to blame: the library's function that it called, and
 * the handler in which it ran.
 */
#include "verdict/frames.h"

#include <string.h>

#include "base/text.h"
#include "model/chain/wait_reason.h"
#include "model/script_owner.h"
#include "model/stack.h"

#define SAME_LETTERS 4 /* "wait4" and "waitpid" */

static const char *past(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) ? name : name + len;
}

/*
 * True for the C library's function of a system call, which has more than one frame if the call can
 * be cancelled: "__libc_pwrite" for pwrite64, "recv" for recvfrom, "select" for pselect6.
 */
static bool is_wrapper(const char *function, const char *syscall)
{
	const char *name = past(function, "__GI_");

	name = past(past(name + strspn(name, "_"), "libc_"), "clock_");
	syscall = past(past(syscall, "new"), "clock_");
	name += *name == 'p' && *syscall != 'p';
	syscall += *syscall == 'p' && *name != 'p';
	return !strncmp(name, syscall, SAME_LETTERS);
}

const struct frame *stack__called(const struct stack *stack, const struct frame *app,
				  const char *syscall)
{
	const struct frame *called = app - 1, *leaf = stack->frames;

	while (leaf < app && leaf->kernel)
		leaf++;
	if (leaf >= called || !called->function || called->inlined || called->owner == CODE_OWN ||
	    app->owner == CODE_LIBRARY)
		return NULL;
	if (syscall && !called->language && is_wrapper(called->function, syscall))
		return NULL;
	if (app->language || called->language)
		return text__same(app->language, called->language) && !called->app ? called : NULL;
	return app->owner == CODE_OWN || !called->app ? called : NULL;
}

/*
 * Frames of a language have no dispatcher. The loop's own frames say where a turn begins, asyncio's
 * or those of libuv: what is further out may be the program's main function.
 */
static bool is_handler(const struct frame *frame, bool scripted)
{
	if (scripted)
		return frame->language && frame->app && script_owner__rank(frame) != SCRIPT_RUNTIME;
	return frame->owner == CODE_OWN && (frame->function || frame->start);
}

const struct frame *stack__handler(const struct stack *stack)
{
	bool scripted = stack__has_language(stack), inside = false;

	for (size_t i = stack->frame_cnt; i--;) {
		const struct frame *frame = &stack->frames[i];

		if (frame->kernel)
			return NULL;
		if (wait_reason__is_turn(frame) || (!scripted && frame->dispatcher))
			inside = true;
		else if (inside && is_handler(frame, scripted))
			return frame;
	}
	return NULL;
}
