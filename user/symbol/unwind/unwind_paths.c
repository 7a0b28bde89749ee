/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows code to its returns. See walk.h. */
#include "symbol/unwind/walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/code/insn.h"

#define INSN_MAX       1024 /* limit of followed instructions */
#define INSN_MAX_JAVA  8192 /* HotSpot's compilers inline much */
#define TODO_MAX       64
#define SEEN_SLOTS     (2 * INSN_MAX_JAVA)
#define WINDOW	       1024
#define WINDOWS	       16
#define INSN_BYTES     16
#define FUNCTION_ALIGN 16

/* Cached code at an address, plus the bytes after it that an instruction may reach. */
struct window {
	uint64_t at;
	size_t len; /* 0: none */
	uint8_t code[WINDOW + INSN_BYTES];
};

struct follow {
	struct walk *w;
	const struct region *region;
	uint64_t from, goal;
	struct paths *ret;
	bool of_java;
	struct path_state todo[TODO_MAX];
	/* indices of todo, a queue: first in, first out, so that the nearest return comes first */
	unsigned next, cnt;
	unsigned insn_cnt, insn_max;
	uint64_t seen[SEEN_SLOTS]; /* 2 * insn_max slots are used */
	struct window windows[WINDOWS];
};

/* The bytes after the window may lie in a missing page. Then they are zeros and do not count. */
static void read_window(struct follow *f, struct window *window, uint64_t at)
{
	uint64_t left = f->region->end - at;
	size_t whole = left < WINDOW ? left : WINDOW;
	size_t len = left < sizeof(window->code) ? left : sizeof(window->code);

	window->at = at;
	window->len = len;
	memset(window->code + whole, 0, sizeof(window->code) - whole);
	if (!tables__code(f->w->env, f->w->process, f->region, at, window->code, len))
		return;
	window->len = whole;
	memset(window->code + whole, 0, sizeof(window->code) - whole);
	if (tables__code(f->w->env, f->w->process, f->region, at, window->code, whole))
		window->len = 0;
}

/* Returns INSN_BYTES of code. *ret_len of them are known, the rest are 0. NULL: not readable. */
static const uint8_t *code_at(struct follow *f, uint64_t addr, size_t *ret_len)
{
	uint64_t at = addr / WINDOW * WINDOW;
	struct window *window = &f->windows[addr / WINDOW % WINDOWS];

	if (addr < f->region->start || addr + INSN_BYTES > f->region->end)
		return NULL;
	if (at < f->region->start)
		at = f->region->start;
	if (!window->len || window->at != at)
		read_window(f, window, at);
	if (!window->len)
		return NULL;
	*ret_len = window->len - (addr - at);
	return window->code + (addr - at);
}

static bool is_new(struct follow *f, uint64_t addr)
{
	size_t slots = 2 * f->insn_max, i = (addr * 0x9e3779b97f4a7c15ull >> 40) % slots;

	while (f->seen[i] && f->seen[i] != addr)
		i = (i + 1) % slots;
	if (f->seen[i])
		return false;
	f->seen[i] = addr;
	return ++f->insn_cnt < f->insn_max;
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

	if (state->sp.base == PATH_LOST)
		return;
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
	f->next = f->cnt; /* stop here */
	return true;
}

/* jmp *N(%rip) */
static bool jumps_by_word(const uint8_t *code)
{
	code += *code == 0xf2; /* bnd */
	return code[0] == 0xff && code[1] == 0x25;
}

/*
 * A linker's stub or a tail call counts as a return, because its target returns with the same
 * stack. Both jump by a fixed word of memory. Another indirect jump is a stub only if it is the
 * first instruction of a function. The linker aligns a static program's stubs to 8 bytes only.
 */
static bool is_stub(const struct follow *f, const struct path_state *state, const uint8_t *code,
		    const struct insn *insn)
{
	if (insn->flow != INSN_JUMP || insn->has_target || f->goal || f->of_java)
		return false;
	return jumps_by_word(code) || (state->addr == f->from && state->addr % FUNCTION_ALIGN == 0);
}

/*
 * Where HotSpot's code makes its frame, the frame is still empty, or only the frame pointer is
 * pushed.
 */
