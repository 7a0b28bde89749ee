/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Step by the frame pointer, where there is no table. The frame pointer is trusted in code of
 * compilers that always keep it (Go, V8 and other JIT compilers): code without a file, or a long
 * stretch of code without any table. In other code it is trusted only when the function is seen to
 * set it up. A caller is accepted only after a call.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/code/insn.h"
#include "symbol/unwind/walk.h"

/* --- What instructions do to a function's frame, on this machine's architecture */

#define UNWIND_PROLOGUE 16 /* bytes of a function's first instructions */
#ifdef __aarch64__
#define UNWIND_BEFORE 0 /* bytes before an instruction */
#else
#define UNWIND_BEFORE 1
#endif
#define UNWIND_STUB 16 /* bytes of a linker stub */

static bool unwind_code__changes_stack(const uint8_t *code, size_t len);

/* Prologues and epilogues as compilers and linkers emit them. */

#ifdef __aarch64__

#define RET	   0xd65f03c0
#define BTI_C	   0xd503245f
#define MOV_FP_SP  0x910003fd
#define PUSH_LINK  0xa9bf7bf0			    /* stp x16, x30, [sp, #-16]! */
#define BR_X17	   0xd61f0220			    /* the last instruction of PLT0 */
#define IS_PUSH(i) (((i)&0xffc07fff) == 0xa9807bfd) /* stp x29, x30, [sp, #-n]! */

static uint32_t insn_at(const uint8_t *code)
{
	uint32_t ret;

	memcpy(&ret, code, sizeof(ret));
	return ret;
}

/*
 * Returns true when a function that begins with these UNWIND_PROLOGUE bytes sets up a frame
 * pointer. size gets the distance from it to the caller's stack pointer, where that differs between
 * functions; 0: unknown, or the same in all functions.
 */
static bool unwind_code__sets_up_frame(const uint8_t *code, uint64_t *size)
{
	uint32_t insn;

	*size = 0;
	for (size_t i = 0; i < UNWIND_PROLOGUE; i += sizeof(insn)) {
		insn = insn_at(code + i);
		if ((insn & 0xffc07fff) == 0xa9007bfd) /* stp x29, x30, [sp, #n] */
			return true;
		if (!IS_PUSH(insn))
			continue;
		/*
		 * The frame pointer equals the stack pointer after this push, and nothing else was
		 * pushed.
		 */
		if (i + 4 < UNWIND_PROLOGUE && insn_at(code + i + 4) == MOV_FP_SP &&
		    !unwind_code__changes_stack(code, i))
			*size = (128 - (insn >> 15 & 0x7f)) * 8;
		return true;
	}
	return false;
}

/* Returns true when the code moves the stack pointer, or calls. */
static bool unwind_code__changes_stack(const uint8_t *code, size_t len)
{
	uint32_t insn;

	for (size_t i = 0; i + sizeof(insn) <= len; i += sizeof(insn)) {
		insn = insn_at(code + i);
		if ((insn & 0x7f8003ff) == 0x510003ff || /* sub sp, sp, #n */
		    (insn & 0x3f0003e0) == 0x290003e0 || /* pairs */
		    (insn & 0xffe00fff) == 0xf8000ffe || /* str x30, [sp, #-n]! */
		    (insn & 0xfc000000) == 0x94000000 || /* calls */
		    (insn & 0xfffffc1f) == 0xd63f0000)
			return true;
	}
	return false;
}

/*
 * Returns true when the function is about to make its frame at `code`, or has removed it. code:
 * UNWIND_PROLOGUE bytes from there, UNWIND_BEFORE before it. slot gets the position of the return
 * address in words above the stack pointer; unused where a register holds it.
 */
static bool unwind_code__is_frameless(const uint8_t *code, unsigned *slot)
{
	uint32_t insn = insn_at(code);

	*slot = 0;
	if (insn == BTI_C)
		insn = insn_at(code + 4);
	return insn == RET || insn == PUSH_LINK || IS_PUSH(insn);
}

/*
 * Returns true when a linker stub (PLT0) has pushed a pair of words before `code`; the second word
 * is the return address. code: UNWIND_STUB bytes before it and after it. Always false on x86-64,
 * where the linker writes tables for its stubs.
 */
static bool unwind_code__pushed_link(const uint8_t *code)
{
	bool ends = false;

	for (size_t i = 0; i < UNWIND_STUB && !ends; i += sizeof(uint32_t))
		ends = insn_at(code + i) == BR_X17;
	for (size_t i = sizeof(uint32_t); ends && i <= UNWIND_STUB; i += sizeof(uint32_t))
		if (insn_at(code - i) == PUSH_LINK)
			return true;
	return false;
}

