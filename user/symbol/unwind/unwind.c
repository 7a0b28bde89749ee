/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The walk from frame to frame. See unwind.h. */
#include "symbol/unwind/unwind.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "symbol/names/symbolize_parts.h"
#include "symbol/unwind/unwind_java.h"
#include "symbol/unwind/unwind_parts.h"

#define FAR (64ull << 20) /* no part of a stack lies this far above the stack pointer */

/*
 * Index in the copy of each 32-bit register, by register number. On arm, only the pc has an index
 * that differs from its number.
 */
static const uint8_t copied_386[] = { 0, 2, 1, 3, 7, 6, 4, 5, 16 };
static const uint8_t copied_arm[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 32 };

/* All four on each machine, so that tests can use any of them. */
static const struct unwind_arch archs[] = {
	{
		.machine = EM_X86_64,
		.word = 8,
		.sp = 7,
		.fp = 6,
		.pc = 16,
		.link = NO_REG,
		.reg_cnt = 17,
		.saved = 1 << 3 | 1 << 6 | 1 << 7 | 0xf << 12,
		.pc_mask = UINT64_MAX,
	},
	{
		.machine = EM_386,
		.word = 4,
		.sp = 4,
		.fp = 5,
		.pc = 8,
		.link = NO_REG,
		.reg_cnt = 9,
		.saved = 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7,
		.pc_mask = UINT32_MAX,
		.copied = copied_386,
	},
	{
		.machine = EM_AARCH64,
		.word = 8,
		.sp = 31,
		.fp = 29,
		.pc = 32,
		.link = 30,
		.reg_cnt = 33,
		.saved = 0x3ff80000 | 1ull << 31, /* x19 to x29, sp */
		.pc_mask = (1ull << 48) - 1,
	},
	{
		/* arm has other tables (.ARM.exidx), and two kinds of frame pointers. */
		.machine = EM_ARM,
		.word = 4,
		.sp = 13,
		.fp = NO_REG,
		.pc = 15,
		.link = 14,
		.reg_cnt = 16,
		.pc_mask = UINT32_MAX - 1,
		.copied = copied_arm,
	},
};

#ifdef __aarch64__
#define MACHINE_64 EM_AARCH64
#define MACHINE_32 EM_ARM
#else
#define MACHINE_64 EM_X86_64
#define MACHINE_32 EM_386
#endif

const struct unwind_arch *unwind_arch__of(uint16_t machine)
{
	size_t i = 0;

	while (archs[i].machine != machine)
		i++;
	return &archs[i];
}

/*
 * Returns true when the word lies in a page that could not be copied. A word lies in one page or
 * two.
 */
static bool in_hole(const struct walk *w, uint64_t off, unsigned size)
{
	uint64_t begin = w->bottom % JANK_COPY_PAGE + off;
	uint64_t first = begin / JANK_COPY_PAGE, last = (begin + size - 1) / JANK_COPY_PAGE;

	return w->copy->rec.hole_mask & (1u << first | 1u << last);
}

bool walk__read(struct walk *w, uint64_t addr, unsigned size, uint64_t *ret)
{
	uint32_t len = w->copy->rec.copy_sz;
	uint64_t off = addr - w->bottom;

	if (addr < w->bottom || off > FAR) {
		w->why = STACK_END_ASTRAY;
		return false;
	}
	if (off > len || size > len - off) {
		w->why = w->copy->rec.hdr.flags & JANK_COPY_HOLE ? STACK_END_HOLE : STACK_END_COPY;
		return false;
	}
	if (in_hole(w, off, size)) {
		w->why = STACK_END_HOLE;
		return false;
	}
	*ret = 0;
	memcpy(ret, w->copy->bytes + off, size); /* little-endian */
	if (w->ret->used_sz < off + size)
		w->ret->used_sz = off + size;
	return true;
}

bool walk__word(struct walk *w, uint64_t addr, uint64_t *ret)
{
	return walk__read(w, addr, w->arch->word, ret);
}

bool walk__reg(const struct walk *w, uint64_t reg, uint64_t *ret)
{
	if (reg >= w->arch->reg_cnt || !(w->known >> reg & 1))
		return false;
	*ret = w->regs[reg];
	return true;
}

void walk__set(struct walk *w, unsigned reg, uint64_t value)
{
	w->regs[reg] = w->arch->word == 4 ? (uint32_t)value : value;
	w->known |= 1ull << reg;
}

/* The regions are replaced: do not use regions of places that were found before. */
void walk__refresh(struct walk *w, uint64_t pc)
{
	if (proc_maps__find(&w->process->maps, pc) || w->refreshed ||
	    clock__mono_ns() < w->process->next_refresh_ns)
		return;
	w->refreshed = true;
	process__refresh(w->env, w->process, true);
	w->at.region = proc_maps__find(&w->process->maps, w->at.pc - !w->at.exact);
}

bool walk__place(struct walk *w, uint64_t pc, bool exact, struct unwind_place *ret)
{
	const struct cfi_row *row;
	struct cfi *cfi = NULL;

	*ret = (struct unwind_place){ .pc = pc, .exact = exact };
	ret->region = pc ? proc_maps__find(&w->process->maps, pc - !exact) : NULL;
	if (!ret->region)
		return false;
	row = tables__row(w->env, w->process, ret->region, pc, exact, &cfi);
	if (row) {
		ret->row = *row;
		ret->cfi = cfi;
		ret->row.has_table &= cfi__machine(cfi) == w->arch->machine;
	}
	return true;
}

