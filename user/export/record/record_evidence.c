/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The evidence in a record: frames, samples, wait objects, the chain, preemptors. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/json/json.h"
#include "export/record/record.h"

Jankbpf__Time *record__time(struct record *r, const uint64_t *state_ns)
{
	Jankbpf__Time *ret = NEW(r, time);

	SET(ret, running_ns, state_ns[JANK_STATE_RUNNING]);
	SET(ret, runnable_ns, state_ns[JANK_STATE_RUNNABLE]);
	ret->blocked_ns = NEW(r, blocked);
	for (uint32_t i = JANK_STATE_FIRST_BLOCKED; i < JANK_STATE_CNT; i++)
		if (state_ns[i])
			record__set_named(&ret->blocked_ns->base, state__name(i), state_ns[i]);
	return ret;
}

Jankbpf__Frame *record__frame(struct record *r, const struct frame *frame)
{
	Jankbpf__Frame *ret = NEW(r, frame);

	ret->function = record__str(r, frame->function);
	if (frame->function || frame->module)
		SET(ret, offset, frame->offset);
	else
		SET(ret, address, frame->address);
	ret->module = record__str(r, frame->module);
	ret->build_id = record__str(r, frame->build_id);
	ret->file = record__str(r, frame->file);
	if (frame->file)
		SET_KNOWN(ret, line, frame->line);
	ret->language = record__str(r, frame->language);
	SET_KNOWN(ret, inlined, frame->inlined);
	SET_KNOWN(ret, kernel, frame->kernel);
	SET_KNOWN(ret, app, frame->app);
	return ret;
}

static Jankbpf__Frame **stack_of(struct record *r, const struct stack *stack, size_t *ret_cnt)
{
	Jankbpf__Frame **ret = record__array(r, r->stacks ? stack__frame_cnt(stack) : 0, ret_cnt);

	for (size_t i = 0; i < *ret_cnt; i++) {
		struct frame frame = stack__frame(stack, i);

		ret[i] = record__frame(r, &frame);
	}
	return ret;
}

char *record__priority(struct record *r, uint16_t prio)
{
	priority__add(record__words(r), prio);
	return r->arena.words.len ? record__take_words(r) : NULL;
}

Jankbpf__Preemptor **record__preemptors(struct record *r, const struct other_task *tasks,
					size_t cnt, size_t *ret_cnt)
{
	Jankbpf__Preemptor **ret = record__array(r, cnt, ret_cnt);

	for (size_t i = 0; i < *ret_cnt; i++) {
		ret[i] = NEW(r, preemptor);
		SET(ret[i], pid, tasks[i].pid);
		SET(ret[i], tid, tasks[i].tid);
		ret[i]->comm = record__str(r, tasks[i].comm);
		SET(ret[i], ns, tasks[i].ns);
		ret[i]->priority = record__priority(r, tasks[i].prio);
		ret[i]->cgroup = record__str(r, tasks[i].cgroup);
		SET_KNOWN(ret[i], tracer, tasks[i].is_ours);
	}
	return ret;
}

static Jankbpf__Task *task_of(struct record *r, const struct other_task *task)
{
	Jankbpf__Task *ret = NEW(r, task);

	SET(ret, pid, task->pid);
	SET(ret, tid, task->tid);
	ret->comm = record__str(r, task->comm);
	return ret;
}

static Jankbpf__Owner *owner_of(struct record *r, const struct other_task *owner)
{
	Jankbpf__Owner *ret = NEW(r, owner);

	SET(ret, tid, owner->tid);
	ret->comm = *owner->comm ? record__str(r, owner->comm) : NULL;
	return ret;
}

/* NULL where nothing is known. */
static Jankbpf__WaitedFor *waited_of(struct record *r, const struct wait_object *waited,
				     const char *syscall_name)
{
	Jankbpf__WaitedFor *ret;
	int32_t fd = wait__fd(waited);
	uint64_t timeout_ns, bytes;
	bool timed = wait__timeout(waited, &timeout_ns);
	bool counted = wait__bytes(waited, syscall_name, &bytes);

	if (!waited ||
	    !(fd >= 0 || timed || counted || waited->target || waited->path || waited->device ||
	      waited->peer || waited->peer_task.pid || waited->owner.tid || waited->lock ||
	      waited->raw.hdr.flags & JANK_WAITED_BINDER))
		return NULL;
	ret = NEW(r, waited_for);
	if (fd >= 0)
		SET(ret, fd, fd);
	ret->target = record__str(r, waited->target);
	ret->path = record__str(r, waited->path);
	ret->device = record__str(r, waited->device);
	ret->peer = record__str(r, waited->peer);
	ret->peer_task = waited->peer_task.pid ? task_of(r, &waited->peer_task) : NULL;
	if (timed)
		SET(ret, timeout_ns, timeout_ns);
	if (counted)
		SET(ret, bytes, bytes);
	ret->futex_owner = waited->owner.tid ? owner_of(r, &waited->owner) : NULL;
	ret->lock = record__str(r, waited->lock);
	if (waited->raw.hdr.flags & JANK_WAITED_BINDER)
		SET(ret, binder_code, waited->raw.binder_code);
	return ret;
}

