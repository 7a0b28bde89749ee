/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verdict on a thread's wait: is it at the place that the thread keeps returning to for work? It
 * uses the wait's callers and the interpreter's frames.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "catalogue/idle_places.h"
#include "catalogue/loop_owner.h"
#include "catalogue/syscalls.h"
#include "catalogue/wait_note.h"
#include "files/file.h"
#include "model/chain/wait_reason.h"
#include "model/stack.h"
#include "symbol/languages/heap.h"
#include "symbol/languages/runtime.h"
#include "symbol/unwind/unwind.h"

#define STAT_MAX 256

/*
 * Number of the interpreter's frames of a lock wait: from the wait to the evaluation of the code
 * that takes the lock (CPython).
 */
#define LOCK_CALLERS 4
/* Number of frames between the wait and the interpreter's function that sleeps. */
#define SLEEP_CALLERS 6
/* Number of callers of a wait among which a function that waits for the program is looked for. */
#define NESTED_CALLERS 32

/* CPU time of the thread in ns; 0: it cannot be read, and counts as never run. */
static uint64_t cpu_ns(const struct jank_rec *hdr)
{
	struct strbuf text = STRBUF_INIT;
	uint64_t ns = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", hdr->tgid, hdr->tid);
	if (!file__read(path, STAT_MAX, &text))
		ns = strtoull(strbuf__str(&text), NULL, 10);
	strbuf__free(&text);
	return ns;
}

/* The base name of the module of a caller; "" for the C library; NULL: code of no file. */
static const char *module_of(struct loop_owner *owners, uint32_t pid, uint64_t address, bool exact)
{
	struct code_opts opts = { .exact = exact };
	struct frame frame;

	if (!symbolizer__code(loop_owner__symbolizer(owners), pid, address, opts, &frame))
		return NULL;
	return runtime__is(frame.module) ? "" : text__base_name(frame.module);
}

/*
 * Number of frames next to the C library in the interpreter of a language with frames in the heap;
 * 0: another module makes the wait. *ret: the language.
 */
static uint32_t interpreter_cnt(struct loop_owner *owners, const struct wait_note *note,
				const struct unwound *unwound, const struct language **ret)
{
	const struct language *language;
	uint32_t cnt = 0;

	*ret = NULL;

	for (uint32_t i = 0; i < unwound->cnt; i++) {
		const char *module =
			module_of(owners, note->rec.hdr.tgid, unwound->addresses[i], i == 0);

		if (!module)
			break;
		if (!*module)
			continue;
		language = language__in_heap(module);
		if (!language || (cnt && language != *ret))
			break;
		*ret = language;
		cnt++;
	}
	return cnt;
}

static bool waits_in_futex(const struct wait_note *note)
{
	return syscalls__class(note->rec.syscall) == JANK_CLASS_FUTEX;
}

/* True if the wait's C callers do not tell the idle place from a handler. */
static bool is_interpreter(struct loop_owner *owners, const struct wait_note *note,
			   const struct unwound *unwound)
{
	const struct language *language;

	return interpreter_cnt(owners, note, unwound, &language) &&
	       language->heap->alike >> syscalls__class(note->rec.syscall) & 1;
}

/*
 * True if the interpreter's sleep makes the wait. The innermost callers have no names in a stripped
 * library, and rb_thread_wait_for may only jump to its callee, but its own caller calls it by name.
 */
static bool is_sleep(struct loop_owner *owners, const struct wait_note *note,
		     const struct unwound *unwound)
{
	const struct code_of of = { loop_owner__symbolizer(owners), note->rec.hdr.tgid };
	const struct code_opts opts = { .exact = true, .named = true };
	struct frame frame;

	for (uint32_t i = 1; i < unwound->cnt && i <= SLEEP_CALLERS; i++) {
		uint64_t callee = return_addresses__callee(&of, unwound->addresses[i]);

		if (callee && symbolizer__code(of.sym, of.pid, callee, opts, &frame) &&
		    frame.function && language__sleeps(frame.function))
			return true;
	}
	return false;
}

static bool calls_lock(const struct unwound *unwound, const struct script_wait *wait)
{
	for (uint32_t i = 1; i < unwound->cnt; i++)
		if (unwound->addresses[i] - wait->lock_begin < wait->lock_end - wait->lock_begin)
			return true;
	return false;
}

