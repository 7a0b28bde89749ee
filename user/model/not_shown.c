/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/not_shown.h"

#include <stddef.h>
#include <string.h>

#include "model/block.h"

static const struct {
	const char *word, *phrase;
} reasons[] = {
#define NOT_SHOWN_X(NAME, word, phrase) [NOT_SHOWN_##NAME] = { word, phrase },
	NOT_SHOWN_REASONS(NOT_SHOWN_X)
#undef NOT_SHOWN_X
};

void not_shown__add(struct not_shown *not_shown, enum not_shown_reason reason, uint32_t pid,
		    uint64_t delay_ns)
{
	if (++not_shown->cnt[reason] <= NOT_SHOWN_TOLD_MAX && not_shown->tell)
		not_shown->tell(reason, pid, delay_ns);
}

void not_shown__add_block(struct not_shown *not_shown, enum not_shown_reason reason,
			  const struct block *block)
{
	if (block->type != BLOCK_HANG)
		not_shown__add(not_shown, reason, block->pid, block__delay(block));
}

void not_shown__merge(struct not_shown *to, const struct not_shown *from)
{
	for (int i = 0; i < NOT_SHOWN_CNT; i++)
		to->cnt[i] += from->cnt[i];
}

const char *not_shown__word(enum not_shown_reason reason)
{
	return reasons[reason].word;
}

enum not_shown_reason not_shown__reason(const char *word)
{
	int i = 0;

	while (word && i < NOT_SHOWN_CNT && strcmp(word, reasons[i].word))
		i++;
	return word ? i : SHOWN;
}

const char *not_shown__phrase(const char *word)
{
	enum not_shown_reason reason = not_shown__reason(word);

	return reason == SHOWN ? word : reasons[reason].phrase;
}
