/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block's part of a journal. Spans are found by time, links by thread and time, preemptors by
 * thread; entries without a match are ignored.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "base/text.h"
#include "export/json/json.h"
#include "journal/answers.h"
#include "model/chain/chain.h"
#include "model/loss.h"
#include "model/sample.h"

/* Keeps a text that is already set. */
static int take_text(char **ret, const char *text)
{
	if (!text || *ret)
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static void take_task(struct other_task *ret, uint32_t pid, uint32_t tid, const char *comm)
{
	ret->pid = pid;
	ret->tid = tid;
	snprintf(ret->comm, sizeof(ret->comm), "%s", comm ? comm : "");
}

/* pid: of the waiting thread, and so of a mutex's owner. */
static int take_waited(struct wait_object *ret, const Jankbpf__WaitedFor *from, uint32_t pid)
{
	if (!ret || !from)
		return 0;
	if (from->peer_task)
		take_task(&ret->peer_task, from->peer_task->pid, from->peer_task->tid,
			  from->peer_task->comm);
	if (from->futex_owner)
		take_task(&ret->owner, pid, from->futex_owner->tid, from->futex_owner->comm);
	if (take_text(&ret->lock, from->lock) || take_text(&ret->target, from->target) ||
	    take_text(&ret->path, from->path) || take_text(&ret->device, from->device) ||
	    take_text(&ret->peer, from->peer))
		return -ENOMEM;
	return 0;
}

static int take_preemptor(struct other_task *ret, const Jankbpf__Preemptor *from)
{
	ret->is_ours = from->tracer;
	return take_text(&ret->cgroup, from->cgroup);
}

static int take_preemptors(struct other_task *tasks, size_t cnt, Jankbpf__Preemptor *const *from,
			   size_t from_cnt)
{
	for (size_t i = 0; i < cnt; i++)
		for (size_t k = 0; k < from_cnt; k++)
			if (tasks[i].tid == from[k]->tid && take_preemptor(&tasks[i], from[k]))
				return -ENOMEM;
	return 0;
}

/* Ticks at the same time have no wait object to fill. */
static struct wait_object *find_span(struct block *block, uint64_t t_ns)
{
	for (size_t i = 0; i < block->sample_cnt; i++)
		if (block->samples[i].t_ns == t_ns && block->samples[i].waited)
			return block->samples[i].waited;
	return NULL;
}

static struct link *find_link(struct block *block, const Jankbpf__Link *from)
{
	for (size_t i = 0; i < block->chain_cnt; i++)
		if (block->chain[i].task.tid == from->tid && block->chain[i].t_ns == from->t_ns)
			return &block->chain[i];
	return NULL;
}

static int take_link(struct link *link, const Jankbpf__Link *from)
{
	int res;

	if (!link)
		return 0;
	res = take_text(&link->process, from->process);
	if (!res)
		res = take_waited(link->waited, from->waited_for, link->task.pid);
	if (!res)
		res = take_preemptors(link->preemptors, link->preemptor_cnt, from->preemptors,
				      from->n_preemptors);
	return res;
}

/* Only the live system knows them. */
static int take_enders(struct block *block, const Jankbpf__Block *from)
{
	if (from->n_enders < 2 || from->n_enders > ENDER_MAX || block->enders)
		return 0;
	block->enders = calloc(from->n_enders, sizeof(*block->enders));
	if (!block->enders)
		return -ENOMEM;
	for (; block->ender_cnt < from->n_enders; block->ender_cnt++) {
		const Jankbpf__Task *task = from->enders[block->ender_cnt];

		take_task(&block->enders[block->ender_cnt], task->pid, task->tid, task->comm);
	}
	return 0;
}

/* Of a hang: what the records know of them is included. */
static int take_syncers(struct block *block, const Jankbpf__Block *from)
{
	if (block->type != BLOCK_HANG || !from->n_syncers || from->n_syncers > SYNCER_MAX)
		return 0;
	tasks__free(block->syncers, block->syncer_cnt);
	block->syncer_cnt = 0;
	block->syncers = calloc(from->n_syncers, sizeof(*block->syncers));
	if (!block->syncers)
		return -ENOMEM;
	for (; block->syncer_cnt < from->n_syncers; block->syncer_cnt++) {
		const Jankbpf__Preemptor *task = from->syncers[block->syncer_cnt];
		struct other_task *ret = &block->syncers[block->syncer_cnt];

		take_task(ret, task->pid, task->tid, task->comm);
		ret->ns = task->ns;
	}
	return 0;
}

static void clear_field(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	char *quantifier = (char *)message + field->quantifier_offset;

	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		*(size_t *)quantifier = 0;
	else if (field->quantifier_offset)
		*(protobuf_c_boolean *)quantifier = false;
	else
		*(void **)((char *)message + field->offset) = NULL;
}

/* No number of ours is negative or infinite. */
static void drop_wrong_numbers(ProtobufCMessage *message)
{
	for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		void *value = (char *)message + field->offset;

		if (field->type == PROTOBUF_C_TYPE_MESSAGE && !field->quantifier_offset &&
		    *(void **)value)
			drop_wrong_numbers(*(ProtobufCMessage **)value);
		if (field->type != PROTOBUF_C_TYPE_DOUBLE ||
		    (*(double *)value >= 0 && isfinite(*(double *)value)))
			continue;
		*(double *)value = 0;
		clear_field(message, field);
	}
}

