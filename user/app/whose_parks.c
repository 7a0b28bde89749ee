/* SPDX-License-Identifier: GPL-2.0 */
/* Is a futex wait a runtime's own, or a main thread's for work? By the calls that lead to it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/idle_places.h"
#include "app/return_addresses.h"
#include "app/whose_parts.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/syscalls.h"
#include "symbol/runtime.h"
#include "symbol/unwind.h"

#define STAT_MAX 256

/*
 * Who called the function at `callee`: the nearest one whose call leads there, or else the nearest that calls by a
 * pointer. More than a few words on a stack were left there by earlier calls.
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

/* The frames from the wait's own function outwards; their addresses move to the front. */
static size_t set_chain(struct whose *whose, const struct wait_note *note, uint64_t *addresses,
			size_t cnt, struct catalogue_frame *ret)
{
	const struct code_of of = { whose__symbolizer(whose), note->rec.hdr.tgid };
	uint64_t callees[WHOSE_ADDRESS_MAX] = {};
	struct frame frame;
	size_t kept = 0;

	for (size_t i = 1; i < cnt; i++)
		callees[i] = return_addresses__callee(&of, addresses[i]);
	for (size_t i = 0; i < cnt; kept++) {
		struct code_opts opts = { .exact = i == 0, .named = true };

		if (!addresses[i] || !symbolizer__code(whose__symbolizer(whose), note->rec.hdr.tgid,
						       addresses[i], opts, &frame))
			break;
		ret[kept] = (struct catalogue_frame){ { .path = frame.module }, frame.function };
		ret[kept].file.is_exe = note->exe && !strcmp(note->exe, frame.module);
		addresses[kept] = addresses[i];
		i = next_caller(callees, cnt, i + 1, addresses[kept] - frame.offset);
	}
	return kept;
}

/* By what the probes know the chain again. False: it is too long for them. */
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

int whose__parks(struct whose *whose, const struct wait_note *note, const struct catalogue_row *row,
		 struct jank_park_chain *ret)
{
	struct catalogue_frame frames[WHOSE_ADDRESS_MAX];
	uint64_t addresses[WHOSE_ADDRESS_MAX];
	size_t cnt = whose__addresses(whose, note, addresses), frame;
	bool parks;

	*ret = (struct jank_park_chain){};
	if (cnt < 2)
		return -ENODATA;
	cnt = set_chain(whose, note, addresses, cnt, frames);
	parks = catalogue_row__parks(row, frames, cnt, &frame);
	if (frame < cnt && pack_chain(note, addresses, frame + 1, ret))
		ret->verdict = parks ? JANK_PARK_YES : JANK_PARK_NO;
	return parks;
}

/* --- a main thread */

/* 0: it can't be read, as if it had never run. */
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

/*
 * Does the wait have the same callers in C whether the program waits for work or in a handler? In CPython every wait does: queue.get() looks
 * like lock.acquire(), and select() like sleep(). In Ruby only futex waits do.
 */
static bool is_interpreter(struct whose *whose, const struct wait_note *note,
			   const struct unwound *unwound)
{
	struct frame frame;

	for (uint32_t i = 0; i < unwound->cnt; i++) {
		struct code_opts opts = { .exact = i == 0 };
		const char *name;

		if (!symbolizer__code(whose__symbolizer(whose), note->rec.hdr.tgid,
				      unwound->addresses[i], opts, &frame))
			return false;
		if (runtime__is(frame.module))
			continue;
		name = text__base_name(frame.module);
		name += strncmp(name, "lib", strlen("lib")) ? 0 : strlen("lib");
		return !strncmp(name, "python", strlen("python")) ||
		       (!strncmp(name, "ruby", strlen("ruby")) &&
			syscalls__class(note->rec.syscall) == JANK_CLASS_FUTEX);
	}
	return false;
}

/* A word of a stack that may be a return address, as the probes compare it. */
static uint64_t word_at(const struct copy_event *copy, size_t offset)
{
	uint64_t word;

	memcpy(&word, copy->bytes + offset, sizeof(word));
	return wait_note__address(word);
}

/* As pack_chain, of the outermost callers as well as of those that a note's words leave out: addresses near the stack. */
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

/* Code of a compiler at run time has no tables: what was found up to there is the same each time. A short copy would look like few callers. */
static bool has_all_callers(const struct unwound *unwound)
{
	return unwound->end == STACK_END_COMPLETE || unwound->end == STACK_END_NO_TABLE;
}

enum idle_verdict whose__rests(struct whose *whose, const struct wait_note *note,
			       struct idle_chains *chains, struct jank_park_chain *ret)
{
	const struct jank_rec *hdr = &note->rec.hdr;
	struct copy_event copy;
	struct unwound unwound;
	struct idle_visit visit;
	enum idle_verdict verdict;

	*ret = (struct jank_park_chain){};
	if (!note->copy)
		return IDLE_UNKNOWN;
	copy.rec = *note->copy;
	copy.bytes = (const uint8_t *)(note->copy + 1);
	if (symbolizer__unwind(whose__symbolizer(whose), hdr->tgid, &copy, &unwound) ||
	    unwound.cnt < 2)
		return IDLE_UNKNOWN;
	if (is_interpreter(whose, note, &unwound))
		return IDLE_ALIKE;
	if (!has_all_callers(&unwound))
		return IDLE_UNKNOWN;
	visit = (struct idle_visit){
		.addresses = unwound.addresses,
		.cnt = unwound.cnt,
		.depth = idle_places__depth(whose__symbolizer(whose), hdr->tgid, unwound.addresses,
					    unwound.cnt),
		.nr = note->rec.syscall,
		.sleeps = syscalls__class(note->rec.syscall) == JANK_CLASS_SLEEP,
		.now_ns = clock__mono_ns(),
		.cpu_ns = cpu_ns(hdr),
	};
	verdict = idle_chains__visit(chains, &visit);
	if (verdict != IDLE_UNKNOWN && pack_unwound(&copy, &unwound, ret))
		ret->verdict = verdict == IDLE_NO ? JANK_PARK_NO : JANK_PARK_YES;
	return ret->verdict ? verdict : IDLE_UNKNOWN;
}
