/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind step through ART's compiled methods whose file has no unwind table, as dex2oat and the JIT
 * compiler write without mini debug info. They keep no frame pointer; the ArtMethod at the lowest
 * word of the frame leads to its size (languages/art_method.c).
 */
#include "symbol/languages/language.h"
#include "symbol/languages/runtime.h"
#include "symbol/unwind/walk.h"

bool walk__is_in_art(const struct unwind_place *place)
{
	const struct mapped *mapped = place->region->mapped;

	return !place->row.has_table && (mapped->is_art_jit || (mapped->kind == MAPPED_FILE &&
								java__is_compiled(mapped->path)));
}

/* Registers are saved below the return address, the one with the highest number first. */
static void restore(struct walk *w, uint64_t slot, uint32_t saved)
{
	unsigned link = w->arch->link != NO_REG ? w->arch->link : w->arch->pc, reg;
	uint64_t value;

	w->known &= w->arch->saved;
	for (unsigned i = link; i-- > 0;) {
		if (!(saved >> i & 1))
			continue;
		slot -= w->arch->word;
		reg = w->arch->machine == EM_X86_64 ? unwind_return__dwarf_of[i] : i;
		if (walk__word(w, slot, &value))
			walk__set(w, reg, value);
		else
			w->known &= ~(1ull << reg);
	}
}

enum unwind_step unwind_art__step(struct walk *w, uint64_t *pc)
{
	uint64_t sp, top, size, slot;
	struct unwind_place caller;
	uint32_t saved = 0;

	if (!walk__is_in_art(&w->at) || !walk__reg(w, w->arch->sp, &sp) || !walk__word(w, sp, &top))
		return STEP_NONE;
	size = language__frame_size(w->env, w->process, w->at.pc - !w->at.exact, top, &saved);
	if (size < 2 * w->arch->word)
		return STEP_NONE;
	slot = sp + size - w->arch->word;
	if (!walk__word(w, slot, pc))
		return w->why == STACK_END_ASTRAY ? STEP_NONE : STEP_ENDS;
	*pc &= w->pc_mask;
	walk__refresh(w, *pc - 1);
	if (!w->at.region || !walk__is_called_from(w, *pc, &caller))
		return STEP_NONE;
	restore(w, slot, saved);
	w->low = sp + size;
	walk__set(w, w->arch->sp, w->low);
	w->by_fp = false;
	return STEP_TO;
}