/* Fields that are `live` in schema/fields.tbl. What the block has stays. */
static int take_live(struct block *block, const Jankbpf__Block *from)
{
	const ProtobufCMessageDescriptor *descriptor = from->base.descriptor;
	Jankbpf__Block live = *from, *merged;

	for (unsigned i = 0; i < descriptor->n_fields; i++)
		if (!fields__of_block[i].live)
			clear_field(&live.base, &descriptor->fields[i]);
	if (block->live->message && block->live->message->n_also_ready)
		live.message = NULL; /* it is there already */
	merged = proto__merged(&live.base, &block->live->base);
	if (!merged)
		return -ENOMEM;
	drop_wrong_numbers(&merged->base);
	jankbpf__block__free_unpacked(block->live, NULL);
	block->live = merged;
	return 0;
}

int answers__take_waited(struct block *block, const Jankbpf__Block *from)
{
	int res = take_live(block, from);

	for (size_t i = 0; i < from->n_samples && !res; i++)
		res = take_waited(find_span(block, from->samples[i]->t_ns),
				  from->samples[i]->waited_for, block->pid);
	for (size_t i = 0; i < from->n_chain && !res; i++)
		res = take_link(find_link(block, from->chain[i]), from->chain[i]);
	if (!res)
		res = take_preemptors(block->preemptors, block->preemptor_cnt, from->preemptors,
				      from->n_preemptors);
	if (!res)
		res = take_enders(block, from);
	return res ? res : take_syncers(block, from);
}

static uint32_t state_of(const char *name)
{
	uint32_t state = 0;

	while (state < JANK_STATE_CNT && (!name || strcmp(state__name(state), name)))
		state++;
	return state;
}

static int take_whole_link(struct link *ret, const Jankbpf__Link *from, struct block *block)
{
	const struct jank_rec_waited raw = { .fd = -1, .timeout_ns = UINT64_MAX };
	int nr = syscall__nr(from->syscall);

	*ret = (struct link){
		.role = link_role__of(from->role),
		.gone = !from->gone		     ? LINK_HERE
			: strcmp(from->gone, "fork") ? LINK_ENDED
						     : LINK_FORK,
		.t_ns = from->t_ns,
		.ns = from->ns,
		.state = state_of(from->state),
		.syscall = nr,
		.syscall_name = nr >= 0 ? syscall__name(nr) : NULL,
		.waited = from->waited_for ? wait_object__new(&raw) : NULL,
	};
	take_task(&ret->task, from->pid, from->tid, from->comm);
	if (block->deadlock)
		chain__keep_stack(ret, block);
	if (from->waited_for && !ret->waited)
		return -ENOMEM;
	return take_link(ret, from);
}

/* Index of the wait that the chain explains; sample_cnt: it is not there. */
static size_t explained(const struct block *block, const Jankbpf__Block *from)
{
	size_t i = 0;

	while (i < block->sample_cnt && (block->samples[i].t_ns != from->chain_sample ||
					 block->samples[i].state < JANK_STATE_FIRST_BLOCKED))
		i++;
	return i;
}

