/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/record_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct visit {
	const struct record_frames_ops *ops;
	void *ctx;
};

static int visit_message(const struct visit *v, ProtobufCMessage *message);

static int visit_field(const struct visit *v, ProtobufCMessage *message,
		       const ProtobufCFieldDescriptor *field)
{
	bool is_frame = field->descriptor == &jankbpf__frame__descriptor;
	void *place = (char *)message + field->offset;
	size_t *cnt = (size_t *)((char *)message + field->quantifier_offset);
	int ret = 0;

	if (field->label != PROTOBUF_C_LABEL_REPEATED) {
		if (!*(void **)place)
			return 0;
		return is_frame ? v->ops->frame(v->ctx, place) : visit_message(v, *(void **)place);
	}
	if (is_frame)
		return v->ops->stack(v->ctx, place, cnt);
	for (size_t i = 0; i < *cnt && ret >= 0; i++) {
		int res = visit_message(v, (*(ProtobufCMessage ***)place)[i]);

		ret = res < 0 ? res : ret | res;
	}
	return ret;
}

static int visit_message(const struct visit *v, ProtobufCMessage *message)
{
	int ret = 0;

	for (unsigned i = 0; i < message->descriptor->n_fields && ret >= 0; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		int res =
			field->type == PROTOBUF_C_TYPE_MESSAGE ? visit_field(v, message, field) : 0;

		ret = res < 0 ? res : ret | res;
	}
	return ret;
}

int record_frames__each(Jankbpf__Record *record, const struct record_frames_ops *ops, void *ctx)
{
	const struct visit v = { ops, ctx };

	if (record->type_case != JANKBPF__RECORD__TYPE_BLOCK &&
	    record->type_case != JANKBPF__RECORD__TYPE_HANG)
		return 0;
	return visit_message(&v, &record->block->base);
}

/* --- original names */

/* Returns the number of original frames; 0: it has none. */
static size_t look_up(struct r8_mapping *mapping, const Jankbpf__Frame *frame,
		      struct r8_frame ret[R8_FRAMES_MAX])
{
	if (!frame->function || frame->kernel || frame->inlined ||
	    !r8_mapping__applies(frame->language, frame->module))
		return 0;
	return r8_mapping__retrace(mapping, frame->function, frame->line, ret);
}

/* 0, or -ENOMEM: the frame is unchanged. */
static int set_name(Jankbpf__Frame *frame, const struct r8_frame *name)
{
	char *function = strdup(name->function), *file = name->file ? strdup(name->file) : NULL;

	if (!function || (name->file && !file)) {
		free(function);
		free(file);
		return -ENOMEM;
	}
	free(frame->function);
	free(frame->file);
	frame->function = function;
	frame->file = file;
	frame->has_line = file && name->line;
	frame->line = frame->has_line ? name->line : 0;
	return 0;
}

/* A function that was inlined into that of the frame: never blamed. NULL: out of memory. */
static Jankbpf__Frame *inlined_frame(const Jankbpf__Frame *from, const struct r8_frame *name)
{
	Jankbpf__Frame *ret = calloc(1, sizeof(*ret));

	if (!ret)
		return NULL;
	jankbpf__frame__init(ret);
	ret->module = from->module ? strdup(from->module) : NULL;
	ret->language = from->language ? strdup(from->language) : NULL;
	ret->has_inlined = ret->inlined = true;
	ret->has_app = from->has_app;
	if (!set_name(ret, name) && !ret->module == !from->module &&
	    !ret->language == !from->language)
		return ret;
	jankbpf__frame__free_unpacked(ret, NULL);
	return NULL;
}

/* Puts the inlined functions in front of a frame. 0, or -ENOMEM with the stack unchanged. */
static int insert(Jankbpf__Frame ***stack, size_t *stack_cnt, size_t at,
		  const struct r8_frame *names, size_t cnt)
{
	Jankbpf__Frame *made[R8_FRAMES_MAX];
	Jankbpf__Frame **larger = realloc(*stack, (*stack_cnt + cnt) * sizeof(*larger));
	size_t i;

	if (!larger)
		return -ENOMEM;
	*stack = larger;
	for (i = 0; i < cnt && (made[i] = inlined_frame(larger[at], &names[i])); i++)
		;
	if (i < cnt) {
		while (i)
			jankbpf__frame__free_unpacked(made[--i], NULL);
		return -ENOMEM;
	}
	memmove(larger + at + cnt, larger + at, (*stack_cnt - at) * sizeof(*larger));
	memcpy(larger + at, made, cnt * sizeof(*larger));
	*stack_cnt += cnt;
	return 0;
}

static int retrace_stack(void *ctx, Jankbpf__Frame ***stack, size_t *stack_cnt)
{
	struct r8_frame names[R8_FRAMES_MAX];
	int ret = 0;

	for (size_t i = 0; i < *stack_cnt; i++) {
		size_t cnt = look_up(ctx, (*stack)[i], names);

		if (!cnt)
			continue;
		if (cnt > 1 && insert(stack, stack_cnt, i, names, cnt - 1))
			return -ENOMEM;
		i += cnt - 1;
		if (set_name((*stack)[i], &names[cnt - 1]))
			return -ENOMEM;
		ret = 1;
	}
	return ret;
}

static int retrace_frame(void *ctx, Jankbpf__Frame **frame)
{
	struct r8_frame names[R8_FRAMES_MAX];
	size_t cnt = look_up(ctx, *frame, names);

	if (!cnt)
		return 0;
	return set_name(*frame, &names[cnt - 1]) ?: 1;
}

int record_frames__retrace(Jankbpf__Record *record, struct r8_mapping *mapping)
{
	static const struct record_frames_ops ops = { retrace_stack, retrace_frame };

	return record_frames__each(record, &ops, mapping);
}
