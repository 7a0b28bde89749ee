/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of the record that sinks compare, and sums over its fields. */
#include "export/values.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"

#define X_WORD(nr, NAME, word) [nr] = word,
static const char *const state_words[JANK_STATE_CNT] = { JANK_STATES(X_WORD) };
#undef X_WORD

uint32_t value__state(const char *word)
{
	for (uint32_t i = 0; word && i < JANK_STATE_CNT; i++)
		if (!strcmp(state_words[i], word))
			return i;
	return JANK_STATE_OTHER;
}

const char *value__state_word(uint32_t state)
{
	return state_words[state < JANK_STATE_CNT ? state : JANK_STATE_OTHER];
}

#define BLOCKED(NAME, field) [JANK_STATE_##NAME] = offsetof(Jankbpf__Blocked, field)
static const size_t blocked_fields[JANK_STATE_CNT] = {
	BLOCKED(FUTEX, futex),	   BLOCKED(DISK, disk),
	BLOCKED(SLEEP, sleep),	   BLOCKED(POLL, poll),
	BLOCKED(SOCKET, socket),   BLOCKED(PIPE, pipe),
	BLOCKED(BINDER, binder),   BLOCKED(PAGE_FAULT, page_fault),
	BLOCKED(STOPPED, stopped), BLOCKED(OTHER, other),
};
#undef BLOCKED

_Static_assert(JANK_STATE_CNT == 12, "blocked_fields: each kind of wait has a field");

uint64_t value__in_state(const Jankbpf__Time *time, uint32_t state)
{
	if (!time || state >= JANK_STATE_CNT)
		return 0;
	if (state == JANK_STATE_RUNNING)
		return time->running_ns;
	if (state == JANK_STATE_RUNNABLE)
		return time->runnable_ns;
	if (!time->blocked_ns)
		return 0;
	return *(const uint64_t *)((const char *)time->blocked_ns + blocked_fields[state]);
}

uint64_t value__delay(const Jankbpf__Block *block)
{
	return block->start_delay_ns + block->duration_ns;
}

uint64_t value__due(const Jankbpf__Block *block)
{
	return block->start_ns - block->start_delay_ns;
}

uint64_t value__real_ns(const Jankbpf__Block *block, uint64_t mono_ns)
{
	uint64_t start_ns;

	if (!block->start || !clock__read_rfc3339(block->start, &start_ns))
		return mono_ns;
	return mono_ns - block->start_ns + start_ns;
}

bool value__is_tick(const Jankbpf__Sample *sample)
{
	return !sample->ns && value__state(sample->state) == JANK_STATE_RUNNING;
}

bool value__is_hang(const Jankbpf__Block *block)
{
	return block->severity && !strcmp(block->severity, "hang");
}

bool value__holds(const Jankbpf__Link *link)
{
	return link->role && !strcmp(link->role, "held");
}

bool value__next_loss(const Jankbpf__Lost *lost, unsigned *pos, struct loss_count *ret)
{
	const ProtobufCMessageDescriptor *descriptor = &jankbpf__lost__descriptor;

	while (lost && *pos < descriptor->n_fields) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[(*pos)++];
		const char *message = (const char *)lost;

		if (!*(const protobuf_c_boolean *)(message + field->quantifier_offset))
			continue;
		*ret = (struct loss_count){ field->name,
					    *(const uint64_t *)(message + field->offset) };
		return true;
	}
	return false;
}

double value__share(double share)
{
	if (!(share > 0))
		return 0;
	return share < 1 ? share : 1;
}

const char *value__name(const char *name)
{
	return name ? name : "?";
}
