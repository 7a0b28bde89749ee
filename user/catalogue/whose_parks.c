/* SPDX-License-Identifier: GPL-2.0 */
/* Is a futex wait a runtime's own? By the calls that lead to it. */
#include <errno.h>
#include <string.h>

#include "catalogue/return_addresses.h"
#include "catalogue/whose_parts.h"

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
