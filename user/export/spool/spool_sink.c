/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spool as a sink. A batch closes between two records, so that no record is in two batches. */
#include "export/spool/spool.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define AGAIN_MS 1000 /* after a batch could not be closed */

struct sink_spool {
	struct sink sink;
	struct spool_writer *writer;
	bool waits, wanted; /* a record came after which a batch closes */
	uint64_t base;	    /* what was dropped before the run */
};

/*
 * The spool knows the sum, also of a process that was killed before it answered; `base` is as old
 * as the run.
 */
static void count_dropped(struct sink_spool *s)
{
	struct sink_progress *progress = s->sink.progress;
	uint64_t sum = spool_writer__dropped(s->writer), counted = sink__dropped(&s->sink);

	if (progress && !progress->dropped_base)
		progress->dropped_base = s->base + 1;
	if (progress)
		s->base = progress->dropped_base - 1;
	if (sum > s->base + counted)
		sink__add_dropped(&s->sink, sum - s->base - counted);
}

static int on_record(struct sink *sink, const Jankbpf__Record *record)
{
	struct sink_spool *s = (struct sink_spool *)sink;
	int res = spool_writer__add(s->writer, record, sink->progress);

	count_dropped(s);
	s->wanted |= record->type_case == JANKBPF__RECORD__TYPE_INTERVAL ||
		     record->type_case == JANKBPF__RECORD__TYPE_SUMMARY;
	return res;
}

/* Closes the batch if it is due. Returns the time to wait, in ms; -1: no limit. */
static int close_due(struct sink_spool *s)
{
	const struct sink_progress *progress = s->sink.progress;
	int due_ms = spool_writer__due_ms(s->writer), res;

	/* A record that comes again may be in the open batch. */
	if (progress && progress->begun != progress->done)
		return -1;
	if (due_ms > 0 && !s->wanted)
		return due_ms;
	if (due_ms < 0)
		return -1;
	res = spool_writer__close_batch(s->writer);
	count_dropped(s);
	s->wanted = false;
	return res ? AGAIN_MS : -1;
}

static int on_wait(struct sink *sink, int fd)
{
	struct sink_spool *s = (struct sink_spool *)sink;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	count_dropped(s);
	for (;;) {
		int ms = close_due(s), cnt;

		if (!s->waits)
			return 0;
		cnt = poll(&pfd, 1, ms);
		if (cnt < 0 && errno != EINTR)
			return -errno;
		if (cnt > 0)
			return 0;
	}
}

static void on_free(struct sink *sink)
{
	struct sink_spool *s = (struct sink_spool *)sink;

	spool_writer__free(s->writer);
	free(s);
}

static const struct sink_ops ops = {
	.name = "spool",
	.record = on_record,
	.wait = on_wait,
	.free = on_free,
};

int sink_spool__new(const struct spool_opts *opts, bool waits, struct sink **ret, struct err *err)
{
	struct sink_spool *s = calloc(1, sizeof(*s));
	int res;

	if (!s)
		return err__set(err, ENOMEM, "out of memory");
	s->sink.ops = &ops;
	s->waits = waits;
	res = spool_writer__new(opts, &s->writer, err);
	if (res) {
		free(s);
		return res;
	}
	s->base = spool_writer__dropped(s->writer);
	*ret = &s->sink;
	return 0;
}
