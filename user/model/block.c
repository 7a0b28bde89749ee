/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocation and freeing of blocks and their parts, and the output names of their enums. The judge
 * and blame decide what a block says; this file does not.
 */
#include "model/block.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/proto.h"
#include "base/text.h"
#include "model/sample.h"

/* --- messages */

struct jank_rec_message *message__new(const struct jank_rec_message *raw)
{
	struct jank_rec_message *ret = malloc(sizeof(*ret));

	if (ret)
		*ret = *raw;
	return ret;
}

static const struct {
	uint32_t bit;
	const char *name;
} events_names[] = {
	{ EPOLLIN, "in" },	   { EPOLLPRI, "pri" },	      { EPOLLOUT, "out" },
	{ EPOLLERR, "err" },	   { EPOLLHUP, "hup" },	      { EPOLLRDHUP, "rdhup" },
	{ EPOLLRDNORM, "rdnorm" }, { EPOLLRDBAND, "rdband" }, { EPOLLWRNORM, "wrnorm" },
	{ EPOLLWRBAND, "wrband" }, { EPOLLMSG, "msg" },
};

void message__add_events(struct strbuf *sb, uint32_t events)
{
	const char *sep = "";

	for (size_t i = 0; i < sizeof(events_names) / sizeof(*events_names); i++) {
		if (!(events & events_names[i].bit))
			continue;
		strbuf__addf(sb, "%s%s", sep, events_names[i].name);
		events &= ~events_names[i].bit;
		sep = "|";
	}
	if (events)
		strbuf__addf(sb, "%s0x%" PRIx32, sep, events);
}

/* --- blocks */

static Jankbpf__Block *live_new(void)
{
	Jankbpf__Cpu cpu = JANKBPF__CPU__INIT;
	Jankbpf__Psi psi = JANKBPF__PSI__INIT;
	Jankbpf__Scheduling scheduling = JANKBPF__SCHEDULING__INIT;
	Jankbpf__Block live = JANKBPF__BLOCK__INIT;

	cpu.psi = &psi;
	live.cpu = &cpu;
	live.scheduling = &scheduling;
	return proto__copy(&live.base);
}

struct block *block__new(void)
{
	struct block *ret = calloc(1, sizeof(*ret));

	if (!ret)
		return NULL;
	ret->process = identity__new();
	ret->live = live_new();
	if (ret->process && ret->live)
		return ret;
	block__free(ret);
	return NULL;
}

void block__free(struct block *block)
{
	if (!block)
		return;
	samples__free(block->samples, block->sample_cnt);
	links__free(block->chain, block->chain_cnt);
	tasks__free(block->preemptors, block->preemptor_cnt);
	tasks__free(block->syncers, block->syncer_cnt);
	tasks__free(block->enders, block->ender_cnt);
	free(block->cause.summary);
	free(block->lost);
	free(block->host.name);
	free(block->host.kernel);
	free(block->host.arch);
	free(block->host.boot_id);
	identity__free(block->process);
	free(block->thread);
	jankbpf__block__free_unpacked(block->live, NULL);
	stack__free(&block->idle_place);
	free(block->id);
	free(block->message);
	free(block);
}

size_t block__drop_evidence(struct block *block)
{
	size_t cnt = block->sample_cnt;

	samples__free(block->samples, cnt);
	block->samples = NULL;
	block->sample_cnt = 0;
	links__cut(&block->chain, &block->chain_cnt, 0);
	block->chain_sample = 0;
	return cnt;
}

void loop_hist__clear(struct loop_hist *loop)
{
	identity__free(loop->process);
	loop->process = NULL;
}

static void free_loops(struct loop_hist *loops, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		loop_hist__clear(&loops[i]);
	free(loops);
}

void interval__free(struct interval *interval)
{
	if (!interval)
		return;
	free_loops(interval->loops, interval->loop_cnt);
	for (size_t i = 0; i < interval->open_cnt; i++)
		identity__free(interval->open[i].process);
	free(interval->open);
	free(interval->lost);
	unwatched__free(&interval->unwatched);
	*interval = (struct interval){};
}

void summary__free(struct summary *summary)
{
	if (!summary)
		return;
	free_loops(summary->loops, summary->loop_cnt);
	free(summary->lost);
	unwatched__free(&summary->unwatched);
	summary->loops = NULL;
	summary->loop_cnt = 0;
	summary->lost = NULL;
	summary->lost_cnt = 0;
}

