/* SPDX-License-Identifier: GPL-2.0 */
/* JSON Lines on a descriptor: one record, one line, one write. */
#include <errno.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "export/output.h"
#include "export/sink.h"

struct sink_jsonl {
	struct sink sink;
	int fd;
	struct strbuf line;
};

static int jsonl__write(struct sink_jsonl *jsonl)
{
	strbuf__addc(&jsonl->line, '\n');
	if (jsonl->line.failed)
		return -ENOMEM;
	return output__write(jsonl->fd, jsonl->line.data, jsonl->line.len);
}

static int jsonl__block(struct sink *sink, const struct block *block)
{
	struct sink_jsonl *jsonl = (struct sink_jsonl *)sink;

	strbuf__reset(&jsonl->line);
	json__add_block(&jsonl->line, block);
	return jsonl__write(jsonl);
}

static int jsonl__summary(struct sink *sink, const struct summary *summary)
{
	struct sink_jsonl *jsonl = (struct sink_jsonl *)sink;

	strbuf__reset(&jsonl->line);
	json__add_summary(&jsonl->line, summary);
	return jsonl__write(jsonl);
}

static void jsonl__free(struct sink *sink)
{
	struct sink_jsonl *jsonl = (struct sink_jsonl *)sink;

	strbuf__free(&jsonl->line);
	free(jsonl);
}

static const struct sink_ops jsonl_ops = {
	.name = "jsonl",
	.block = jsonl__block,
	.summary = jsonl__summary,
	.free = jsonl__free,
};

struct sink *sink_jsonl__new(int fd)
{
	struct sink_jsonl *jsonl = calloc(1, sizeof(*jsonl));

	if (!jsonl)
		return NULL;
	jsonl->sink.ops = &jsonl_ops;
	jsonl->fd = fd;
	return &jsonl->sink;
}