/*
 * The first function of a goroutine returns to an address that does not follow a call: after the
 * no-operation at the begin of runtime.goexit, before its call (runtime/asm_amd64.s, asm_arm64.s in
 * Go).
 */
static bool is_goexit(struct walk *w, const struct unwind_place *place)
{
#ifdef __aarch64__
	static const uint8_t nop[] = { 0xe0, 0x03, 0x00, 0xaa }; /* mov x0, x0 */
	uint8_t code[8];

	return !tables__code(w->env, w->process, place->region, place->pc - 4, code,
			     sizeof(code)) &&
	       !memcmp(code, nop, sizeof(nop)) && (code[7] & 0xfc) == 0x94;
#else
	uint8_t code[2];

	return !tables__code(w->env, w->process, place->region, place->pc - 1, code,
			     sizeof(code)) &&
	       code[0] == 0x90 && code[1] == 0xe8;
#endif
}

bool walk__is_return(struct walk *w, const struct unwind_place *place, bool otherwise)
{
	int res;

	if (place->cfi)
		return place->row.behind_call || (place->row.of_go && is_goexit(w, place));
	if (unwind_java__is(w, place))
		return unwind_java__is_return(w, place);
	res = tables__behind_call(w->env, w->process, place->region, place->pc);
	return res < 0 ? otherwise : res;
}

bool walk__is_called_from(struct walk *w, uint64_t pc, struct unwind_place *ret)
{
	return walk__place(w, pc, false, ret) && walk__is_return(w, ret, false);
}

void walk__leave_leaf(struct walk *w, uint64_t slot, uint64_t saved)
{
	uint64_t saved_fp;

	if (saved && walk__word(w, saved, &saved_fp))
		walk__set(w, w->arch->fp, saved_fp);
	if (w->arch->link == NO_REG) {
		w->low = slot + w->arch->word;
		walk__set(w, w->arch->sp, w->low);
	}
	w->known &= w->arch->saved;
}

bool walk__is_handler_return(struct walk *w, uint64_t pc, struct unwind_place *ret)
{
	return walk__place(w, pc, true, ret) &&
	       ((ret->row.has_table && ret->row.signal) || unwind_signal__is_trampoline(w, ret));
}

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

static enum unwind_step step(struct walk *w, uint64_t *pc)
{
	enum unwind_step took, behind;

	w->by_fp = w->by_fp && !w->at.row.has_table;
	if (w->at.row.has_table)
		return unwind_table__step(w, pc);
	if (w->arch->machine == EM_ARM)
		return STEP_NONE; /* the rest reads instructions, of arm64 */
	if (w->at.exact && unwind_signal__is_trampoline(w, &w->at))
		return unwind_signal__step(w, pc);
	took = unwind_frame__step(w, pc);
	behind = took == STEP_NONE || took == STEP_ENDS ? unwind_behind__step(w, pc) : STEP_NONE;
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

void walk__run(struct walk *w)
{
	struct unwound *ret = w->ret;
	enum unwind_step took;
	uint64_t pc;

	for (;;) {
		took = step(w, &pc);
		pc &= w->arch->pc_mask;
		if (took == STEP_COMPLETE)
			return end(w, STACK_END_COMPLETE);
		if (took == STEP_NONE)
			return end(w, w->at.row.at_entry && !w->at.exact ? STACK_END_COMPLETE
									 : STACK_END_NO_TABLE);
		if (took == STEP_ENDS)
			return end(w, w->why);
		if (!pc)
			return end(w, STACK_END_COMPLETE);
		if (ret->cnt == UNWIND_MAX)
			return end(w, STACK_END_DEEP);
		if (!accept(w, pc, took == STEP_INTERRUPTED))
			return end(w, STACK_END_ASTRAY);
		ret->addresses[ret->cnt++] = pc + w->at.exact;
	}
}

void walk__begin(struct walk *w, const struct unwind_arch *arch)
{
	const struct jank_rec_copy *rec = &w->copy->rec;

	w->arch = arch;
	for (unsigned i = 0; i < arch->reg_cnt; i++)
		walk__set(w, i, rec->regs[arch->copied ? arch->copied[i] : i]);
	w->bottom = w->low = w->regs[arch->sp];
	w->ret->addresses[0] = w->regs[arch->pc];
	w->ret->cnt = 1;
}

int symbolizer__unwind(struct symbolizer *sym, uint32_t pid, const struct copy_event *copy,
		       struct unwound *ret)
{
	bool is_32 = copy->rec.hdr.flags & JANK_COPY_32BIT;
	struct walk w = { .copy = copy, .ret = ret };

	ret->module = NULL;
	ret->used_sz = 0;
	ret->end = STACK_END_NO_TABLE;
	walk__begin(&w, unwind_arch__of(is_32 ? MACHINE_32 : MACHINE_64));
	w.env = &sym->env;
	w.process = symbolizer__known(sym, pid);
	if (w.process) {
		w.process->maps.at_ns = copy->rec.hdr.ts_ns;
		walk__refresh(&w, ret->addresses[0]);
		if (walk__place(&w, ret->addresses[0], true, &w.at))
			walk__run(&w);
		w.process->maps.at_ns = 0;
	}
	if (ret->module) /* the next reading of the maps may free it */
		ret->module = pool__add(&sym->pool, ret->module, strlen(ret->module));
	return 0;
}
