/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind step through HotSpot's frames. Its compilers keep a frame pointer only with
 * -XX:+PreserveFramePointer. Else they use that register like any other, so a chain of frame
 * pointers skips callers. The step therefore follows the code to its return, on x86-64; on arm64 it
 * takes the size of the frame from HotSpot. HotSpot's interpreter never leaves by a return
 * instruction, but keeps frame pointers.
 */
#include <string.h>

#include "base/clock.h"
#include "symbol/languages/language.h"
#include "symbol/unwind/walk.h"

#define FRAME_MAX (1u << 20)
#define REG_RAX	  0
#define REG_R13	  13

/* HotSpot replaces code at an address, so cached exits expire soon. */
static const struct jvm_exit *way_of(struct walk *w)
{
	struct jvm_exits *ways = java_code__exits(w->process);
	uint64_t now = clock__mono_ns();
	struct jvm_exit *way;
	struct paths paths;

	if (!ways)
		return NULL;
	way = &ways->ways[w->at.pc % JAVA_WAYS];
	if (way->pc == w->at.pc && now - way->at_ns < JAVA_WAY_NS)
		return way;
	paths__follow(w, w->at.region, w->at.pc, 0, &paths);
	*way = (struct jvm_exit){ .pc = w->at.pc, .at_ns = now, .framed = paths.framed };
	for (unsigned i = 0; i < paths.result_cnt && i < JAVA_EXITS; i++)
		way->exits[way->exit_cnt++] = (struct java_exit){
			.slot = paths.results[i].sp,
			.fp = paths.results[i].regs[PATH_RBP],
		};
	return way;
}

static bool slot_address(const struct walk *w, const struct path_slot *slot, uint64_t *ret)
{
	return walk__slot(w, slot, ret) && *ret >= w->low;
}

static bool is_caller(struct walk *w, uint64_t pc)
{
	struct unwind_place place;

	walk__refresh(w, pc - 1);
	return w->at.region && walk__is_called_from(w, pc, &place);
}

/* The caller's stack begins at sp. Of its registers only the frame pointer may be known. */
static enum unwind_step go(struct walk *w, uint64_t sp, bool has_fp, uint64_t fp)
{
	w->known = 0;
	if (has_fp)
		walk__set(w, w->arch->fp, fp);
	walk__set(w, w->arch->sp, sp);
	w->low = sp;
	w->by_fp = false;
	return STEP_TO;
}

/* Returns the only exit that ends at a caller's address; NULL when none or several do. */
static const struct java_exit *find_exit(struct walk *w, const struct jvm_exit *way, uint64_t *slot,
					 uint64_t *pc)
{
	const struct java_exit *ret = NULL;
	uint64_t at, word;

	for (unsigned i = 0; i < way->exit_cnt; i++) {
		if (!slot_address(w, &way->exits[i].slot, &at) || !walk__word(w, at, &word) ||
		    !is_caller(w, word))
			continue;
		if (ret)
			return NULL;
		ret = &way->exits[i];
		*slot = at;
		*pc = word;
	}
	return ret;
}

/* Returns true when the only exit reads beyond the copied stack. */
static bool is_beyond(struct walk *w, const struct jvm_exit *way)
{
	uint64_t at, word;

	return way->exit_cnt == 1 && slot_address(w, &way->exits[0].slot, &at) &&
	       at - w->low <= FRAME_MAX && !walk__word(w, at, &word) && w->why != STACK_END_ASTRAY;
}

static enum unwind_step leave(struct walk *w, const struct java_exit *by, uint64_t slot)
{
	uint64_t fp = 0, addr;
	bool has_fp = by->fp.base == PATH_KEPT
			      ? walk__reg(w, w->arch->fp, &fp)
			      : slot_address(w, &by->fp, &addr) && walk__word(w, addr, &fp);

	return go(w, slot + w->arch->word, has_fp, fp);
}

/*
 * Steps by the frame pointer. Below it the interpreter stores the stack pointer that its caller has
 * afterwards. That lies above the interpreter's own frame when the caller is compiled code.
 */
static enum unwind_step step_frame(struct walk *w, bool interpreter, uint64_t *pc)
{
	unsigned word = w->arch->word;
	uint64_t fp, next_fp, sp;

	if (!walk__reg(w, w->arch->fp, &fp) || fp < w->low || fp % word || fp - w->low > FRAME_MAX)
		return STEP_NONE;
	if (!walk__word(w, fp + word, pc) || !walk__word(w, fp, &next_fp))
		return w->why == STACK_END_ASTRAY ? STEP_NONE : STEP_ENDS;
	*pc &= w->pc_mask;
	if (!is_caller(w, *pc))
		return STEP_NONE;
	if (!interpreter || !walk__word(w, fp - word, &sp) || sp < fp + 2 * word || sp % word ||
	    sp - fp > FRAME_MAX)
		sp = fp + 2 * word;
	return go(w, sp, true, next_fp);
}

static bool is_reentry(struct walk *w, uint64_t pc)
{
	uint8_t code[JAVA_RETURN_BYTES];
	struct unwind_place place;

	return walk__place(w, pc, false, &place) && walk__is_in_java(w, &place) &&
	       !tables__code(w->env, w->process, place.region, pc, code, sizeof(code)) &&
	       java_code__enters_interpreter(code);
}

/*
 * Steps from a method of the interpreter that has no frame yet, or none any more: its way to the
 * end leads through a dispatch and is not followed. It returns into the interpreter, to an address
 * on top of the stack, or in %rax while it makes room for its variables, or in %r13 when it has
 * removed them.
 */
