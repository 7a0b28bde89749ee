/* SPDX-License-Identifier: GPL-2.0 */
/* The verdict in BlockCanary's log, behind keys of our own: the sentence, and a line for each thread of the chain. */
#include <inttypes.h>

#include "export/blockcanary/blockcanary.h"
#include "export/frame.h"

#define CRLF "\r\n"

static void add_cause(struct strbuf *sb, const struct cause *cause)
{
	if (!cause->kind)
		return;
	blockcanary__add_str(sb, "x-cause", cause->kind);
	if (cause->what)
		blockcanary__add_str(sb, "x-cause-what", cause->what);
	if (cause->summary) {
		blockcanary__add_str(sb, "x-cause-summary", cause->summary);
		strbuf__addf(sb, "x-cause-confidence = %.2f" CRLF,
			     share__bounded(cause->confidence));
	}
	strbuf__addf(sb, "x-cause-share = %.4f" CRLF, share__bounded(cause->share));
	if (cause->frame && cause->frame->function)
		blockcanary__add_str(sb, "x-cause-frame", cause->frame->function);
	if (cause->signature[0])
		blockcanary__add_str(sb, "x-signature", cause->signature);
}

static void add_link(struct strbuf *sb, const struct link *link)
{
	struct strbuf line = STRBUF_INIT;

	strbuf__addf(&line, "%s pid %" PRIu32 " tid %" PRIu32 " %s", link->task.comm,
		     link->task.pid, link->task.tid, link->role == LINK_HELD ? "held" : "woke");
	if (link->state < JANK_STATE_CNT)
		strbuf__addf(&line, " %s ns %" PRIu64, state__name(link->state),
			     link->part_ns[link->state]);
	if (link->syscall_name)
		strbuf__addf(&line, " %s", link->syscall_name);
	blockcanary__add_str(sb, "x-chain", strbuf__str(&line));
	sb->failed |= line.failed;
	strbuf__free(&line);
}

void blockcanary__add_verdict(struct strbuf *sb, const struct block *block)
{
	add_cause(sb, &block->cause);
	for (size_t i = 0; i < block->chain_cnt; i++)
		add_link(sb, &block->chain[i]);
}
