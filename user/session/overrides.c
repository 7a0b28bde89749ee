/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Overrides of a run. The probes compare with the least threshold of all; only a dispatch that is
 * longer looks up the limit of its process (bpf/thread.bpf.h), so a fast one costs nothing more.
 * The sink thread, which knows the name of the loop, decides.
 */
#include <string.h>

#include "base/clock.h"
#include "session/session_parts.h"

const struct options *session__options(const struct session *s)
{
	return s->reload.live ? &s->reload.live->opts : s->opts;
}

static struct override_facts facts_of(const Jankbpf__Identity *process)
{
	return (struct override_facts){ .of = { [OVERRIDE_UNIT] = process->unit,
						[OVERRIDE_CGROUP] = process->cgroup,
						[OVERRIDE_PROCESS] = process->name } };
}

void session__limit(struct session *s, struct process_entry *process)
{
	const struct options *opts = session__options(s);
	Jankbpf__Identity *identity = process->identity;
	struct override_facts facts;

	if (!identity)
		return;
	facts = facts_of(identity);
	process->limit_ns = opts->override_cnt ? override__least_threshold(opts, &facts) : 0;
	if (process->limit_ns)
		loader__set_limit(s->loader, process->pid, process->limit_ns);
	else if (s->limited)
		loader__drop_limit(s->loader, process->pid);
	s->limited |= process->limit_ns != 0;
	identity->has_off = process->limit_ns == UINT64_MAX || process->over_budget;
	identity->off = process->over_budget ? UNWATCHED_BUDGET : UNWATCHED_OVERRIDE;
}

void session__limit_all(struct session *s)
{
	struct process_entry *process;
	bool changed = false;

	for (process = s->processes.entries; process; process = process->hh.next) {
		bool was_off = process->identity && process->identity->has_off;

		session__limit(s, process);
		if (!process->identity || was_off == process->identity->has_off || process->ended)
			continue;
		process_table__announce(&s->processes, process);
		changed = true;
	}
	if (changed)
		session__look_unwatched_soon(s);
}

size_t session__off_cnt(const struct session *s)
{
	const struct process_entry *process;
	size_t cnt = 0;

	for (process = s->processes.entries; process; process = process->hh.next)
		cnt += process->identity && process->identity->has_off && !process->ended;
	return cnt;
}

/* Whether the dispatch reached this age since its last hang record. */
static bool passed(const struct block *block, uint64_t limit_ns)
{
	return block->hang_told_ns <= limit_ns && limit_ns < block__delay(block);
}

/*
 * The probes send a hang at each limit of all overrides. Those of its own process are its hang and
 * the longer ones of Android.
 */
static bool passed_own_limit(const struct block *block, uint64_t hang_ns)
{
	bool ret = passed(block, hang_ns);

	for (size_t i = 0; i < ANR_LIMITS; i++) {
		uint64_t limit_ns = anr__limits_s[i] * NS_PER_SEC;

		ret |= limit_ns > hang_ns && passed(block, limit_ns);
	}
	return ret;
}

enum not_shown_reason block__obey(struct block *block, const struct options *opts)
{
	const struct override_facts facts = { .of = { [OVERRIDE_UNIT] = block->process->unit,
						      [OVERRIDE_CGROUP] = block->process->cgroup,
						      [OVERRIDE_PROCESS] = block->process->name,
						      [OVERRIDE_LOOP] = block__loop(block) } };
	const struct override *of = opts->override_cnt ? override__find(opts, &facts) : NULL;
	uint64_t hang_ns = of && of->has_hang ? of->hang_ns : opts->hang_ns;
	uint64_t delay_ns = block__delay(block);

	if (!opts->override_cnt)
		return SHOWN;
	if (of && of->unwatched)
		return NOT_SHOWN_OVERRIDE;
	if (!block__is_startup(block))
		block->threshold_ns =
			of && of->has_threshold ? of->threshold_ns : opts->threshold_ns;
	block->over_hang = hang_ns && delay_ns > hang_ns;
	block->hang_reported &= block->over_hang;
	if (of && of->has_fps && !block__is_startup(block))
		block->dropped_frames = dropped_frames(delay_ns, of->fps);
	block->has_record_limit = of && of->has_records_per_signature;
	block->record_limit = of ? of->records_per_signature : 0;
	if (block->type == BLOCK_HANG)
		return hang_ns && passed_own_limit(block, hang_ns) ? SHOWN : NOT_SHOWN_THRESHOLD;
	return delay_ns > block->threshold_ns ? SHOWN : NOT_SHOWN_THRESHOLD;
}
