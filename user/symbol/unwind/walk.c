/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of a walk: what was copied, and which places may be callers. See walk.h. */
#include "symbol/unwind/walk.h"

#include <elf.h>
#include <string.h>

#include "base/clock.h"

#define FAR (64ull << 20) /* no part of a stack lies this far above the stack pointer */

/*
 * Index in the copy of each 32-bit register, by register number. On arm, only the pc has an index
 * that differs from its number.
 */
static const uint8_t copied_386[] = { 0, 2, 1, 3, 7, 6, 4, 5, 16 };
static const uint8_t copied_arm[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 32 };

/* All four on each machine: a copy may be of another one. */
static const struct unwind_arch archs[] = {
	{
		.machine = EM_X86_64,
		.code = &frame_code_x86,
		.bytecode = 13,
		.dex_begin = 3,
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
		.code = &frame_code_x86,
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
		.code = &frame_code_arm64,
		.bytecode = 22,
		.dex_begin = 19,
		.word = 8,
		.sp = 31,
		.fp = 29,
		.pc = 32,
		.link = 30,
		.reg_cnt = 33,
		.saved = 0x3ff80000 | 1ull << 31, /* x19 to x29, sp */
		.pc_mask = UINT64_MAX,		  /* the machine's: walk__begin */
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
		.saved = 0xff0 | 1 << 13, /* r4 to r11, sp */
		.pc_mask = UINT32_MAX - 1,
		.copied = copied_arm,
	},
};

uint16_t unwind_arch__narrow(uint16_t machine)
{
	return machine == EM_AARCH64 ? EM_ARM : EM_386;
}

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

static unsigned copied_at(const struct unwind_arch *arch, unsigned reg)
{
	return arch->copied ? arch->copied[reg] : reg;
}

/* Reads the stack that a handler on a signal stack has interrupted. */
static bool read_other(const struct walk *w, uint64_t addr, unsigned size, uint64_t *ret)
{
	const struct copy_event *other = w->env ? w->env->other : NULL;
	uint64_t off = other ? addr - other->rec.regs[copied_at(w->arch, w->arch->sp)] : 0;

	if (!other || off > other->rec.copy_sz || size > other->rec.copy_sz - off)
		return false;
	*ret = 0;
	memcpy(ret, other->bytes + off, size);
	return true;
}

static bool read_red_zone(const struct walk *w, uint64_t addr, unsigned size, uint64_t *ret)
{
	const struct jank_rec_copy *rec = &w->copy->rec;
	uint64_t off = addr - (w->bottom - sizeof(rec->red_zone));

	if (w->arch->machine != EM_X86_64 || off > sizeof(rec->red_zone) - size)
		return false;
	*ret = 0;
	memcpy(ret, rec->red_zone + off, size);
	return true;
}

/* Reads what is not in the copy: says why, unless it is in the other stack. */
static __attribute__((noinline, cold)) bool read_beyond(struct walk *w, uint64_t addr,
							unsigned size, uint64_t *ret)
{
	uint32_t len = w->copy->rec.copy_sz;
	uint64_t off = addr - w->bottom;

	if (read_red_zone(w, addr, size, ret))
		return true;
	if (addr < w->bottom || off > FAR)
		w->why = STACK_END_ASTRAY;
	else if (off > len || size > len - off)
		w->why = w->copy->rec.hdr.flags & JANK_COPY_HOLE ? STACK_END_HOLE : STACK_END_COPY;
	else
		w->why = STACK_END_HOLE;
	return read_other(w, addr, size, ret);
}

bool walk__read(struct walk *w, uint64_t addr, unsigned size, uint64_t *ret)
{
	uint32_t len = w->copy->rec.copy_sz;
	uint64_t off = addr - w->bottom;

	if (addr < w->bottom || off > len || size > len - off || in_hole(w, off, size))
		return read_beyond(w, addr, size, ret);
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

bool walk__slot(const struct walk *w, const struct path_slot *slot, uint64_t *ret)
{
	if (slot->base != PATH_SP && slot->base != PATH_FP)
		return false;
	if (!walk__reg(w, slot->base == PATH_FP ? w->arch->fp : w->arch->sp, ret))
		return false;
	*ret += (int64_t)slot->off;
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
	if (ret->region->mapped->is_art_jit)
		row = language__row(w->env, w->process, pc, exact, &cfi);
	else
		row = tables__row(w->env, w->process, ret->region, pc, exact, &cfi);
	if (row && (row->has_table || !ret->region->mapped->is_art_jit)) {
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
	static const uint8_t nop[] = { 0xe0, 0x03, 0x00, 0xaa }; /* mov x0, x0 */
	bool has_link = w->arch->link != NO_REG;
	uint8_t code[8];

	if (tables__code(w->env, w->process, place->region, place->pc - (has_link ? 4 : 1), code,
			 has_link ? 8 : 2))
		return false;
	if (has_link)
		return !memcmp(code, nop, sizeof(nop)) && (code[7] & 0xfc) == 0x94;
	return code[0] == 0x90 && code[1] == 0xe8;
}

bool walk__is_in_java(const struct walk *w, const struct unwind_place *place)
{
	return w->process->is_java && place->region && place->region->mapped->kind == MAPPED_ANON &&
	       (w->arch->machine == EM_X86_64 || w->arch->machine == EM_AARCH64);
}

bool walk__is_return(struct walk *w, const struct unwind_place *place, bool otherwise)
{
	int res;

	if (place->cfi && !place->region->mapped->is_art_jit)
		return place->row.behind_call || (place->row.of_go && is_goexit(w, place));
	if (walk__is_in_java(w, place))
		return java_code__returns_to(w->env, w->process, w->arch->machine, place->region,
					     place->pc);
	res = tables__behind_call(w->env, w->process, w->arch->machine, place->region, place->pc);
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

void walk__begin(struct walk *w, const struct unwind_arch *arch, uint64_t pc_mask)
{
	const struct jank_rec_copy *rec = &w->copy->rec;

	w->arch = arch;
	w->pc_mask = arch->pc_mask & pc_mask;
	for (unsigned i = 0; i < arch->reg_cnt; i++)
		walk__set(w, i, rec->regs[copied_at(arch, i)]);
	w->bottom = w->low = w->regs[arch->sp];
	w->ret->addresses[0] = w->regs[arch->pc] & w->pc_mask;
	w->ret->cnt = 1;
}
