/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that several reports share. */
#include <inttypes.h>

#include "export/report/report.h"
#include "export/values.h"

void label__add_frame(struct strbuf *sb, const Jankbpf__Frame *frame)
{
	if (frame->function && *frame->function)
		strbuf__adds(sb, frame->function);
	else if (frame->module && *frame->module)
		strbuf__addf(sb, "%s+0x%" PRIx64, module__base(frame->module), frame->offset);
	else
		strbuf__addf(sb, "0x%" PRIx64, frame->address);
}

void label__add_cause(struct strbuf *sb, const Jankbpf__Cause *cause)
{
	strbuf__adds(sb, cause && cause->kind ? cause->kind : "unknown");
	if (cause && cause->what)
		strbuf__addf(sb, " %s", cause->what);
	if (cause && cause->frame) {
		strbuf__adds(sb, " in ");
		label__add_frame(sb, cause->frame);
	}
}

const char *label__missing(const struct weight *weight)
{
	return weight->sample && weight->sample->n_stack ? "" : "[no stack]";
}
