/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The walk from frame to frame, by the step that fits each place. See unwind.h. */
#include "symbol/unwind/unwind.h"

#include <errno.h>
#include <string.h>

#include "base/code/insn.h"
#include "symbol/languages/language.h"
#include "symbol/names/symbolize_parts.h"
#include "symbol/unwind/walk.h"

static void run(struct walk *w);

/*
 * --- Caller of JIT code without unwind table and frame pointer (PCRE2, PHP). Code with a table
 * calls such code by a pointer. The search goes through the words above the stack pointer. It takes
 * the first one that follows such a call and from which tables lead to the thread's start.
 */

#define SCAN_WORDS 512
#define SCAN_CALLS 8

static bool is_made(const struct walk *w)
{
	return !w->trial && w->arch->word == 8 && w->arch->link == NO_REG && !w->at.cfi &&
	       w->at.region->mapped->kind == MAPPED_ANON && !w->at.region->mapped->is_art_jit &&
	       !walk__is_in_java(w, &w->at);
}

/* Returns true when pc follows an indirect call in code with a table. */
static bool is_called_from(struct walk *w, uint64_t pc, struct unwind_place *ret)
{
	uint8_t code[CALL_BYTES];
	uint64_t callee;

	return walk__is_called_from(w, pc, ret) && ret->row.has_table &&
	       !tables__code(w->env, w->process, ret->region, pc - sizeof(code), code,
			     sizeof(code)) &&
	       !call_site__target(w->arch->machine, code, pc, &callee);
}

static void go_to(struct walk *w, const struct unwind_place *place, uint64_t slot)
{
	w->low = slot + w->arch->word;
	w->known = 0;
	walk__set(w, w->arch->sp, w->low);
	w->at = *place;
	w->by_fp = false;
}

/* Returns the end of a trial walk from there. */
static enum stack_end try(const struct walk *w, const struct unwind_place *place, uint64_t slot)
{
	static _Thread_local struct unwound found; /* too large for a stack */
	struct walk trial = *w;

	found.cnt = 1;
	found.dex_cnt = 0;
	trial.ret = &found;
	trial.frames = NULL;
	trial.trial = true;
	go_to(&trial, place, slot);
	run(&trial);
	return found.end;
}

static enum unwind_step step_behind(struct walk *w, uint64_t *pc)
{
	enum stack_end before = w->why, end = STACK_END_NO_TABLE;
	struct unwind_place place;
	unsigned calls = 0;
	uint64_t sp;

	if (!is_made(w) || !walk__reg(w, w->arch->sp, &sp))
		return STEP_NONE;
	for (unsigned i = 0; i < SCAN_WORDS && calls < SCAN_CALLS; i++) {
		if (!walk__word(w, sp + i * 8, pc) || !is_called_from(w, *pc, &place))
			continue;
		end = try(w, &place, sp + i * 8);
		if (end == STACK_END_COMPLETE) {
			go_to(w, &place, sp + i * 8);
			return STEP_TO;
		}
		if (end == STACK_END_COPY || end == STACK_END_HOLE)
			break; /* a larger copy of the stack may show the caller */
		calls++;
	}
	w->why = end == STACK_END_COPY || end == STACK_END_HOLE ? end : before;
	return w->why == end ? STEP_ENDS : STEP_NONE;
}

/* --- the walk */

/* Moves to the caller's place. Returns false when no caller can be there. */
static bool accept(struct walk *w, uint64_t pc, bool interrupted)
{
	struct unwind_place place;

	walk__refresh(w, pc - !interrupted);
	if (interrupted) {
		if (!walk__place(w, pc, true, &place))
			return false;
	} else if (!walk__place(w, pc, false, &place) || !walk__is_return(w, &place, true)) {
		if (!walk__is_handler_return(w, pc, &place))
			return false;
	}
	w->at = place;
	return true;
}

/*
 * Leaves a call of a null pointer, or of an address where no code is: nothing has run since, so the
 * caller has all registers. Returns false when the return address is not known.
 */
static bool leave_null_call(struct walk *w, uint64_t *pc)
{
	uint64_t sp;

	if (w->arch->link != NO_REG)
		return walk__reg(w, w->arch->link, pc);
	if (!walk__reg(w, w->arch->sp, &sp) || !walk__word(w, sp, pc))
		return false;
	walk__set(w, w->arch->sp, sp + w->arch->word);
	w->low = sp + w->arch->word;
	return true;
}

static enum unwind_step step(struct walk *w, uint64_t *pc)
{
	enum unwind_step took, behind;

	w->by_fp = w->by_fp && !w->at.row.has_table;
	/*
	 * Of arm64's signal frame the vdso of kernels before 5.8 describes two registers, and takes
	 * the interrupted pc from the link register (87676cfca141). In 32-bit arm's tables the
	 * trampoline belongs to the function before it.
	 */
	took = !w->at.row.has_table || w->at.row.signal || w->arch->machine == EM_ARM
		       ? unwind_signal__step(w, pc)
		       : STEP_NONE;
	if (took != STEP_NONE)
		return took;
	if (w->at.row.has_table)
		return unwind_table__step(w, pc);
	if (!w->arch->code) /* the rest reads instructions */
		return unwind_art__step(w, pc);
	took = unwind_frame__step(w, pc);
	behind = took == STEP_NONE || took == STEP_ENDS ? step_behind(w, pc) : STEP_NONE;
	return behind == STEP_NONE ? took : behind;
}