/*
 * True if the interpreter itself waits for a lock, or for its turn to run: in its code for that, or
 * a futex wait that neither its library nor a C module near the wait (queue.SimpleQueue's) makes
 * for the caller.
 */
static bool waits_for_lock(struct loop_owner *owners, const struct wait_note *note,
			   const struct unwound *unwound, const struct script_wait *wait)
{
	const struct language *language;

	if (!waits_in_futex(note))
		return false;
	if (wait->lock_end)
		return calls_lock(unwound, wait);
	return !wait->for_caller &&
	       interpreter_cnt(owners, note, unwound, &language) >= LOCK_CALLERS;
}

/* A stack word that may be a return address, in the form that the probes compare. */
static uint64_t word_at(const struct copy_event *copy, size_t offset)
{
	uint64_t word;

	memcpy(&word, copy->bytes + offset, sizeof(word));
	return wait_note__address(word);
}

/*
 * Like pack_chain, but also for the outermost callers and those missing in the note's words:
 * addresses near the stack.
 */
static bool pack_unwound(const struct copy_event *copy, const struct unwound *unwound,
			 struct jank_park_chain *ret)
{
	uint32_t cnt =
		unwound->cnt - 1 < JANK_PARK_WORD_MAX ? unwound->cnt - 1 : JANK_PARK_WORD_MAX;
	size_t at = 0;

	ret->ip = unwound->addresses[0];
	for (uint32_t i = 0; i < cnt; i++, at += sizeof(uint64_t)) {
		while (at + sizeof(uint64_t) <= copy->rec.copy_sz && at <= UINT16_MAX &&
		       word_at(copy, at) != unwound->addresses[i + 1])
			at += sizeof(uint64_t);
		if (at + sizeof(uint64_t) > copy->rec.copy_sz || at > UINT16_MAX)
			return false;
		ret->word[i] = unwound->addresses[i + 1];
		ret->offset[i] = at;
	}
	ret->word_cnt = cnt;
	return true;
}

static void set_visit(struct loop_owner *owners, const struct wait_note *note,
		      const struct unwound *unwound, struct idle_visit *ret)
{
	const struct jank_rec *hdr = &note->rec.hdr;

	*ret = (struct idle_visit){
		.addresses = unwound->addresses,
		.cnt = unwound->cnt,
		.depth = idle_places__depth(loop_owner__symbolizer(owners), hdr->tgid,
					    unwound->addresses, unwound->cnt),
		.nr = note->rec.syscall,
		.sleeps = syscalls__class(note->rec.syscall) == JANK_CLASS_SLEEP,
		.in_row = note->rec.fd_cnt,
		.now_ns = clock__mono_ns(),
		.cpu_ns = cpu_ns(hdr),
	};
}

/*
 * Verdict on a wait with interpreter frames. No verdict when the stack has so many frames that some
 * are missing.
 */
static enum idle_verdict judge_script(struct loop_owner *owners, const struct wait_note *note,
				      const struct unwound *unwound, struct idle_chains *chains)
{
	const struct jank_rec_script *script = note->script;
	struct script_wait wait;
	struct idle_visit visit;

	if (script->frame_cnt >= JANK_SCRIPT_MAX ||
	    !symbolizer__script_wait(loop_owner__symbolizer(owners), note->rec.hdr.tgid,
				     (const void *)(script + 1), script->frame_cnt, &wait))
		return IDLE_UNKNOWN;
	if (waits_for_lock(owners, note, unwound, &wait)) {
		idle_chains__lock(chains);
		return IDLE_NO;
	}
	set_visit(owners, note, unwound, &visit);
	visit.script = script->identity;
	visit.script_depth = wait.depth;
	visit.one_call = wait.one_call;
	visit.pauses = wait.one_call && is_sleep(owners, note, unwound);
	visit.dispatch_ns = script->dispatch_ns;
	/*
	 * Polls of the main thread are counted by their dispatches, not here. A sleep next to them
	 * would look like the thread's only wait.
	 */
	if ((visit.sleeps || visit.pauses) && note->rec.hdr.tid == note->rec.hdr.tgid) {
		visit.sleeps = true;
		return idle_chains__pause(chains, &visit);
	}
	return idle_chains__visit(chains, &visit);
}

