/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind step through HotSpot's frames. See unwind_java.h. */
#include "symbol/unwind/unwind_java.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "symbol/unwind/exit_paths.h"
#include "symbol/unwind/unwind_paths.h"

/* --- Patterns of code that leaves a frame */

bool java_code__is_dispatch(const uint8_t *code)
{
	static const uint8_t jump[] = { 0x41, 0xff, 0x24, 0xda };

	return !memcmp(code, jump, sizeof(jump));
}

bool java_code__is_tail_jump(const uint8_t *code)
{
	code += *code == 0x41;
	return code[0] == 0xff && ((code[1] & 0xf8) == 0xe0 || code[1] == 0x63 || code[1] == 0xa3);
}

/* mov %r13, -16(%rbp); from JDK 22 on mov %rcx, -16(%rbp) */
bool java_code__is_invocation(const uint8_t *code)
{
	static const uint8_t keep[] = { 0x4c, 0x89, 0x6d, 0xf0 };
	static const uint8_t keep_index[] = { 0x48, 0x89, 0x4d, 0xf0 };

	return !memcmp(code, keep, sizeof(keep)) || !memcmp(code, keep_index, sizeof(keep_index));
}

static const uint8_t set_up[] = { 0x55, 0x48, 0x8b, 0xec };

bool java_code__sets_up_frame(const uint8_t *code)
{
	return !memcmp(code, set_up, sizeof(set_up));
}

bool java_code__restores_fp(const uint8_t *code)
{
	return code[0] == 0x48 && code[1] == 0x8b && (code[2] == 0x6c || code[2] == 0xac) &&
	       code[3] == 0x24;
}

/*
 * mov -16(%rbp), %rsp; from JDK 22 on mov -16(%rbp), %rcx and lea (%rbp,%rcx,8), %rsp; then movq
 * $0, -16(%rbp)
 */
static bool enters_interpreter(const uint8_t *code)
{
	static const uint8_t by_address[] = { 0x48, 0x8b, 0x65, 0xf0 };
	static const uint8_t by_index[] = { 0x48, 0x8b, 0x4d, 0xf0, 0x48, 0x8d, 0x64, 0xcd, 0x00 };
	static const uint8_t clear[] = { 0x48, 0xc7, 0x45, 0xf0, 0, 0, 0, 0 };

	if (!memcmp(code, by_address, sizeof(by_address)))
		code += sizeof(by_address);
	else if (!memcmp(code, by_index, sizeof(by_index)))
		code += sizeof(by_index);
	else
		return false;
	return !memcmp(code, clear, sizeof(clear));
}

/* test %eax, (%reg) */
static bool is_poll(const uint8_t *code)
{
	code += *code == 0x41;
	return code[0] == 0x85 && !(code[1] & 0xf8) && code[1] != 4 && code[1] != 5;
}

bool java_code__is_return(const uint8_t *code)
{
	return enters_interpreter(code) || is_poll(code);
}

bool java_code__keeps_frame(const uint8_t *code, size_t *ret_at)
{
	const uint8_t *at = memmem(code, JAVA_PROLOGUE_BYTES, set_up, sizeof(set_up));

	if (at)
		*ret_at = at - code + sizeof(set_up);
	return at;
}

#define FRAME_MAX (1u << 20)

bool unwind_java__is(const struct walk *w, const struct unwind_place *place)
{
	return w->process->is_java && place->region && place->region->mapped->kind == MAPPED_ANON &&
	       w->arch->machine == EM_X86_64;
}

static struct jvm_exits *ways_of(struct walk *w)
{
	if (!w->process->java_ways)
		w->process->java_ways = calloc(1, sizeof(*w->process->java_ways));
	return w->process->java_ways;
}

bool unwind_java__is_return(struct walk *w, const struct unwind_place *place)
{
	struct jvm_exits *ways = ways_of(w);
	uint64_t *known = ways ? &ways->returns[place->pc % JAVA_WAYS] : NULL;
	uint8_t code[JAVA_RETURN_BYTES];
	int res;

	if (known && *known == place->pc)
		return true;
	res = tables__behind_call(w->env, w->process, place->region, place->pc);
	if (res)
		return res > 0;
	if (tables__code(w->env, w->process, place->region, place->pc, code, sizeof(code)) ||
	    !java_code__is_return(code))
		return false;
	if (known)
		*known = place->pc;
	return true;
}

/* HotSpot replaces code at an address, so cached exits expire soon. */
static const struct jvm_exit *way_of(struct walk *w)
{
	struct jvm_exits *ways = ways_of(w);
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
	uint64_t base;

	if (slot->base != PATH_SP && slot->base != PATH_FP)
		return false;
	if (!walk__reg(w, slot->base == PATH_FP ? w->arch->fp : w->arch->sp, &base))
		return false;
	*ret = base + (int64_t)slot->off;
	return *ret >= w->low;
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
	if (!is_caller(w, *pc))
		return STEP_NONE;
	if (!interpreter || !walk__word(w, fp - word, &sp) || sp < fp + 2 * word || sp % word ||
	    sp - fp > FRAME_MAX)
		sp = fp + 2 * word;
	return go(w, sp, true, next_fp);
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
 * Tries the interpreter first: an exit may seem to return into the interpreter itself, from a call
 * of its own.
 */
enum unwind_step unwind_java__step(struct walk *w, uint64_t *pc)
{
	const struct jvm_exit *way = way_of(w);
	const struct java_exit *exit;
	enum unwind_step took;
	uint64_t slot = 0;

	if (!way)
		return STEP_NONE;
	took = way->framed ? step_frame(w, true, pc) : STEP_NONE;
	if (took != STEP_NONE)
		return took;
	exit = find_exit(w, way, &slot, pc);
	if (exit)
		return leave(w, exit, slot);
	if (is_beyond(w, way))
		return STEP_ENDS;
	return way->exit_cnt == 0 && keeps_frame(w) ? step_frame(w, false, pc) : STEP_NONE;
}