int answers__take_chain(struct block *block, const Jankbpf__JournalAnswers *answers)
{
	const Jankbpf__Block *from = answers->block;
	size_t sample = explained(block, from), cnt = from->n_chain;
	struct link *links;
	int res = 0;

	if (sample == block->sample_cnt || !cnt || cnt > CHAIN_MAX)
		return 0;
	links = calloc(CHAIN_MAX, sizeof(*links));
	if (!links)
		return -ENOMEM;
	block->deadlock = answers->deadlock;
	block->seen_chain = answers->seen_chain;
	for (size_t i = 0; i < cnt && !res; i++)
		res = take_whole_link(&links[i], from->chain[i], block);
	if (res) {
		links__free(links, cnt);
		return res;
	}
	links__free(block->chain, block->chain_cnt);
	block->chain = links;
	block->chain_cnt = cnt;
	block->chain_sample = sample;
	return 0;
}

uint64_t answers__loss(const Jankbpf__Lost *lost, int reason)
{
	const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field_by_name(
		lost->base.descriptor, loss__key(reason));

	return field ? *(const uint64_t *)((const char *)lost + field->offset) : 0;
}

static uint64_t known_loss(const struct block *block, int reason)
{
	for (size_t i = 0; i < block->lost_cnt; i++)
		if (!strcmp(block->lost[i].reason, loss__key(reason)))
			return block->lost[i].cnt;
	return 0;
}

int answers__take_losses(struct block *block, const Jankbpf__Lost *lost)
{
	for (int reason = 0; reason < LOSS_CNT; reason++) {
		uint64_t cnt = answers__loss(lost, reason), known = known_loss(block, reason);

		if (cnt > known && block__add_loss(block, reason, cnt - known))
			return -ENOMEM;
	}
	return 0;
}

static int take_script(struct stack *stack, const Jankbpf__JournalStack *from)
{
	struct jank_script_frame script[STACK_SCRIPT_MAX];
	size_t cnt = from->n_script;

	if (!cnt || cnt > STACK_SCRIPT_MAX)
		return 0;
	for (size_t i = 0; i < cnt; i++)
		script[i] =
			(struct jank_script_frame){ from->script[i]->code, from->script[i]->instr,
						    from->script[i]->flags,
						    from->script[i]->check };
	return stack__set_script(stack, script, cnt);
}

static int take_stack(struct stack *stack, const Jankbpf__JournalStack *from)
{
	enum stack_end end =
		from->end <= STACK_END_DEEP ? (enum stack_end)from->end : STACK_END_UNKNOWN;
	int res = from->n_addresses ? stack__set_callers(stack, from->addresses, from->n_addresses,
							 end, from->end_module)
				    : 0;

	return res ? res : take_script(stack, from);
}

static bool is_of(const Jankbpf__JournalStack *from, uint32_t tid, const struct stack *stack)
{
	return stack->addresses && from->t_ns == stack->t_ns && from->tid == tid;
}

/*
 * The block's stacks come before its chain's, each in order of time, so each search continues where
 * the last one ended.
 */
int answers__take_callers(struct block *block, const Jankbpf__JournalCallers *from)
{
	size_t at = 0, cnt = from->n_stacks;
	struct stack *stack;
	uint32_t tid;
	int res = 0;

	for (size_t nr = 0; !res && (stack = block__stack(block, nr, &tid)); nr++) {
		for (size_t i = 0; i < cnt; i++) {
			size_t place = (at + i) % cnt;

			if (!is_of(from->stacks[place], tid, stack))
				continue;
			at = place + 1;
			res = take_stack(stack, from->stacks[place]);
			break;
		}
	}
	return res;
}

static void set_frame(struct frame *ret, const Jankbpf__Frame *from, uint64_t address, bool app)
{
	*ret = (struct frame){
		.address = address,
		.function = from->function,
		.offset = from->offset,
		.module = from->module,
		.build_id = from->build_id,
		.file = from->file,
		.line = from->line,
		.language = from->language,
		.kernel = from->kernel,
		.inlined = from->inlined,
		.app = app,
	};
}

int answers__add_frames(struct stack *stack, const Jankbpf__JournalFrames *from, uint64_t address,
			bool kernel)
{
	size_t named = from ? from->n_frames : 0, cnt;
	struct frame *frames;

	if (named > ANSWERS_INLINED_MAX)
		named = ANSWERS_INLINED_MAX;
	cnt = named ? named : 1;
	frames = realloc(stack->frames, (stack->frame_cnt + cnt) * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	stack->frames = frames;
	frames += stack->frame_cnt;
	stack->frame_cnt += cnt;
	frames[0] = (struct frame){ .address = address, .kernel = kernel };
	for (size_t i = 0; i < named; i++)
		set_frame(&frames[i], from->frames[i], address, i < from->n_app && from->app[i]);
	if (named)
		frames[named - 1].start = from->start;
	return 0;
}
