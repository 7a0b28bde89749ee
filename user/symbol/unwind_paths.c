/* SPDX-License-Identifier: GPL-2.0 */
/* Follows code to its returns. See unwind_paths.h. */
#include "symbol/unwind_paths.h"

#include <string.h>

#include "base/insn.h"

#define INSN_MAX       1024 /* followed in all */
#define TODO_MAX       64
#define SEEN_SLOTS     2048
#define WINDOW	       256
#define INSN_BYTES     16
#define FUNCTION_ALIGN 16

struct follow {
	struct walk *w;
	const struct region *region;
	uint64_t from, goal;
	struct paths *ret;
	struct path_state todo[TODO_MAX];
	unsigned next,
		cnt; /* of todo: first in, first out, so that the nearest return comes first */
	uint64_t seen[SEEN_SLOTS];
	unsigned insn_cnt;
	uint8_t window[WINDOW];
	uint64_t window_at;
	size_t window_len;
};

static const uint8_t *code_at(struct follow *f, uint64_t addr)
{
	uint64_t left;

	if (addr < f->region->start || addr + INSN_BYTES > f->region->end)
		return NULL;
	if (addr < f->window_at || addr + INSN_BYTES > f->window_at + f->window_len) {
		left = f->region->end - addr;
		f->window_at = addr;
		f->window_len = left < WINDOW ? left : WINDOW;
		if (tables__code(f->w->env, f->w->process, f->region, addr, f->window,
				 f->window_len)) {
			f->window_len = 0;
			return NULL;
		}
	}
	return f->window + (addr - f->window_at);
}

static bool is_new(struct follow *f, uint64_t addr)
{
	size_t i = addr * 0x9e3779b97f4a7c15ull >> 53;

	while (f->seen[i] && f->seen[i] != addr)
		i = (i + 1) % SEEN_SLOTS;
	if (f->seen[i])
		return false;
	f->seen[i] = addr;
	return ++f->insn_cnt < INSN_MAX;
}

static void add_todo(struct follow *f, const struct path_state *state, uint64_t addr)
{
	struct path_state *to = &f->todo[f->cnt % TODO_MAX];

	if (f->cnt - f->next == TODO_MAX)
		return;
	*to = *state;
	to->addr = addr;
	f->cnt++;
}

static void returns(struct follow *f, const struct path_state *state)
{
	struct paths *ret = f->ret;

	for (unsigned i = 0; i < ret->result_cnt; i++)
		if (ret->results[i].sp.base == state->sp.base &&
		    ret->results[i].sp.off == state->sp.off)
			return;
	if (ret->result_cnt < PATH_RESULT_MAX)
		ret->results[ret->result_cnt++] = *state;
}

static bool is_goal(struct follow *f, const struct path_state *state)
{
	if (!f->goal || state->addr != f->goal)
		return false;
	f->ret->met = state->sp.base == PATH_SP;
	f->ret->met_sp = state->sp.off;
	f->next = f->cnt; /* enough */
	return true;
}

/* Nothing but a jump by a pointer, where functions begin: it is as good as where that returns. */
static bool is_stub(const struct follow *f, const struct path_state *state, const struct insn *insn)
{
	return insn->flow == INSN_JUMP && !insn->has_target && !f->goal && state->addr == f->from &&
	       state->addr % FUNCTION_ALIGN == 0;
}

/* Along one path to where it ends, or comes to another. */
static void run(struct follow *f, struct path_state *state)
{
	struct insn insn;
	const uint8_t *code;

	while (!is_goal(f, state) && is_new(f, state->addr)) {
		code = code_at(f, state->addr);
		if (!code || insn_x86.decode(code, INSN_BYTES, &insn))
			return;
		if (insn.flow == INSN_RETURN || is_stub(f, state, &insn))
			return returns(f, state);
		if (insn.flow == INSN_STOP || (insn.flow == INSN_JUMP && !insn.has_target))
			return;
		if (insn.flow == INSN_BRANCH)
			add_todo(f, state, state->addr + insn.target);
		if (insn.flow == INSN_NEXT || insn.flow == INSN_CALL)
			if (!path_state__run(state, code, insn.writes, insn.flow == INSN_CALL))
				return;
		state->addr += insn.flow == INSN_JUMP ? insn.target : insn.len;
	}
}

void paths__follow(struct walk *w, const struct region *region, uint64_t from, uint64_t goal,
		   struct paths *ret)
{
	static _Thread_local struct follow f; /* too large for a stack */

	memset(&f, 0, sizeof(f));
	memset(ret, 0, sizeof(*ret));
	f.w = w;
	f.region = region;
	f.from = from;
	f.goal = goal;
	f.ret = ret;
	add_todo(&f, &(struct path_state){ .sp.base = PATH_SP }, from);
	while (f.next != f.cnt) {
		struct path_state state = f.todo[f.next++ % TODO_MAX];

		run(&f, &state);
	}
}