/* Sets how the thread of the link spent its part of the interval, if any of it was seen. */
static void set_meanwhile(struct record *r, Jankbpf__Link *ret, const struct link *link)
{
	uint64_t seen_ns = 0;

	for (uint32_t i = 0; i < JANK_STATE_CNT; i++)
		seen_ns += link->part_ns[i];
	if (link->state < JANK_STATE_CNT)
		ret->state = (char *)state__name(link->state);
	ret->time = seen_ns ? record__time(r, link->part_ns) : NULL;
	SET_KNOWN(ret, throttled_ns, link->throttled_ns);
	ret->syscall = record__str(r, link->syscall_name);
	ret->waited_for = waited_of(r, link->waited, link->syscall_name);
}

static Jankbpf__Link *link_of(struct record *r, const struct link *link)
{
	Jankbpf__Link *ret = NEW(r, link);

	ret->role = (char *)link_role__name(link->role);
	ret->gone = link->gone == LINK_FORK ? "fork" : link->gone ? "ended" : NULL;
	SET(ret, pid, link->task.pid);
	SET(ret, tid, link->task.tid);
	ret->comm = record__str(r, link->task.comm);
	ret->process = record__str(r, link->process);
	ret->priority = record__priority(r, link->prio);
	SET(ret, t_ns, link->t_ns);
	SET(ret, ns, link->ns);
	set_meanwhile(r, ret, link);
	ret->stack = stack_of(r, &link->stack, &ret->n_stack);
	ret->wake_stack = stack_of(r, &link->wake_stack, &ret->n_wake_stack);
	ret->preemptors =
		record__preemptors(r, link->preemptors, link->preemptor_cnt, &ret->n_preemptors);
	return ret;
}

void record__set_chain(struct record *r, Jankbpf__Block *ret, const struct block *block)
{
	ret->chain = record__array(r, block->chain_cnt, &ret->n_chain);
	for (size_t i = 0; i < ret->n_chain; i++)
		ret->chain[i] = link_of(r, &block->chain[i]);
	if (block->chain_cnt && block->chain_sample < block->sample_cnt)
		SET(ret, chain_sample, block->samples[block->chain_sample].t_ns);
	ret->enders = record__array(r, block->ender_cnt, &ret->n_enders);
	for (size_t i = 0; i < ret->n_enders; i++)
		ret->enders[i] = task_of(r, &block->enders[i]);
}

/* Stack of a sample's waker at the wake-up. It is known for the wait that the chain explains. */
static const struct stack *wake_stack(const struct block *block, size_t i)
{
	const struct link *first = block->chain;

	if (!block->chain_cnt || block->chain_sample != i || first->role != LINK_WOKE ||
	    first->task.tid != block->samples[i].waker.tid)
		return NULL;
	return &first->wake_stack;
}

static Jankbpf__Waker *waker_of(struct record *r, const struct block *block, size_t i)
{
	const struct sample *sample = &block->samples[i];
	const struct stack *stack = wake_stack(block, i);
	Jankbpf__Waker *ret;

	if (!sample->has_waker)
		return NULL;
	ret = NEW(r, waker);
	SET(ret, pid, sample->waker.pid);
	SET(ret, tid, sample->waker.tid);
	ret->comm = record__str(r, sample->waker.comm);
	SET_KNOWN(ret, softirq, sample->waker_softirq);
	if (stack)
		ret->stack = stack_of(r, stack, &ret->n_stack);
	return ret;
}

static Jankbpf__Sample *sample_of(struct record *r, const struct block *block, size_t i)
{
	const struct sample *sample = &block->samples[i];
	Jankbpf__Sample *ret = NEW(r, sample);

	SET(ret, t_ns, sample->t_ns);
	ret->state = (char *)state__name(sample->state);
	SET_KNOWN(ret, ns, sample->ns);
	SET_KNOWN(ret, runnable_ns, sample->runnable_ns);
	SET_KNOWN(ret, open, sample->open);
	SET(ret, cpu, sample->cpu);
	ret->syscall = record__str(r, sample->syscall_name);
	ret->waited_for = waited_of(r, sample->waited, sample->syscall_name);
	ret->waker = waker_of(r, block, i);
	ret->stack = stack_of(r, &sample->stack, &ret->n_stack);
	return ret;
}