static void end(struct walk *w, enum stack_end why)
{
	w->ret->end = why;
	if (why == STACK_END_COMPLETE || !w->at.region)
		return;
	if (w->at.region->mapped->path[0])
		w->ret->module = w->at.region->mapped->path;
	else if (w->at.region->mapped->kind == MAPPED_ANON)
		w->ret->module = "[jit]"; /* like the names of its frames */
}

/*
 * Fills what the frame pointer leads to. Returns false when that is not known, or not copied. A
 * small frame ends before the last words: they stay 0.
 */
static bool note_words(struct walk *w, struct native_frame *frame)
{
	unsigned cnt = 0;

	if (!walk__reg(w, w->arch->fp, &frame->fp))
		return false;
	while (cnt < NATIVE_WORDS && walk__word(w, frame->fp - 8 * (cnt + 1), &frame->words[cnt]))
		cnt++;
	return cnt;
}

/*
 * Notes the frame if it may be of a language. HotSpot's compilers keep no frame pointer, and ART's
 * methods are known without.
 */
static void note_frame(struct walk *w)
{
	struct native_frame *frame = &w->frames[w->frame_cnt];
	bool framed = w->arch->word == 8 && w->arch->fp != NO_REG;
	bool art = walk__is_in_art(&w->at);
	uint64_t sp;

	if (!art && !w->at.region->mapped->is_art_jit && (!walk__is_managed(&w->at) || !framed))
		return;
	*frame = (struct native_frame){ .pc = w->at.pc, .exact = w->at.exact };
	framed = framed && note_words(w, frame);
	if (!framed && !art && w->at.region->mapped->kind == MAPPED_FILE)
		return;
	if (!framed) /* some may be there */
		*frame = (struct native_frame){ .pc = w->at.pc, .exact = w->at.exact };
	if (frame->exact)
		walk__reg(w, w->arch->bytecode, &frame->bytecode);
	if (art && walk__reg(w, w->arch->sp, &sp))
		walk__word(w, sp, &frame->method);
	frame->in_file = w->at.region->mapped->kind == MAPPED_FILE;
	frame->index = w->ret->cnt - 1;
	w->frame_cnt++;
}

static void run(struct walk *w)
{
	struct unwound *ret = w->ret;
	enum unwind_step took;
	uint64_t pc;

	for (;;) {
		if (w->frames)
			note_frame(w);
		took = step(w, &pc);
		pc &= w->pc_mask;
		if (took == STEP_COMPLETE)
			return end(w, STACK_END_COMPLETE);
		if (took == STEP_NONE)
			return end(w, w->at.row.at_entry && !w->at.exact ? STACK_END_COMPLETE
									 : STACK_END_NO_TABLE);
		if (took == STEP_ENDS)
			return end(w, w->why);
		if (ret->cnt + 1 >= UNWIND_MAX)
			return end(w, STACK_END_DEEP);
		if (took == STEP_INTERRUPTED && !accept(w, pc, true)) {
			ret->addresses[ret->cnt++] = pc + 1;
			took = leave_null_call(w, &pc) ? STEP_TO : STEP_ENDS;
			pc &= w->pc_mask;
			w->why = STACK_END_ASTRAY;
		}
		if (took == STEP_ENDS || (took == STEP_TO && !accept(w, pc, false)))
			return end(w, STACK_END_ASTRAY);
		ret->addresses[ret->cnt++] = pc + w->at.exact;
	}
}

/* The thread's pc, which is the whole result until the walk. */
static void begin(const struct symbolizer *sym, struct walk *w, const struct copy_event *copy,
		  struct unwound *ret)
{
	uint16_t machine = sym->env.machine ?: OWN_MACHINE;

	*w = (struct walk){ .copy = copy, .ret = ret };
	ret->module = NULL;
	ret->used_sz = 0;
	ret->script_cnt = 0;
	ret->dex_cnt = 0;
	ret->end = STACK_END_NO_TABLE;
	if (copy->rec.hdr.flags & JANK_COPY_32BIT)
		machine = unwind_arch__narrow(machine);
	walk__begin(w, unwind_arch__of(machine), sym->env.pc_mask ?: code_address__mask());
}

static void walk(struct symbolizer *sym, struct walk *w)
{
	/* too large for a stack; a frame of each kind at an address is possible */
	static _Thread_local struct native_frame frames[UNWIND_MAX + UNWIND_DEX_MAX];
	struct unwound *ret = w->ret;

	w->env = &sym->env;
	w->frames = frames;
	w->process = symbolizer__known(sym, w->copy->rec.hdr.tgid);
	if (w->process) {
		w->process->maps.at_ns = w->copy->rec.hdr.ts_ns;
		walk__refresh(w, ret->addresses[0]);
		if (walk__place(w, ret->addresses[0], true, &w->at))
			run(w);
		if (w->frame_cnt)
			language__read(w->env, w->process, frames, w->frame_cnt, ret);
		w->process->maps.at_ns = 0;
	}
	if (ret->module) /* the next reading of the maps may free it */
		ret->module = pool__add(&sym->pool, ret->module, strlen(ret->module));
}

int symbolizer__unwind(struct symbolizer *sym, const struct copy_event *copies,
		       struct unwound *rets, size_t cnt)
{
	struct walk w;

	for (size_t i = 0; i < cnt; i++) {
		begin(sym, &w, &copies[i], &rets[i]);
		if (!sym->remote)
			walk(sym, &w);
	}
	return sym->remote ? sym->remote->unwind(sym->remote_ctx, copies, rets, cnt) : 0;
}