#else

static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/* mov %rsp, %rbp, in its two forms; in 32-bit code without the prefix */
static bool is_mov_to_fp(const uint8_t *code)
{
	code += code[0] == 0x48;
	return (code[0] == 0x89 && code[1] == 0xe5) || (code[0] == 0x8b && code[1] == 0xec);
}

static bool unwind_code__sets_up_frame(const uint8_t *code, uint64_t *size)
{
	*size = 0;
	if (!memcmp(code, endbr64, 3))
		code += sizeof(endbr64);
	return code[0] == 0x55 && is_mov_to_fp(code + 1);
}

/* The scan may start within an instruction, so it may see a change where there is none. */
bool unwind_code__changes_stack(const uint8_t *code, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++)
		if ((code[i] == 0x55 && is_mov_to_fp(code + i + 1)) ||
		    ((code[i] == 0x81 || code[i] == 0x83) && code[i + 1] == 0xec) ||
		    (code[i] == 0x8d && code[i + 1] == 0x64))
			return true;
	return len && (code[0] >= 0x50 && code[0] <= 0x57);
}

static bool unwind_code__is_frameless(const uint8_t *code, unsigned *slot)
{
	uint64_t size;

	*slot = code[-1] == 0x55 && is_mov_to_fp(code);
	return *slot || code[0] == 0xc3 || code[0] == 0xc2 ||
	       unwind_code__sets_up_frame(code, &size);
}

static bool unwind_code__pushed_link(const uint8_t *code)
{
	return false;
}

#endif

#define FUNCTION_MAX (1u << 20)
#define LEAF_MAX     1024 /* bytes of a function without a frame */
#define NEAR	     (1u << 20)

static bool code_at(struct walk *w, const struct region *region, uint64_t addr, uint8_t *buf,
		    size_t len)
{
	return !tables__code(w->env, w->process, region, addr, buf, len);
}

/*
 * Gets the target of the call before a return address. Returns false when the call is indirect or
 * cannot be read.
 */
static bool callee_of(struct walk *w, const struct unwind_place *place, uint64_t *ret)
{
	uint8_t code[CALL_BYTES];

	return code_at(w, place->region, place->pc - sizeof(code), code, sizeof(code)) &&
	       call_site__target(code, place->pc, ret);
}

bool walk__is_managed(const struct unwind_place *place)
{
	return place->cfi ? place->row.managed : place->region->mapped->kind == MAPPED_ANON;
}

/*
 * Returns true where the function is about to make its frame, or has removed it. ret_slot gets the
 * address of the return address.
 */
static bool has_no_frame_yet(struct walk *w, uint64_t *ret_slot)
{
	uint8_t code[UNWIND_BEFORE + UNWIND_PROLOGUE];
	unsigned slot;

	if (!code_at(w, w->at.region, w->at.pc - UNWIND_BEFORE, code, sizeof(code)) ||
	    !unwind_code__is_frameless(code + UNWIND_BEFORE, &slot))
		return false;
	*ret_slot = w->low + slot * w->arch->word;
	return true;
}

/* Leaves the linker stub that resolves a function by its number. */
static bool leave_stub(struct walk *w, uint64_t *pc)
{
	uint8_t code[2 * UNWIND_STUB];
	struct unwind_place caller;

	if (w->arch->link == NO_REG ||
	    !code_at(w, w->at.region, w->at.pc - UNWIND_STUB, code, sizeof(code)) ||
	    !unwind_code__pushed_link(code + UNWIND_STUB) ||
	    !walk__word(w, w->low + w->arch->word, pc))
		return false;
	*pc &= w->arch->pc_mask;
	w->known &= w->arch->saved;
	w->low += 2 * w->arch->word;
	walk__set(w, w->arch->sp, w->low);
	return walk__is_called_from(w, *pc, &caller);
}

/*
 * Gets the caller of a leaf that has no frame (yet): from a stack slot, or from the link register.
 */
static bool leaf_address(struct walk *w, uint64_t slot, struct unwind_place *ret)
{
	uint64_t pc;

	if (w->arch->link == NO_REG ? !walk__word(w, slot, &pc) : !walk__reg(w, w->arch->link, &pc))
		return false;
	return walk__is_called_from(w, pc & w->arch->pc_mask, ret);
}