void record__set_samples(struct record *r, Jankbpf__Block *ret, const struct block *block)
{
	ret->samples = record__array(r, block->sample_cnt, &ret->n_samples);
	for (size_t i = 0; i < ret->n_samples; i++)
		ret->samples[i] = sample_of(r, block, i);
}

/* --- the memory of a record: one arena, which the builder's next call empties */

struct record *record__new(void)
{
	return calloc(1, sizeof(struct record));
}

void record__free(struct record *record)
{
	if (!record)
		return;
	arena__free(&record->arena);
	free(record);
}

void record__begin(struct record *r, bool stacks)
{
	arena__reset(&r->arena);
	r->stacks = stacks;
}

void *record__take(struct record *r, size_t size)
{
	return arena__take(&r->arena, size);
}

void *record__message(struct record *r, const ProtobufCMessageDescriptor *descriptor)
{
	return arena__message(&r->arena, descriptor);
}

void *record__array(struct record *r, size_t cnt, size_t *ret_cnt)
{
	*ret_cnt = cnt;
	return cnt ? record__take(r, cnt * sizeof(void *)) : NULL;
}

struct strbuf *record__words(struct record *r)
{
	return arena__words(&r->arena);
}

char *record__take_words(struct record *r)
{
	return arena__take_words(&r->arena);
}

char *record__str(struct record *r, const char *text)
{
	return arena__str(&r->arena, text);
}

char *record__version(struct record *r, const Jankbpf__Identity *process)
{
	struct strbuf *sb = record__words(r);

	identity__add_version(sb, process);
	return sb->len ? record__take_words(r) : NULL;
}

static void take_value(struct record *r, void *to, const void *from, ProtobufCType type,
		       size_t size)
{
	const ProtobufCMessage *message;

	memcpy(to, from, size);
	if (type == PROTOBUF_C_TYPE_STRING)
		*(char **)to = record__str(r, *(char *const *)from);
	message = type == PROTOBUF_C_TYPE_MESSAGE ? *(ProtobufCMessage *const *)from : NULL;
	if (!message)
		return;
	*(void **)to = record__message(r, message->descriptor);
	record__take_fields(r, *(void **)to, message);
}

static void take_list(struct record *r, char **to, const ProtobufCFieldDescriptor *field,
		      const char *from, size_t cnt)
{
	size_t size = field__value_size(field);

	*to = cnt ? record__take(r, cnt * size) : NULL;
	for (size_t i = 0; i < cnt; i++)
		take_value(r, *to + i * size, from + i * size, field->type, size);
}

static void take_field(struct record *r, char *to, const ProtobufCFieldDescriptor *field,
		       const char *from, const ProtobufCFieldDescriptor *of)
{
	const void *value = from + of->offset, *quantifier = from + of->quantifier_offset;

	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		*(size_t *)(to + field->quantifier_offset) = *(const size_t *)quantifier;
		take_list(r, (char **)(to + field->offset), field, *(char *const *)value,
			  *(const size_t *)quantifier);
		return;
	}
	if (field->quantifier_offset)
		*(protobuf_c_boolean *)(to + field->quantifier_offset) = true;
	take_value(r, to + field->offset, value, field->type, field__value_size(field));
}

/* True if the message has it: a number, text or message, or an element of a list. */
static bool has_field(const char *message, const ProtobufCFieldDescriptor *field)
{
	const void *quantifier = message + field->quantifier_offset;

	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return *(const size_t *)quantifier;
	if (field->quantifier_offset)
		return *(const protobuf_c_boolean *)quantifier;
	return *(void *const *)(message + field->offset);
}

void record__take_fields(struct record *r, ProtobufCMessage *to, const ProtobufCMessage *from)
{
	for (unsigned i = 0; i < from->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *of = &from->descriptor->fields[i], *field = of;

		if (!has_field((const char *)from, of))
			continue;
		if (to->descriptor != from->descriptor)
			field = protobuf_c_message_descriptor_get_field_by_name(to->descriptor,
										of->name);
		if (field && field->type == of->type && field->label == of->label)
			take_field(r, (char *)to, field, (const char *)from, of);
	}
}

void record__set_named(ProtobufCMessage *message, const char *name, uint64_t value)
{
	const ProtobufCFieldDescriptor *field =
		protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);

	if (!field)
		return;
	*(protobuf_c_boolean *)((char *)message + field->quantifier_offset) = true;
	*(uint64_t *)((char *)message + field->offset) = value;
}
