/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies threshold and severity, counts dropped frames, and copies a dispatch's fields to a block.
 */
#include "model/loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

/* By a debugger or a signal: a freeze of its cgroup stalls the process as its users see it. */
static bool mostly_stopped(const struct dispatch *dispatch)
{
	uint64_t stopped_ns = dispatch->rec.state_ns[JANK_STATE_STOPPED];

	return stopped_ns > dispatch__delay(&dispatch->rec) / 2 &&
	       evidence__frozen_ns(&dispatch->evidence) < stopped_ns / 2;
}

static int set_host(struct block *block, const struct host_info *host)
{
	block->host = *host;
	block->host.name = block->host.kernel = block->host.arch = block->host.boot_id = NULL;
	if (text__copy(&block->host.name, host->name) ||
	    text__copy(&block->host.kernel, host->kernel) ||
	    text__copy(&block->host.arch, host->arch) ||
	    text__copy(&block->host.boot_id, host->boot_id))
		return -ENOMEM;
	return 0;
}

static int set_process(struct block *block, const struct jank_rec_block *rec,
		       const Jankbpf__Identity *process)
{
	block->pid = rec->hdr.tgid;
	block->tid = rec->hdr.tid;
	block->trial = rec->hdr.flags;
	block->behind = rec->behind;
	if (process) {
		identity__free(block->process);
		block->process = identity__copy(process);
	}
	if (!block->process || text__copy(&block->thread, rec->comm))
		return -ENOMEM;
	return block->process->name ? 0 : text__copy(&block->process->name, rec->comm);
}

