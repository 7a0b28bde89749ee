/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that several reports share. */
#include "export/report/report.h"
#include "export/values.h"

void label__add_cause(struct strbuf *sb, const Jankbpf__Cause *cause)
{
	strbuf__adds(sb, cause && cause->kind ? cause->kind : "unknown");
	if (cause && cause->what)
		strbuf__addf(sb, " %s", cause->what);
	if (cause && cause->frame) {
		strbuf__adds(sb, " in ");
		frame__add_place(sb, cause->frame, false);
	}
}

const char *label__missing(const struct weight *weight)
{
	return weight->sample && weight->sample->n_stack ? "" : "[no stack]";
}
