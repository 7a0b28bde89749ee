/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Visits the frames of a record by its protobuf descriptors, so that a new field with a stack needs
 * no change here. See record_names.h.
 */
#include "cli/record_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_nameless(const Jankbpf__Frame *frame)
{
	return frame->module && frame->has_offset && !frame->function && !frame->kernel;
}

static void record_missing(struct record_names *names, const char *module, const char *build_id)
{
	size_t len = strlen(build_id);
	struct missing_module *m;

	HASH_FIND(hh, names->missing, build_id, len, m);
	if (!m) {
		m = calloc(1, sizeof(*m) + len + 1);
		if (!m)
			return;
		memcpy(m->build_id, build_id, len);
		m->found = offline__knows(names->offline, build_id);
		HASH_ADD_KEYPTR(hh, names->missing, m->build_id, len, m);
		if (!m)
			return;
		m->module = strdup(module);
		if (!m->module) {
			HASH_DEL(names->missing, m);
			free(m);
			return;
		}
	}
	m->cnt++;
}

/* Returns the number of frames at the address; 0: no name. */
static size_t look_up(struct record_names *names, const Jankbpf__Frame *frame, bool exact,
		      struct frame ret[OFFLINE_FRAMES_MAX])
{
	size_t cnt;

	names->nameless_cnt++;
	if (!frame->build_id) {
		names->no_build_id_cnt += frame->module[0] == '/';
		return 0;
	}
	offline__archive(names->offline, frame->build_id, frame->module);
	cnt = offline__name(names->offline, frame->build_id, frame->offset, exact, ret);
	if (cnt)
		names->named_cnt++;
	else
		record_missing(names, frame->module, frame->build_id);
	return cnt;
}

/* NULL: out of memory. */
static Jankbpf__Frame *make_frame(const Jankbpf__Frame *from, const struct frame *name)
{
	Jankbpf__Frame *ret = calloc(1, sizeof(*ret));

	if (!ret)
		return NULL;
	jankbpf__frame__init(ret);
	ret->function = strdup(name->function);
	ret->has_offset = true;
	ret->offset = name->offset;
	ret->module = strdup(from->module);
	ret->build_id = strdup(from->build_id);
	ret->file = name->file ? strdup(name->file) : NULL;
	ret->has_line = name->file && name->line;
	ret->line = name->line;
	ret->has_inlined = ret->inlined = name->inlined;
	ret->has_app = ret->app = from->app && !name->inlined;
	if (ret->function && ret->module && ret->build_id && (ret->file || !name->file))
		return ret;
	jankbpf__frame__free_unpacked(ret, NULL);
	return NULL;
}

/* Replaces one frame by cnt frames. Returns 0, or -ENOMEM with the stack unchanged. */
static int replace(Jankbpf__Frame ***stack, size_t *stack_cnt, size_t at, const struct frame *names,
		   size_t cnt)
{
	Jankbpf__Frame *old = (*stack)[at], *made[OFFLINE_FRAMES_MAX];
	Jankbpf__Frame **larger = realloc(*stack, (*stack_cnt + cnt) * sizeof(*larger));
	size_t i;

	if (!larger)
		return -ENOMEM;
	*stack = larger;
	for (i = 0; i < cnt && (made[i] = make_frame(old, &names[i])); i++)
		;
	if (i < cnt) {
		while (i)
			jankbpf__frame__free_unpacked(made[--i], NULL);
		return -ENOMEM;
	}
	memmove(larger + at + cnt, larger + at + 1, (*stack_cnt - at - 1) * sizeof(*larger));
	memcpy(larger + at, made, cnt * sizeof(*larger));
	*stack_cnt += cnt - 1;
	jankbpf__frame__free_unpacked(old, NULL);
	return 0;
}