static int set_id(struct block *block)
{
	if (asprintf(&block->id, "%s-%u-%llu", block->host.boot_id ? block->host.boot_id : "",
		     block->tid, (unsigned long long)block->start_ns) < 0) {
		block->id = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int set_losses(struct block *block, const struct dispatch *dispatch)
{
	if (block__add_loss(block, JANK_LOST_SAMPLE_SHED, dispatch->rec.shed_cnt) ||
	    block__add_loss(block, JANK_LOST_WAKEUP, dispatch->rec.wakeup_missed_cnt) ||
	    block__add_loss(block, LOSS_SAMPLES_CAPPED, dispatch->evidence.capped_cnt) ||
	    block__add_loss(block, LOSS_PREEMPTORS_CAPPED,
			    dispatch->evidence.preemptors_capped_cnt))
		return -ENOMEM;
	return 0;
}

/* The frame rate may come from a journal: any value. */
uint32_t dropped_frames(uint64_t ns, unsigned fps)
{
	uint64_t frame_ns = NS_PER_SEC / (fps ? fps : 60), cnt = ns / (frame_ns ? frame_ns : 1);

	return cnt < UINT32_MAX ? cnt : UINT32_MAX;
}

static void set_times(struct block *block, const struct judge *judge, uint64_t threshold_ns,
		      const struct jank_rec_block *rec)
{
	block->start_known = rec->start_delay_ns != JANK_START_DELAY_UNKNOWN;
	block->start_delay_ns = dispatch__start_delay(rec);
	block->start_ns = rec->start_ns;
	block->real_offset_ns = judge->real_offset_ns;
	block->duration_ns = rec->duration_ns;
	block->threshold_ns = threshold_ns;
	block->cpu_ns = rec->cpu_ns;
	memcpy(block->state_ns, rec->state_ns, sizeof(block->state_ns));
	if (rec->ready_cnt != JANK_READY_STARTUP) /* there was nothing to draw yet */
		block->dropped_frames = dropped_frames(block__delay(block), judge->fps);
	block->loop = rec->loop;
	block->fd = rec->fd;
	block->ready_cnt = rec->ready_cnt;
	block->end = rec->end;
	block->ended_by_exit = rec->end == JANK_END_EXIT;
}

static void move_evidence(struct block *block, struct dispatch *dispatch)
{
	struct evidence *evidence = &dispatch->evidence;

	block->samples = evidence->samples;
	block->sample_cnt = evidence->sample_cnt;
	block->preemptors = evidence->preemptors;
	block->preemptor_cnt = evidence->preemptor_cnt;
	block->message = evidence->message;
	block->facts = evidence->facts;
	block->start_frozen_ns = evidence->start_frozen_ns;
	block->thawer = evidence->thawer;
	block->chain = dispatch->chain.links;
	block->chain_cnt = dispatch->chain.cnt;
	block->chain_sample = dispatch->chain.sample;
	block->syncers = dispatch->chain.syncers;
	block->syncer_cnt = dispatch->chain.syncer_cnt;
	dispatch->chain = (struct chain){ 0 };
	evidence->samples = NULL;
	evidence->preemptors = NULL;
	evidence->message = NULL;
	evidence->sample_cnt = evidence->sample_cap = evidence->preemptor_cnt = 0;
}

static unsigned stack_quality(const struct block *block)
{
	unsigned quality = block->sample_cnt ? 0 : QUALITY_NO_SAMPLES;

	for (size_t i = 0; i < block->sample_cnt; i++) {
		unsigned flags = block->samples[i].stack.flags;

		if (flags & (JANK_STACK_CUT_KERNEL | JANK_STACK_CUT_USER))
			quality |= QUALITY_CUT;
		if (flags & JANK_STACK_NO_USER)
			quality |= QUALITY_NO_USER;
	}
	return quality;
}

/* Its user's time does not count. Where that is most of it, it would be what is blamed. */
static bool starts_slowly(const struct dispatch *dispatch, uint64_t threshold_ns)
{
	uint64_t input_ns = evidence__input_ns(&dispatch->evidence);
	uint64_t delay_ns = dispatch__delay(&dispatch->rec);

	return threshold_ns && delay_ns - input_ns > threshold_ns && input_ns <= delay_ns / 2;
}

static void withhold(struct judge *judge, const struct dispatch *dispatch,
		     enum not_shown_reason reason)
{
	const struct jank_rec_block *rec = &dispatch->rec;

	if (!dispatch->hang && !rec->hdr.flags) /* on probation it may not be a loop */
		not_shown__add(&judge->not_shown, reason, rec->hdr.tgid, dispatch__delay(rec));
}

int judge__dispatch(struct judge *judge, struct dispatch *dispatch,
		    const Jankbpf__Identity *process, struct block **ret)
{
	const struct jank_rec_block *rec = &dispatch->rec;
	bool startup = rec->ready_cnt == JANK_READY_STARTUP;
	uint64_t threshold_ns = startup ? judge->startup_ns : judge->threshold_ns;
	uint64_t delay_ns = dispatch__delay(rec);
	struct block *block;

	if (startup)
		evidence__end(&dispatch->evidence, rec->start_ns + rec->duration_ns);
	if (startup && !starts_slowly(dispatch, threshold_ns))
		return 0;
	if (delay_ns <= threshold_ns) {
		withhold(judge, dispatch, NOT_SHOWN_THRESHOLD);
		return 0;
	}
	if (!judge->debugging && mostly_stopped(dispatch)) {
		withhold(judge, dispatch, NOT_SHOWN_STOPPED);
		return 0;
	}
	block = block__new();
	if (!block)
		return -ENOMEM;
	block->type = dispatch->hang ? BLOCK_HANG : BLOCK_JANK;
	block->hang_reported = dispatch->hang_reported;
	block->hang_told_ns = dispatch->hang_told_ns;
	block->over_hang = judge->hang_ns && delay_ns > judge->hang_ns;
	set_times(block, judge, threshold_ns, rec);
	block->live->cpu->has_busy = true;
	block->live->cpu->busy = block__runnable(block) > delay_ns / 5;
	if (set_host(block, judge->host) || set_process(block, rec, process) || set_id(block) ||
	    set_losses(block, dispatch)) {
		block__free(block);
		return -ENOMEM;
	}
	move_evidence(block, dispatch);
	block->stack_quality = stack_quality(block);
	*ret = block;
	return 1;
}
