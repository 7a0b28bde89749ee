/* SPDX-License-Identifier: GPL-2.0 */
/* Frames by the addresses that the recording named. */
#include <errno.h>
#include <stdlib.h>

#include "app/recorded_parts.h"
#include "app/recorder.h"
#include "intake/journal.h"

#define INLINED_MAX 64 /* frames at one address */

static void set_frame(struct frame *frame, json_t *json, uint64_t address)
{
	*frame = (struct frame){
		.address = address,
		.function = recorded__text(json, "function"),
		.offset = recorded__number(json, "offset"),
		.module = recorded__text(json, "module"),
		.build_id = recorded__text(json, "build_id"),
		.file = recorded__text(json, "file"),
		.line = recorded__number(json, "line"),
		.language = recorded__text(json, "language"),
		.kernel = json_is_true(json_object_get(json, "kernel")),
		.inlined = json_is_true(json_object_get(json, "inlined")),
		.app = json_is_true(json_object_get(json, "app")),
	};
}

static int add_frames_of(struct stack *stack, const struct recorded_entry *entry, uint64_t address,
			 bool kernel)
{
	json_t *list = entry ? json_object_get(entry->json, "frames") : NULL;
	size_t named = json_array_size(list), cnt;
	struct frame *frames;

	if (named > INLINED_MAX)
		named = INLINED_MAX;
	cnt = named ? named : 1;
	frames = realloc(stack->frames, (stack->frame_cnt + cnt) * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	stack->frames = frames;
	frames += stack->frame_cnt;
	stack->frame_cnt += cnt;
	frames[0] = (struct frame){ .address = address, .kernel = kernel };
	for (size_t i = 0; i < named; i++)
		set_frame(&frames[i], json_array_get(list, i), address);
	return 0;
}

/* As symbolizer__stack has them, one for each. */
static int add_script(const void *recorded, uint32_t pid, struct stack *stack)
{
	for (uint32_t i = 0; i < stack->script_cnt; i++) {
		const struct jank_script_frame *from = &stack->script[i];
		struct recorded_key key = { pid, recorder__script_key(from), JOURNAL_FRAMES };
		size_t before = stack->frame_cnt;
		int res = add_frames_of(stack, from->code ? recorded__find(recorded, key) : NULL,
					from->instr, false);

		if (res) {
			stack->script_cnt = i;
			return res;
		}
		stack->frame_cnt = before + 1;
	}
	return 0;
}

/* Journals of before the two were told apart have the names of whichever came first. */
static const struct recorded_entry *find_native(const struct recorded *recorded, uint32_t pid,
						uint64_t address, bool exact)
{
	struct recorded_key key = { pid, recorder__native_key(address, exact), JOURNAL_FRAMES };
	const struct recorded_entry *entry = recorded__find(recorded, key);

	if (entry || !exact)
		return entry;
	key.b = address;
	return recorded__find(recorded, key);
}

int recorded__name(void *recorded, uint32_t pid, struct stack *stack)
{
	for (uint32_t i = 0; i < stack->kernel_cnt + stack->user_cnt; i++) {
		bool kernel = i < stack->kernel_cnt, exact = !i || i == stack->kernel_cnt;
		uint64_t address = stack->addresses[i];
		int res = add_frames_of(stack,
					find_native(recorded, kernel ? 0 : pid, address, exact),
					address, kernel);

		if (res) {
			stack->script_cnt = 0;
			return res;
		}
	}
	return add_script(recorded, pid, stack);
}