static enum unwind_step step_entry(struct walk *w, uint64_t *pc)
{
	uint64_t sp, fp;

	if (!w->at.exact || !walk__reg(w, w->arch->sp, &sp) || !walk__reg(w, w->arch->fp, &fp))
		return STEP_NONE;
	if (walk__word(w, sp, pc) && is_reentry(w, *pc))
		return go(w, sp + w->arch->word, true, fp);
	if ((walk__reg(w, REG_RAX, pc) && is_reentry(w, *pc)) ||
	    (walk__reg(w, REG_R13, pc) && is_reentry(w, *pc)))
		return go(w, sp, true, fp);
	return STEP_NONE;
}

/*
 * Returns true in a function that the process's perf map names, after its set-up of a frame
 * pointer.
 */
static bool keeps_frame(struct walk *w)
{
	uint8_t code[JAVA_PROLOGUE_BYTES] = {};
	const struct symbol *sym;
	size_t at, len = sizeof(code);

	process__update_jit(w->env, w->process);
	sym = symtab__find(&w->process->jit.tab, w->at.pc - !w->at.exact);
	if (!sym)
		return false;
	if (sym->size < len)
		len = sym->size;
	return !tables__code(w->env, w->process, w->at.region, sym->addr, code, len) &&
	       java_code__keeps_frame(code, &at) && w->at.pc >= sym->addr + at;
}

/*
 * Steps from a frame of a known size: the highest words are the caller's frame pointer and the
 * return address.
 */
static enum unwind_step step_sized(struct walk *w, uint64_t size, uint64_t *pc)
{
	unsigned word = w->arch->word;
	uint64_t sp, fp;
	uint32_t none;

	if (size < 2 * word || size > FRAME_MAX || !walk__reg(w, w->arch->sp, &sp))
		return STEP_NONE;
	sp += size;
	if (!walk__word(w, sp - word, pc) || !walk__word(w, sp - 2 * word, &fp))
		return w->why == STACK_END_ASTRAY ? STEP_NONE : STEP_ENDS;
	*pc &= w->pc_mask;
	/* A method that is being replaced has put an address of its own there. */
	if (!is_caller(w, *pc) &&
	    language__frame_size(w->env, w->process, *pc - 1, 0, &none) <= FRAME_BY_POINTER)
		return STEP_NONE;
	return go(w, sp, true, fp);
}

static uint64_t size_of(struct walk *w)
{
	uint32_t none;

	return language__frame_size(w->env, w->process, w->at.pc - !w->at.exact, 0, &none);
}

/* --- arm64 */

static enum unwind_step step_link(struct walk *w, uint64_t size, uint64_t *pc)
{
	uint64_t sp, fp = 0;
	bool has_fp = walk__reg(w, w->arch->fp, &fp);

	if (!walk__reg(w, w->arch->link, pc) || !walk__reg(w, w->arch->sp, &sp))
		return STEP_NONE;
	*pc &= w->pc_mask;
	return is_caller(w, *pc) ? go(w, sp + size, has_fp, fp) : STEP_NONE;
}

static enum unwind_step step_arm64(struct walk *w, uint64_t *pc)
{
	uint64_t size = size_of(w);
	uint8_t code[JAVA_ARM64_BYTES];

	if (!w->at.exact)
		return size <= FRAME_BY_POINTER ? step_frame(w, size, pc) : step_sized(w, size, pc);
	if (tables__code(w->env, w->process, w->at.region, w->at.pc - JAVA_ARM64_BEFORE, code,
			 sizeof(code)))
		return STEP_NONE;
	if (size <= FRAME_BY_POINTER)
		return java_arm64__is_bare_return(code + JAVA_ARM64_BEFORE)
			       ? step_link(w, 0, pc)
			       : step_frame(w, size, pc);
	switch (java_arm64__frame(code, size)) {
	case JAVA_FRAME_NONE:
		return step_link(w, 0, pc);
	case JAVA_FRAME_EMPTY:
		return step_link(w, size, pc);
	case JAVA_FRAME_PAIR:
		return step_sized(w, 2 * w->arch->word, pc);
	case JAVA_FRAME_WHOLE:
		break;
	}
	return step_sized(w, size, pc);
}

/*
 * Tries the interpreter first: an exit may seem to return into the interpreter itself, from a call
 * of its own.
 */
enum unwind_step unwind_java__step(struct walk *w, uint64_t *pc)
{
	const struct jvm_exit *way;
	const struct java_exit *exit;
	enum unwind_step took;
	uint64_t slot = 0;

	if (w->arch->machine == EM_AARCH64)
		return step_arm64(w, pc);
	way = way_of(w);
	if (!way)
		return STEP_NONE;
	took = way->framed ? step_frame(w, true, pc) : STEP_NONE;
	if (took != STEP_NONE)
		return took;
	exit = find_exit(w, way, &slot, pc);
	if (exit)
		return leave(w, exit, slot);
	took = step_entry(w, pc);
	if (took != STEP_NONE)
		return took;
	if (is_beyond(w, way))
		return STEP_ENDS;
	/*
	 * HotSpot's stubs that compile or replace a method end in jumps, so that their way to the
	 * end is not found.
	 */
	took = w->at.exact ? STEP_NONE : step_sized(w, size_of(w), pc);
	if (took != STEP_NONE)
		return took;
	return way->exit_cnt == 0 && keeps_frame(w) ? step_frame(w, false, pc) : STEP_NONE;
}