static bool is_java_entry(struct follow *f, struct path_state *state, const uint8_t *code)
{
	const uint8_t *before;
	size_t len;

	if (!f->of_java || f->goal || state->regs[PATH_RBP].base != PATH_KEPT)
		return false;
	if (java_code__sets_up_frame(code))
		return true;
	before = state->addr == f->from ? code_at(f, state->addr - 1, &len) : NULL;
	if (!before || !java_code__sets_up_frame(before))
		return false;
	state->regs[PATH_RBP] = state->sp;
	state->sp.off += 8;
	return true;
}

/*
 * Exits of HotSpot code without a return instruction: the interpreter's dispatch and calls, and
 * tail calls.
 */
static void jumps_away(struct follow *f, const struct path_state *state, const uint8_t *code)
{
	bool dispatch = java_code__is_dispatch(code), tail = java_code__is_tail_jump(code);
	size_t len;
	const uint8_t *before = tail ? code_at(f, state->addr - 4, &len) : NULL;

	if (dispatch || (before && java_code__is_invocation(before)))
		f->ret->framed |= state->regs[PATH_RBP].base == PATH_KEPT;
	if (tail)
		returns(f, state);
}

/*
 * Runs one instruction of HotSpot code. The stack pointer may become unknown, and known again from
 * the frame pointer.
 */
static void run_java(struct follow *f, struct path_state *state, const uint8_t *code,
		     uint32_t writes, bool is_call)
{
	if (java_code__restores_fp(code))
		return;
	if (state->sp.base == PATH_FP && state->sp.off == 8 && (code[*code == 0x41] & 0xf8) == 0x58)
		f->ret->framed = true; /* pops the return address, to jump there */
	if (!path_state__run(state, code, writes, is_call))
		state->sp.base = PATH_LOST;
}

/* Moves to the next instruction. Returns false when the path ends here. */
static bool step(struct follow *f, struct path_state *state, const uint8_t *code,
		 const struct insn *insn)
{
	bool is_call = insn->flow == INSN_CALL;
	bool far = f->of_java && insn->has_target && llabs(insn->target) > JAVA_FAR;

	if (insn->flow == INSN_BRANCH && !far)
		add_todo(f, state, state->addr + insn->target);
	if (insn->flow == INSN_NEXT || is_call) {
		if (f->of_java)
			run_java(f, state, code, insn->writes, is_call);
		else if (!path_state__run(state, code, insn->writes, is_call))
			return false;
	}
	state->addr += insn->flow == INSN_JUMP ? insn->target : insn->len;
	return insn->flow != INSN_JUMP || !far;
}

/* Follows one path until it ends or joins another. */
static void run(struct follow *f, struct path_state *state)
{
	struct insn insn;
	const uint8_t *code;
	size_t len;

	while (!is_goal(f, state) && is_new(f, state->addr)) {
		code = code_at(f, state->addr, &len);
		if (!code || insn_x86.decode(code, len, &insn))
			return;
		if (insn.flow == INSN_RETURN || is_stub(f, state, code, &insn) ||
		    is_java_entry(f, state, code))
			return returns(f, state);
		if (f->of_java && insn.flow == INSN_JUMP && !insn.has_target)
			return jumps_away(f, state, code);
		if (insn.flow == INSN_STOP || (insn.flow == INSN_JUMP && !insn.has_target) ||
		    !step(f, state, code, &insn))
			return;
	}
}

void paths__follow(struct walk *w, const struct region *region, uint64_t from, uint64_t goal,
		   struct paths *ret)
{
	static _Thread_local struct follow f; /* too large for a stack */

	memset(ret, 0, sizeof(*ret));
	f.w = w;
	f.region = region;
	f.from = from;
	f.goal = goal;
	f.ret = ret;
	f.of_java = w->process->is_java && region->mapped->kind == MAPPED_ANON;
	f.next = f.cnt = f.insn_cnt = 0;
	f.insn_max = f.of_java ? INSN_MAX_JAVA : INSN_MAX;
	memset(f.seen, 0, 2 * f.insn_max * sizeof(f.seen[0]));
	for (unsigned i = 0; i < WINDOWS; i++)
		f.windows[i].len = 0;
	add_todo(&f, &(struct path_state){ .sp.base = PATH_SP }, from);
	while (f.next != f.cnt) {
		struct path_state state = f.todo[f.next++ % TODO_MAX];

		run(&f, &state);
	}
}
