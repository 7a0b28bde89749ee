/* SPDX-License-Identifier: GPL-2.0 */
/* Where it was: the library's function or the system call, and the application's that called it. */
#include "model/stack.h"
#include "verdict/culprit.h"
#include "verdict/sentence_parts.h"
#include "verdict/words.h"

bool sentence__add_call(struct strbuf *sb, const struct moment *moment, const struct frame *frame)
{
	const struct frame *call = what__frame(moment), *app = stack__app_frame(moment->stack);
	bool futex = moment->state == JANK_STATE_FUTEX; /* its system call says nothing more */
	bool fault = moment->state == JANK_STATE_PAGE_FAULT;
	bool named = frame && (frame->function || frame->module);

	if (call && app && call >= app) /* of one stack: the call is further out */
		call = NULL;
	if (call) {
		strbuf__adds(sb, " in ");
		words__add_function(sb, call);
	} else if (moment->syscall && !futex && !fault) {
		strbuf__addf(sb, " in %s", moment->syscall);
	} else {
		strbuf__adds(sb, named ? " in " : "");
		return named;
	}
	strbuf__adds(sb, named ? " ← " : "");
	return named;
}

void sentence__add_place(struct strbuf *sb, const struct block *block, const struct moment *moment)
{
	const struct frame *frame = stack__app_frame(moment->stack);

	if (sentence__add_call(sb, moment, frame))
		words__add_place(sb, block, frame);
}

void clause__add_frame(struct clause *c, const struct frame *frame)
{
	const struct frame *shared = NULL;

	if (worst__is_many(c->proof, c->nr, frame)) {
		shared = worst__shared_place(c->proof, c->nr);
		if (!shared) {
			words__add_nameless(c->sb, frame);
			return;
		}
	}
	words__add_place(c->sb, c->block, shared ? shared : frame);
}
