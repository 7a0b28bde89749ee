/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "model/chain/wait_reason.h"
#include "session/main_handler.h"
#include "session/sink_thread.h"
#include "session/stack_line.h"
#include "symbol/unwind/unwind.h"

/* A stack, and whose. */
struct walked {
	uint32_t pid;
	struct unwound unwound;
	struct catalogue_frame frames[UNWIND_MAX];
};

static int walk(const struct sink_parts *parts, const struct jank_copy *copy, struct walked *ret)
{
	const struct copy_event event = { .rec = copy->rec, .bytes = copy->bytes };
	struct err err = {};
	int res;

	ret->pid = copy->rec.hdr.tgid;
	if (!symbolizer__knows(parts->symbolizer, ret->pid))
		symbolizer__process(parts->symbolizer, ret->pid, &err);
	res = symbolizer__unwind(parts->symbolizer, &event, &ret->unwound, 1);
	for (uint32_t i = 0; i < ret->unwound.cnt && !res; i++) {
		struct code_opts opts = { .exact = i == 0 };
		struct catalogue_frame *to = &ret->frames[i];
		struct frame frame = {};

		*to = (struct catalogue_frame){ .file = { .path = "" } };
		if (!symbolizer__code(parts->symbolizer, ret->pid, ret->unwound.addresses[i], opts,
				      &frame))
			continue;
		to->file.path = frame.module;
		opts.named = catalogue__has_handlers(parts->catalogue, &to->file);
		if (opts.named && symbolizer__code(parts->symbolizer, ret->pid,
						   ret->unwound.addresses[i], opts, &frame))
			to->function = frame.function;
	}
	return res;
}

/*
 * The stack pointer of the frame's caller when it called it: above the return address. The return
 * addresses of the frames within are below it. 0: not known.
 */
static uint64_t sp_of_caller(const struct jank_copy *copy, const struct unwound *unwound,
			     size_t frame)
{
	uint64_t sp = copy->rec.regs[JANK_REG_SP], word;
	size_t at = 0;

	for (size_t i = 1; i <= frame + 1; i++) {
		for (word = 0; at + sizeof(word) <= copy->rec.copy_sz; at += sizeof(word)) {
			memcpy(&word, copy->bytes + at, sizeof(word));
			if (word == unwound->addresses[i])
				break;
		}
		if (word != unwound->addresses[i])
			return 0;
		at += sizeof(word);
	}
	return sp + at;
}

static uint32_t loop_of(uint32_t pid, const struct catalogue_row *row)
{
	bool polls = row->waits & 1u << JANK_LOOP_POLL;

	return !polls || (row->waits & 1u << JANK_LOOP_EPOLL && main_handler__has_epoll(pid))
		       ? JANK_LOOP_EPOLL
		       : JANK_LOOP_POLL;
}

/* The loop's name, by the callers of the handler: those of its wait are not known yet. */
static int record_loop(const struct sink_parts *parts, const struct jank_copy *copy,
		       const struct walked *walked, size_t caller, uint32_t loop)
{
	size_t cnt = walked->unwound.cnt - caller;
	struct wait_note *note = calloc(1, sizeof(*note) + cnt * sizeof(*note->words));
	int res;

	if (!note)
		return -ENOMEM;
	note->rec.hdr = copy->rec.hdr;
	note->rec.loop = loop;
	note->cnt = cnt;
	memcpy(note->words, walked->unwound.addresses + caller, cnt * sizeof(*note->words));
	res = loop_owner__record(parts->loop_owner, note);
	wait_note__free(note);
	return res;
}

/*
 * Java's main thread waits in a futex while no thread waits in its epoll: not for work, if it
 * waits for a monitor, or sleeps; but then another parked thread may be in that epoll's handler.
 */