/* Returns true when no code from `begin` (see may_begin) to here has moved the stack pointer. */
static bool is_straight(struct walk *w, uint64_t begin)
{
	uint8_t code[LEAF_MAX];
	uint64_t len = w->at.pc - begin;

	return code_at(w, w->at.region, begin, code, len) && !unwind_code__changes_stack(code, len);
}

static bool may_begin(struct walk *w, uint64_t addr)
{
	return addr && addr <= w->at.pc && w->at.pc - addr <= LEAF_MAX;
}

/*
 * Returns true in a leaf that never makes a frame: no code since its begin has moved the stack
 * pointer. The begin is the target of the caller's direct call. Otherwise it is the symbol's: a
 * linker stub or another function jumped there.
 */
static bool is_frameless(struct walk *w, struct unwind_place *ret)
{
	uint64_t begin = 0;

	if (!leaf_address(w, w->low, ret))
		return false;
	if (!callee_of(w, ret, &begin) || !may_begin(w, begin))
		begin = tables__function(w->env, w->process, w->at.region, w->at.pc);
	return may_begin(w, begin) && is_straight(w, begin);
}

/*
 * Returns true when the function that the caller called is this one, and keeps a frame pointer.
 * size: see unwind_code__sets_up_frame.
 */
static bool keeps_frame(struct walk *w, const struct unwind_place *caller, uint64_t *size)
{
	uint64_t begin =
		tables__function(w->env, w->process, w->at.region, w->at.pc - !w->at.exact);
	uint64_t callee;
	uint8_t code[UNWIND_PROLOGUE];
	bool direct = callee_of(w, caller, &callee);

	if (direct && begin && callee != begin)
		return false;
	if (!begin)
		begin = direct ? callee : 0;
	return begin && begin <= w->at.pc && w->at.pc - begin < FUNCTION_MAX &&
	       code_at(w, w->at.region, begin, code, sizeof(code)) &&
	       unwind_code__sets_up_frame(code, size);
}

static enum unwind_step outside(struct walk *w, uint64_t fp)
{
	if (w->why == STACK_END_ASTRAY || !walk__is_managed(&w->at) || fp - w->low > NEAR)
		return STEP_NONE;
	return STEP_ENDS;
}

enum unwind_step unwind_frame__step(struct walk *w, uint64_t *pc)
{
	uint64_t fp, next_fp, slot = 0, size = 0;
	enum unwind_step took;
	struct unwind_place caller;
	unsigned word = w->arch->word;

	if (walk__is_in_java(w, &w->at))
		return unwind_java__step(w, pc);
	took = unwind_go__step(w, pc);
	if (took != STEP_NONE)
		return took;
	if (!walk__is_managed(&w->at) && unwind_return__step(w, pc) == STEP_TO)
		return STEP_TO;
	if (w->at.exact && has_no_frame_yet(w, &slot) && leaf_address(w, slot, &caller)) {
		walk__leave_leaf(w, slot,
				 slot > w->low ? w->low
					       : 0); /* the frame pointer was pushed, too */
		*pc = caller.pc;
		return STEP_TO;
	}
	if (w->at.exact && is_frameless(w, &caller)) {
		walk__leave_leaf(w, w->low, 0);
		*pc = caller.pc;
		return STEP_TO;
	}
	if (w->at.exact && leave_stub(w, pc))
		return STEP_TO;
	if (w->arch->fp == NO_REG || !walk__reg(w, w->arch->fp, &fp))
		return STEP_NONE;
	if (!fp && w->by_fp)
		return STEP_COMPLETE;
	if (fp < w->low || fp % word)
		return STEP_NONE;
	if (!walk__word(w, fp + word, pc) || !walk__word(w, fp, &next_fp))
		return outside(w, fp);
	*pc &= w->arch->pc_mask;
	if (!*pc)
		return walk__is_managed(&w->at) ? STEP_COMPLETE : STEP_NONE;
	if (walk__is_managed(&w->at))
		walk__refresh(w, *pc - 1);
	if (!w->at.region || !walk__place(w, *pc, false, &caller) ||
	    !walk__is_return(w, &caller, walk__is_managed(&w->at)))
		return STEP_NONE;
	if (!walk__is_managed(&w->at) && !keeps_frame(w, &caller, &size))
		return STEP_NONE;
	w->known = 0;
	walk__set(w, w->arch->fp, next_fp);
	if (w->arch->link == NO_REG)
		size = 2 * word;
	if (size)
		walk__set(w, w->arch->sp, fp + size);
	w->low = fp + 2 * word;
	w->by_fp = true;
	return STEP_TO;
}
