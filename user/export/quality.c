/* SPDX-License-Identifier: GPL-2.0 */
/* Why stacks end early, in words: the same in every export. */
#include "export/quality.h"

#include "model/block.h"

static const struct {
	unsigned bit;
	const char *words;
} reasons[] = {
	{ QUALITY_CUT, "cut at the depth limit" },
	{ QUALITY_NO_USER, "user part unreadable" },
	{ QUALITY_FP, "frame pointers may be missing" },
	{ QUALITY_NO_SAMPLES, "no samples" },
};

void quality__add(struct strbuf *sb, unsigned quality)
{
	const char *comma = "";

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if (!(quality & reasons[i].bit))
			continue;
		strbuf__addf(sb, "%s%s", comma, reasons[i].words);
		comma = ", ";
	}
	if (!*comma)
		strbuf__adds(sb, "complete");
}