static bool is_held_up(const struct handler_look *look, const struct stack *stack)
{
	const struct activity wait = { .state = JANK_STATE_FUTEX, .stack = stack };

	return look->lock_epfd >= 0 && !look->plain &&
	       (wait_reason__is_slice(&wait) || (look->alone && wait_reason__has_sleep(&wait)));
}

/* For those who ask why there is no hang. */
static void tell(struct sink_parts *parts, const struct walked *walked, uint32_t tid, bool all,
		 const struct stack *stack)
{
	char line[WAITS_AT_SZ];

	stack_line__make(stack, line, sizeof(line));
	log__verbose("process %u: its thread %u is in no handler that is known: %s", walked->pid,
		     tid, line);
	if (tid == walked->pid && !all)
		not_watched__set_wait(&parts->not_watched, tid, line);
}

/* No handler was found by the functions of loops: names all. Fills the opening if it is one. */
static int look_further(struct sink_parts *parts, const struct handler_look *look,
			const struct walked *walked, struct jank_opening *opening)
{
	struct stack stack = {
		.addresses = (uint64_t *)walked->unwound.addresses,
		.user_cnt = walked->unwound.cnt,
	};
	uint32_t tid = look->copy.rec.hdr.tid;
	int res = symbolizer__stack(parts->symbolizer, walked->pid, &stack);

	if (!res && is_held_up(look, &stack)) {
		log__verbose("process %u: its thread %u is held up in a handler of epoll %d",
			     walked->pid, tid, look->lock_epfd);
		opening->fd = look->lock_epfd;
		opening->loop = JANK_LOOP_EPOLL;
	} else if (!res) {
		tell(parts, walked, tid, look->all, &stack);
	}
	free(stack.frames);
	return res;
}

/*
 * The handler that the stack is in; unwound.cnt: in none that is known. Where a handler runs a loop
 * only to wait for the program's own work, the functions within are not looked at.
 */
static size_t handler_of(const struct sink_parts *parts, const struct handler_look *look,
			 const struct walked *walked, const struct catalogue_row **ret_row)
{
	size_t cnt = walked->unwound.cnt, from;

	if (look->plain)
		return cnt;
	if (look->may_rest) {
		from = loop_owner__nested(parts->symbolizer, walked->pid, walked->unwound.addresses,
					  cnt);
		if (from < cnt)
			return from + catalogue__handler(parts->catalogue, walked->frames + from,
							 cnt - from, false, ret_row);
	}
	return look->rests ? cnt
			   : catalogue__handler(parts->catalogue, walked->frames, cnt,
						look->may_rest, ret_row);
}

int handler_look__judge(struct sink_parts *parts, const struct handler_look *look)
{
	const struct jank_copy *copy = &look->copy;
	struct jank_opening opening = {
		.fd = JANK_OPENING_WITHDRAWN,
		.sleep_cnt = look->sleep_cnt,
		.wait = look->wait,
	};
	struct walked *walked = calloc(1, sizeof(*walked));
	const struct catalogue_row *row;
	int res = walked ? walk(parts, copy, walked) : -ENOMEM;
	size_t handler, cnt = res ? 0 : walked->unwound.cnt;

	handler = cnt ? handler_of(parts, look, walked, &row) : 0;
	if (handler + 1 < cnt)
		opening.sp = sp_of_caller(copy, &walked->unwound, handler);
	if (opening.sp) {
		log__verbose("process %u: its thread %u is in a handler of [%s]", walked->pid,
			     copy->rec.hdr.tid, row->id);
		opening.fd = JANK_OPENING_BY_STACK;
		opening.loop = loop_of(walked->pid, row);
		res = record_loop(parts, copy, walked, handler + 1, (uint32_t)opening.loop);
	} else if (cnt && (!look->all || look->lock_epfd >= 0 || log__level() >= LOG_VERBOSE)) {
		res = look_further(parts, look, walked, &opening);
	}
	if (!look->plain)
		opening_bpf_fds__put(&parts->opening_bpf_fds, copy->rec.hdr.tid, &opening);
	free(walked);
	return res;
}
