/* SPDX-License-Identifier: GPL-2.0 */
/* Walks over a block; what each part is called is others' business. */
#include "enrich/block_waits.h"

#include "enrich/waited_names.h"

static int name_spans(struct block *block)
{
	int res = 0;

	for (size_t i = 0; i < block->sample_cnt && !res; i++)
		if (block->samples[i].waited)
			res = waited_names__fill(block->samples[i].waited, block->pid, block->tid);
	return res;
}

static int name_links(struct block *block)
{
	int res = 0;

	for (size_t i = 0; i < block->chain_cnt && !res; i++) {
		struct link *link = &block->chain[i];

		res = waited_names__link(link);
		if (!res && link->waited)
			res = waited_names__fill(link->waited, link->task.pid, link->task.tid);
	}
	return res;
}

int block_waits__name(void *ctx, struct block *block)
{
	int res = name_spans(block);

	(void)ctx;
	return res ? res : name_links(block);
}