size_t loop_owner__nested(struct symbolizer *sym, uint32_t pid, const uint64_t *addresses,
			  size_t cnt)
{
	const char *word = NULL;
	size_t i;

	for (i = 0; !word && i < cnt && i < NESTED_CALLERS; i++) {
		struct code_opts opts = { .exact = i == 0, .named = true };
		struct frame frame = {}, *frames = &frame;
		const struct stack stack = { .frames = frames, .frame_cnt = 1 };
		const struct frame *found;

		if (symbolizer__code(sym, pid, addresses[i], opts, &frame))
			word = wait_reason__of_nested(&stack, &found);
	}
	return word && strcmp(word, "dialog") ? i - 1 : cnt;
}

static enum idle_verdict judge(struct loop_owner *owners, const struct wait_note *note,
			       const struct unwound *unwound, struct idle_chains *chains)
{
	struct idle_visit visit;

	if (note->script)
		return judge_script(owners, note, unwound, chains);
	if (is_interpreter(owners, note, unwound))
		return IDLE_ALIKE;
	if (loop_owner__nested(loop_owner__symbolizer(owners), note->rec.hdr.tgid,
			       unwound->addresses, unwound->cnt) < unwound->cnt)
		return IDLE_NO;
	if (!stack_end__has_all_callers(unwound->end))
		return IDLE_UNKNOWN;
	set_visit(owners, note, unwound, &visit);
	return idle_chains__visit(chains, &visit);
}

/* The wait's callers, and the copy in which they were found, which points into the note. */
static bool unwind(struct loop_owner *owners, const struct wait_note *note,
		   struct copy_event *ret_copy, struct unwound *ret)
{
	if (!note->copy)
		return false;
	ret_copy->rec = *note->copy;
	ret_copy->bytes = (const uint8_t *)(note->copy + 1);
	return !symbolizer__unwind(loop_owner__symbolizer(owners), ret_copy, ret, 1) &&
	       ret->cnt >= 2;
}

enum idle_verdict loop_owner__rests(struct loop_owner *owners, const struct wait_note *note,
				    struct idle_chains *chains, struct jank_park_chain *ret)
{
	struct copy_event copy;
	struct unwound unwound;
	enum idle_verdict verdict;

	*ret = (struct jank_park_chain){};
	if (!unwind(owners, note, &copy, &unwound))
		return IDLE_UNKNOWN;
	verdict = judge(owners, note, &unwound, chains);
	if (verdict == IDLE_UNKNOWN || verdict == IDLE_ALIKE)
		return verdict;
	if (!pack_unwound(&copy, &unwound, ret))
		return IDLE_UNKNOWN;
	ret->verdict = verdict == IDLE_NO ? JANK_PARK_NO : JANK_PARK_YES;
	ret->script = note->script ? note->script->identity : 0;
	return verdict;
}

int loop_owner__compare(struct loop_owner *owners, const struct wait_note *note,
			const struct idle_places *places, struct jank_park_chain *ret)
{
	static const uint16_t verdicts[] = {
		[REST_NONE] = JANK_PARK_NO,
		[REST_OUTER] = JANK_PARK_YES,
		[REST_BESIDE] = JANK_PARK_IDLE,
	};
	const struct jank_rec *hdr = &note->rec.hdr;
	struct idle_callers wait;
	struct copy_event copy;
	struct unwound unwound;
	enum idle_rest rest;

	*ret = (struct jank_park_chain){};
	/* in an interpreter a handler's wait may have the same callers in C */
	if (note->script || !unwind(owners, note, &copy, &unwound) ||
	    !stack_end__has_all_callers(unwound.end) || is_interpreter(owners, note, &unwound))
		return -ENODATA;
	wait = (struct idle_callers){ unwound.addresses, unwound.cnt };
	rest = idle_places__compare(places, hdr->tgid, hdr->tid, &wait);
	if (rest == REST_UNKNOWN || !pack_unwound(&copy, &unwound, ret))
		return -ENODATA;
	return ret->verdict = verdicts[rest];
}

