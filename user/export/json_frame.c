/* SPDX-License-Identifier: GPL-2.0 */
/* Frames and stacks as JSON. */
#include <stdio.h>

#include "export/frame.h"
#include "export/json_parts.h"

/*
 * An address is a string: JSON's readers keep 53 bits of a number, and a kernel address has 64.
 * It stands only where the frame has neither function nor module.
 */
void json__add_frame(struct jsonw *w, const struct frame *frame)
{
	char address[2 + 16 + 1];

	jsonw__object(w);
	jsonw__kstr_known(w, "function", frame->function);
	if (frame->function || frame->module) {
		jsonw__ku64(w, "offset", frame->offset);
	} else {
		snprintf(address, sizeof(address), "0x%llx", (unsigned long long)frame->address);
		jsonw__kstr(w, "address", address);
	}
	jsonw__kstr_known(w, "module", frame->module);
	jsonw__kstr_known(w, "build_id", frame->build_id);
	jsonw__kstr_known(w, "file", frame->file);
	if (frame->file && frame->line)
		jsonw__ku64(w, "line", frame->line);
	jsonw__kstr_known(w, "language", frame->language);
	if (frame->inlined)
		jsonw__kbool(w, "inlined", true);
	if (frame->kernel)
		jsonw__kbool(w, "kernel", true);
	jsonw__object_end(w);
}

void json__add_stack(struct jsonw *w, const char *key, const struct stack *stack)
{
	size_t cnt = stack__frame_cnt(stack);

	jsonw__karray(w, key);
	for (size_t i = 0; i < cnt; i++) {
		struct frame frame = stack__frame(stack, i);

		json__add_frame(w, &frame);
	}
	jsonw__array_end(w);
}
