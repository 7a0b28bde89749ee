/* SPDX-License-Identifier: GPL-2.0 */
/* Why stacks end early, in words: the same in every export. */
#include "export/quality.h"

static const struct {
	unsigned bit;
	const char *words;
} reasons[] = {
	{ QUALITY_CUT, "cut at the depth limit" },
	{ QUALITY_NO_USER, "user part unreadable" },
	{ QUALITY_FP, "frame pointers may be missing" },
	{ QUALITY_NO_SAMPLES, "no samples" },
	{ QUALITY_COPY, "truncated copy" },
	{ QUALITY_HOLE, "a page of the stack unreadable" },
	{ QUALITY_NO_TABLE, "no unwind table" },
	{ QUALITY_ASTRAY, "unwind table that leads astray" },
	{ QUALITY_DEEP, "cut at the depth limit" },
};

#define OF_MODULE (QUALITY_NO_TABLE | QUALITY_ASTRAY)

void quality__add(struct strbuf *sb, const struct block *block)
{
	const char *comma = "";

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if (!(block->stack_quality & reasons[i].bit))
			continue;
		strbuf__addf(sb, "%s%s", comma, reasons[i].words);
		if (reasons[i].bit & OF_MODULE && block->quality_module)
			strbuf__addf(sb, " in %s", block->quality_module);
		comma = ", ";
	}
	if (!*comma)
		strbuf__adds(sb, "complete");
}
