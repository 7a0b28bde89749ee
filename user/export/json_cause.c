/* SPDX-License-Identifier: GPL-2.0 */
/* The verdict as JSON. */
#include "export/frame.h"
#include "export/json_parts.h"

/* Where no frame is to blame there is none. */
static void add_blamed(struct jsonw *w, const struct frame *frame)
{
	if (!frame)
		return;
	jsonw__key(w, "frame");
	json__add_frame(w, frame);
}

static void add_parts(struct jsonw *w, const struct cause *cause)
{
	if (!cause->part_cnt)
		return;
	jsonw__karray(w, "parts");
	for (size_t i = 0; i < cause->part_cnt; i++) {
		const struct cause_part *part = &cause->parts[i];

		jsonw__object(w);
		jsonw__kstr(w, "kind", part->kind);
		jsonw__kstr_known(w, "what", part->what);
		jsonw__kfixed(w, "share", share__bounded(part->share), 4);
		add_blamed(w, part->frame);
		jsonw__object_end(w);
	}
	jsonw__array_end(w);
}

/* A confidence is one in the sentence: without that there is none. */
static void add_summary(struct jsonw *w, const struct cause *cause)
{
	if (!cause->summary)
		return;
	jsonw__kstr(w, "summary", cause->summary);
	jsonw__kfixed(w, "confidence", share__bounded(cause->confidence), 2);
}

void json__add_cause(struct jsonw *w, const struct cause *cause)
{
	if (!cause->kind)
		return;
	jsonw__kobject(w, "cause");
	jsonw__kstr(w, "kind", cause->kind);
	jsonw__kstr_known(w, "what", cause->what);
	jsonw__kfixed(w, "share", share__bounded(cause->share), 4);
	add_summary(w, cause);
	add_blamed(w, cause->frame);
	if (cause->signature[0])
		jsonw__kstr(w, "signature", cause->signature);
	add_parts(w, cause);
	jsonw__object_end(w);
}
