/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind step by the code's path to its return. See walk.h. */
#include "base/code/insn.h"
#include "symbol/unwind/walk.h"

#define SCAN_WORDS 256
#define SCAN_CALLS 16

const uint8_t unwind_return__dwarf_of[PATH_REGS] = { 0, 2, 1,  3,  7,  6,  4,  5,
						     8, 9, 10, 11, 12, 13, 14, 15 };

enum proof { REFUTED, UNPROVEN, PROVEN };

struct return_place {
	const struct path_state *by; /* NULL: the registers are unknown */
	struct unwind_place place;
	uint64_t slot;
};

/*
 * Checks whether the call before the return address at `slot` led to the current address with the
 * current stack.
 */
static enum proof prove(struct walk *w, const struct unwind_place *caller, uint64_t slot)
{
	uint8_t code[CALL_BYTES];
	const struct region *at = w->at.region, *to;
	struct paths paths;
	uint64_t callee;

	if (tables__code(w->env, w->process, caller->region, caller->pc - sizeof(code), code,
			 sizeof(code)))
		return REFUTED;
	if (!call_site__target(w->arch->machine, code, caller->pc, &callee))
		return UNPROVEN;
	to = proc_maps__find(&w->process->maps, callee);
	if (to != at)
		return to && to->mapped == caller->region->mapped ? UNPROVEN : REFUTED;
	paths__follow(w, at, callee, w->at.pc, &paths);
	if (!paths.met)
		return UNPROVEN; /* a stub that jumps on by a pointer */
	return slot + paths.met_sp == w->regs[w->arch->sp] ? PROVEN : REFUTED;
}

static bool place_at(struct walk *w, uint64_t slot, struct unwind_place *ret)
{
	uint64_t pc;

	return slot >= w->low && walk__word(w, slot, &pc) && walk__is_called_from(w, pc, ret);
}

/*
 * Chooses among the paths to a return the one that the caller's call confirms; without
 * confirmation, the only path.
 */
static bool by_returns(struct walk *w, const struct paths *paths, struct return_place *ret)
{
	enum proof best = REFUTED;
	unsigned cnt = 0;

	for (unsigned i = 0; i < paths->result_cnt; i++) {
		struct return_place found = { .by = &paths->results[i] };
		enum proof proof;

		if (!walk__slot(w, &found.by->sp, &found.slot) ||
		    !place_at(w, found.slot, &found.place))
			continue;
		proof = prove(w, &found.place, found.slot);
		if (proof < best || proof == REFUTED)
			continue;
		cnt = proof > best ? 1 : cnt + 1;
		best = proof;
		*ret = found;
	}
	return cnt == 1 && (best == PROVEN || paths->result_cnt == 1);
}

/*
 * No path reaches a return: the function never returns. Searches the stack for the call that led
 * here, or for the program's first frame.
 */
static bool by_calls(struct walk *w, struct return_place *ret)
{
	uint64_t sp;
	unsigned calls = 0;

	if (!walk__reg(w, w->arch->sp, &sp))
		return false;
	for (unsigned i = 0; i < SCAN_WORDS && calls < SCAN_CALLS; i++) {
		struct return_place found = { .slot = sp + i * 8 };

		if (!place_at(w, found.slot, &found.place))
			continue;
		if ((!calls && found.place.row.at_entry) ||
		    prove(w, &found.place, found.slot) == PROVEN) {
			*ret = found;
			return true;
		}
		calls++;
	}
	return false;
}

static void set_regs(struct walk *w, const struct path_state *by)
{
	uint64_t values[PATH_REGS], addr, known = 0;

	for (unsigned i = 0; by && i < PATH_REGS; i++) {
		const struct path_slot *slot = &by->regs[i];
		bool ok = slot->base == PATH_KEPT
				  ? walk__reg(w, unwind_return__dwarf_of[i], &values[i])
				  : walk__slot(w, slot, &addr) && walk__word(w, addr, &values[i]);

		known |= (uint64_t)ok << i;
	}
	w->known = 0;
	for (unsigned i = 0; i < PATH_REGS; i++)
		if (known >> i & 1)
			walk__set(w, unwind_return__dwarf_of[i], values[i]);
	w->known &= w->arch->saved;
}

bool unwind_return__keeps(struct walk *w, unsigned reg, uint64_t slot)
{
	struct paths paths;
	unsigned kept = 0, i = 0;
	uint64_t at;

	while (i < PATH_REGS && unwind_return__dwarf_of[i] != reg)
		i++;
	if (w->arch->machine != EM_X86_64 || i == PATH_REGS)
		return false;
	paths__follow(w, w->at.region, w->at.pc, 0, &paths);
	for (unsigned nr = 0; nr < paths.result_cnt; nr++) {
		const struct path_state *result = &paths.results[nr];

		if (!walk__slot(w, &result->sp, &at) || at != slot)
			continue;
		if (result->regs[i].base != PATH_KEPT)
			return false;
		kept++;
	}
	return kept;
}

enum unwind_step unwind_return__step(struct walk *w, uint64_t *pc)
{
	struct return_place found;
	struct paths paths;

	if (w->arch->machine != EM_X86_64 || !(w->known >> w->arch->sp & 1))
		return STEP_NONE;
	paths__follow(w, w->at.region, w->at.pc, 0, &paths);
	if (!by_returns(w, &paths, &found) && (w->at.exact || !by_calls(w, &found)))
		return STEP_NONE;
	set_regs(w, found.by);
	*pc = found.place.pc;
	w->low = found.slot + w->arch->word;
	walk__set(w, w->arch->sp, w->low);
	w->by_fp = false;
	return STEP_TO;
}
