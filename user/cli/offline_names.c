/* SPDX-License-Identifier: GPL-2.0 */
/* Frame by frame into a new list, since one may become several. See offline_names.h. */
#include "cli/offline_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As they are where one address has a name: what was inlined is nobody's to blame. */
static size_t look_up(struct offline_names *names, const struct frame *frame, bool exact,
		      struct frame found[OFFLINE_FRAMES_MAX])
{
	size_t cnt;

	if (frame->function || frame->kernel || !frame->build_id || !frame->build_id[0])
		return 0;
	names->nameless_cnt++;
	if (frame->module)
		offline__archive(names->offline, frame->build_id, frame->module);
	cnt = offline__name(names->offline, frame->build_id, frame->offset, exact, found);
	names->named_cnt += cnt > 0;
	for (size_t i = 0; i < cnt; i++) {
		found[i].address = frame->address;
		found[i].module = frame->module;
		found[i].build_id = frame->build_id;
		found[i].app = frame->app && found[i].app && !found[i].inlined;
	}
	return cnt;
}

int offline_names__fill(struct offline_names *names, struct stack *stack)
{
	struct frame found[OFFLINE_FRAMES_MAX], *list = NULL;
	size_t cnt = 0;
	bool exact = true;

	for (uint32_t i = 0; i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];
		size_t more = look_up(names, frame, exact, found);
		struct frame *longer;

		if (!frame->kernel && !frame->inlined)
			exact = false; /* where the thread was is the first only */
		longer = realloc(list, (cnt + (more ?: 1)) * sizeof(*list));
		if (!longer) {
			free(list);
			return -ENOMEM;
		}
		list = longer;
		memcpy(list + cnt, more ? found : frame, (more ?: 1) * sizeof(*list));
		cnt += more ?: 1;
	}
	if (!list)
		return 0;
	free(stack->frames);
	stack->frames = list;
	stack->frame_cnt = cnt;
	return 0;
}