/* --- parks: is a futex wait a runtime's own? The calls that lead to it decide. */

/*
 * Index of the caller of the function at `callee`: the nearest call to it, or else the nearest call
 * through a pointer. Many words on a stack remain from earlier calls.
 */
static size_t next_caller(const uint64_t *callees, size_t cnt, size_t from, uint64_t callee)
{
	for (size_t i = from; i < cnt; i++)
		if (callees[i] == callee)
			return i;
	while (from < cnt && callees[from])
		from++;
	return from;
}

/* exact: the wait's own address, not one to which a call returns. False: no function there. */
static bool name_frame(struct loop_owner *owners, uint32_t pid, uint64_t address, bool exact,
		       struct frame *frame, struct catalogue_frame *ret)
{
	const struct code_opts opts = { .exact = exact, .named = true };

	if (!symbolizer__code(loop_owner__symbolizer(owners), pid, address, opts, frame))
		return false;
	*ret = (struct catalogue_frame){ { .path = frame->module }, frame->function };
	return true;
}

/* Sets the frames from the wait's function outwards; moves their addresses to the front. */
static size_t set_chain(struct loop_owner *owners, const struct wait_note *note,
			uint64_t *addresses, size_t cnt, struct catalogue_frame *ret)
{
	const struct code_of of = { loop_owner__symbolizer(owners), note->rec.hdr.tgid };
	uint64_t callees[OWNER_ADDRESS_MAX] = {};
	struct frame frame;
	size_t kept = 0;

	for (size_t i = 1; i < cnt; i++)
		callees[i] = return_addresses__callee(&of, addresses[i]);
	for (size_t i = 0; i < cnt; kept++) {
		if (!addresses[i] || !name_frame(owners, note->rec.hdr.tgid, addresses[i], i == 0,
						 &frame, &ret[kept]))
			break;
		ret[kept].file.is_exe = note->exe && !strcmp(note->exe, frame.module);
		addresses[kept] = addresses[i];
		i = next_caller(callees, cnt, i + 1, addresses[kept] - frame.offset);
	}
	return kept;
}

/* Packs the chain into the form that the probes recognize. False: it is too long for them. */
static bool pack_chain(const struct wait_note *note, const uint64_t *addresses, size_t cnt,
		       struct jank_park_chain *ret)
{
	size_t word = 0;

	if (cnt - 1 > JANK_PARK_WORD_MAX || !note->offsets || note->rec.sp % sizeof(*addresses))
		return false;
	ret->ip = note->rec.ip;
	for (size_t i = 1; i < cnt; i++, word++) {
		while (word < note->cnt && note->words[word] != addresses[i])
			word++;
		if (word == note->cnt)
			return false;
		ret->word[i - 1] = addresses[i];
		ret->offset[i - 1] = note->offsets[word];
	}
	ret->word_cnt = cnt - 1;
	return true;
}

int loop_owner__parks(struct loop_owner *owners, const struct wait_note *note,
		      const struct catalogue_row *row, struct jank_park_chain *ret)
{
	struct catalogue_frame frames[OWNER_ADDRESS_MAX];
	uint64_t addresses[OWNER_ADDRESS_MAX];
	size_t cnt = loop_owner__addresses(owners, note, addresses), frame;
	bool parks;

	*ret = (struct jank_park_chain){};
	if (cnt < 2)
		return -ENODATA;
	cnt = set_chain(owners, note, addresses, cnt, frames);
	parks = catalogue_row__parks(row, frames, cnt, &frame);
	if (frame < cnt && pack_chain(note, addresses, frame + 1, ret))
		ret->verdict = parks ? JANK_PARK_YES : JANK_PARK_NO;
	return parks;
}

bool loop_owner__is_park(struct loop_owner *owners, uint32_t pid, const uint64_t *addresses,
			 size_t cnt, const struct catalogue_row *row)
{
	struct catalogue_frame frames[OWNER_ADDRESS_MAX];
	size_t kept = 0, at;
	struct frame frame;

	while (kept < cnt && kept < OWNER_ADDRESS_MAX &&
	       name_frame(owners, pid, addresses[kept], !kept, &frame, &frames[kept]))
		kept++;
	return catalogue_row__parks(row, frames, kept, &at);
}