/* The first user frame is the thread's position; the others are return addresses. */
static int fill_stack(struct record_names *names, Jankbpf__Frame ***stack, size_t *stack_cnt)
{
	struct frame found[OFFLINE_FRAMES_MAX];
	bool exact = true;
	int ret = 0;

	for (size_t i = 0; i < *stack_cnt; i++) {
		const Jankbpf__Frame *frame = (*stack)[i];
		size_t cnt = is_nameless(frame) ? look_up(names, frame, exact, found) : 0;

		if (!frame->kernel && !frame->inlined)
			exact = false;
		if (!cnt)
			continue;
		ret = replace(stack, stack_cnt, i, found, cnt) ? -ENOMEM : 1;
		if (ret < 0)
			return ret;
		i += cnt - 1;
	}
	return ret;
}

static bool same_place(const Jankbpf__Frame *a, const Jankbpf__Frame *b)
{
	return is_nameless(a) && is_nameless(b) && a->offset == b->offset &&
	       !strcmp(a->module, b->module) && a->build_id && b->build_id &&
	       !strcmp(a->build_id, b->build_id);
}

/*
 * True if frame is the position of a sampled thread. The fields before the samples are filled
 * first.
 */
static bool is_leaf(const Jankbpf__Record *record, const Jankbpf__Frame *frame)
{
	for (size_t i = 0; i < record->block->n_samples; i++) {
		const Jankbpf__Sample *sample = record->block->samples[i];
		size_t leaf = 0;

		while (leaf < sample->n_stack && sample->stack[leaf]->kernel)
			leaf++;
		if (leaf < sample->n_stack && same_place(sample->stack[leaf], frame))
			return true;
	}
	return false;
}

/* A single frame, such as a cause's, gets the name of its function, not of an inlined one. */
static int fill_frame(struct record_names *names, Jankbpf__Frame **frame)
{
	struct frame found[OFFLINE_FRAMES_MAX];
	Jankbpf__Frame *made;
	size_t cnt;

	if (!is_nameless(*frame))
		return 0;
	cnt = look_up(names, *frame, is_leaf(names->record, *frame), found);
	if (!cnt)
		return 0;
	made = make_frame(*frame, &found[cnt - 1]);
	if (!made)
		return -ENOMEM;
	jankbpf__frame__free_unpacked(*frame, NULL);
	*frame = made;
	return 1;
}

static int fill_message(struct record_names *names, ProtobufCMessage *message);

static int fill_field(struct record_names *names, ProtobufCMessage *message,
		      const ProtobufCFieldDescriptor *field)
{
	bool is_frame = field->descriptor == &jankbpf__frame__descriptor;
	void *place = (char *)message + field->offset;
	size_t *cnt = (size_t *)((char *)message + field->quantifier_offset);
	int ret = 0;

	if (field->label != PROTOBUF_C_LABEL_REPEATED) {
		if (!*(void **)place)
			return 0;
		return is_frame ? fill_frame(names, place) : fill_message(names, *(void **)place);
	}
	if (is_frame)
		return fill_stack(names, place, cnt);
	for (size_t i = 0; i < *cnt && ret >= 0; i++) {
		int res = fill_message(names, (*(ProtobufCMessage ***)place)[i]);

		ret = res < 0 ? res : ret | res;
	}
	return ret;
}

static int fill_message(struct record_names *names, ProtobufCMessage *message)
{
	int ret = 0;

	for (unsigned i = 0; i < message->descriptor->n_fields && ret >= 0; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		int res = field->type == PROTOBUF_C_TYPE_MESSAGE ? fill_field(names, message, field)
								 : 0;

		ret = res < 0 ? res : ret | res;
	}
	return ret;
}

int record_names__fill(struct record_names *names, Jankbpf__Record *record)
{
	if (record->type_case != JANKBPF__RECORD__TYPE_BLOCK &&
	    record->type_case != JANKBPF__RECORD__TYPE_HANG)
		return 0;
	names->record = record;
	return fill_message(names, &record->block->base);
}

void record_names__free(struct record_names *names)
{
	struct missing_module *m, *next;

	HASH_ITER (hh, names->missing, m, next) {
		HASH_DEL(names->missing, m);
		free(m->module);
		free(m);
	}
	offline__free(names->offline);
}