size_t block__bytes(const struct block *block)
{
	size_t sum = sizeof(*block) + block->preemptor_cnt * sizeof(*block->preemptors) +
		     (block->syncer_cnt + block->ender_cnt) * sizeof(*block->syncers) +
		     (block->message ? sizeof(*block->message) : 0);

	sum += stack__bytes(&block->idle_place);
	for (size_t i = 0; i < block->sample_cnt; i++)
		sum += sample__bytes(&block->samples[i]);
	for (size_t i = 0; i < block->chain_cnt; i++)
		sum += link__bytes(&block->chain[i]);
	return sum;
}

const char *block__app_build_id(const struct block *block)
{
	for (size_t i = 0; block->process->exe && i < block->sample_cnt; i++) {
		const struct stack *stack = &block->samples[i].stack;

		for (size_t k = stack->frame_cnt; k--;) {
			const struct frame *frame = &stack->frames[k];

			if (frame->build_id && *frame->build_id && frame->module &&
			    !strcmp(frame->module, block->process->exe))
				return frame->build_id;
		}
	}
	return NULL;
}

struct stack *block__stack(const struct block *block, size_t nr, uint32_t *tid)
{
	struct link *link;

	*tid = block->tid;
	if (nr < block->sample_cnt)
		return &block->samples[nr].stack;
	nr -= block->sample_cnt;
	if (nr / 2 >= block->chain_cnt)
		return NULL;
	link = &block->chain[nr / 2];
	*tid = link->task.tid;
	return nr % 2 ? &link->wake_stack : &link->stack;
}

#define X_STATE(nr, NAME, key) [nr] = key,
#define X_LOOP(nr, NAME, key)  [nr] = key,
static const char *const state_names[] = { JANK_STATES(X_STATE) };
static const char *const loop_names[] = { JANK_LOOPS(X_LOOP) };

const char *state__name(uint32_t state)
{
	if (state >= sizeof(state_names) / sizeof(*state_names))
		return "other";
	return state_names[state];
}

static const char *const role_names[] = {
	[LINK_WOKE] = "woke",
	[LINK_HELD] = "held",
	[LINK_AWAITED] = "awaited",
};

const char *link_role__name(enum link_role role)
{
	return role_names[role];
}

enum link_role link_role__of(const char *name)
{
	for (size_t i = 0; name && i < sizeof(role_names) / sizeof(*role_names); i++)
		if (!strcmp(role_names[i], name))
			return (enum link_role)i;
	return LINK_WOKE;
}

const char *loop__name(uint32_t loop)
{
	if (loop >= sizeof(loop_names) / sizeof(*loop_names) || !loop_names[loop])
		return "unknown";
	return loop_names[loop];
}

const char *hist__loop(const struct loop_hist *hist)
{
	return hist->loop_name ? hist->loop_name : loop__name(hist->loop);
}

const char *block__loop(const struct block *block)
{
	return block->loop_name ? block->loop_name : loop__name(block->loop);
}

bool block__turns_unknown(const struct block *block)
{
	return block->loop == JANK_LOOP_PARK && !block->message && !block__is_startup(block);
}

bool block__began_before(const struct block *block)
{
	return block->ready_cnt == JANK_READY_BEFORE;
}

bool block__is_startup(const struct block *block)
{
	return block->ready_cnt == JANK_READY_STARTUP;
}

uint64_t block__delay(const struct block *block)
{
	return block->start_delay_ns + block->duration_ns;
}

uint64_t block__runnable(const struct block *block)
{
	return block->start_delay_ns + block->state_ns[JANK_STATE_RUNNABLE];
}

uint64_t block__due(const struct block *block)
{
	return block->start_ns - block->start_delay_ns;
}

#define STARTUP_HANGS 0xf0 /* more than its loop has trials */

uint32_t hang__number(enum block_type type, uint64_t delay_ns)
{
	return type == BLOCK_HANG ? 1 + anr__exceeded(delay_ns) : 0;
}

uint32_t startup__number(enum block_type type, uint32_t trial, uint64_t delay_ns)
{
	return type == BLOCK_HANG ? STARTUP_HANGS + hang__number(type, delay_ns) : trial;
}

uint32_t block__hang(const struct block *block)
{
	if (block__is_startup(block))
		return startup__number(block->type, block->trial, block__delay(block));
	return hang__number(block->type, block__delay(block));
}

const char *block__severity(const struct block *block)
{
	bool hang = block->type == BLOCK_HANG || block->hang_reported || block->over_hang;

	return hang ? "hang" : "jank";
}
