/* SPDX-License-Identifier: GPL-2.0 */
/* One loop over the queue. */
#include "app/sinker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "app/recorder.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/identity.h"

struct sinker {
	struct sinker_opts opts;
	pthread_t thread;
	bool closed; /* stdout has no reader any more */
	bool ending; /* the queue has its end */
};

static void note(struct sinker *sinker, int res)
{
	if (res != -EPIPE || sinker->closed)
		return;
	sinker->closed = true;
	eventfd_write(sinker->opts.closed_fd, 1);
}

static void on_block(struct sinker *sinker, struct item *item)
{
	note(sinker, output__block(sinker->opts.output, item->data));
	block__free(item->data);
	symbolizer__trim(sinker->opts.symbolizer);
}

static void on_summary(struct sinker *sinker, struct item *item)
{
	if (sinker->opts.journal && journal__add_end(sinker->opts.journal, item->data))
		losses__add(sinker->opts.losses, LOSS_JOURNAL, 1);
	note(sinker, output__summary(sinker->opts.output, item->data));
	summary__free(item->data);
	free(item->data);
}

static void on_raw(struct sinker *sinker, struct item *item)
{
	if (journal_writer__raw(sinker->opts.journal, item->data, item->size))
		losses__add(sinker->opts.losses, LOSS_JOURNAL, 1);
	free(item->data);
}

static void on_process(struct sinker *sinker, struct item *item)
{
	struct err err = {};
	int res = symbolizer__process(sinker->opts.symbolizer, item->pid, &err);

	if (res && res != -ESRCH)
		log__verbose("process %u: names may be missing: %s", item->pid, err.msg);
	if (sinker->opts.journal && journal__add_process(sinker->opts.journal, item->data))
		losses__add(sinker->opts.losses, LOSS_JOURNAL, 1);
	identity__free(item->data);
}

static void *run(void *arg)
{
	struct sinker *sinker = arg;
	struct item item;

	for (;;) {
		queue__get(sinker->opts.queue, &item);
		switch (item.kind) {
		case ITEM_BLOCK:
			on_block(sinker, &item);
			break;
		case ITEM_SUMMARY:
			on_summary(sinker, &item);
			break;
		case ITEM_RAW:
			on_raw(sinker, &item);
			break;
		case ITEM_PROCESS:
			on_process(sinker, &item);
			break;
		case ITEM_PROCESS_GONE:
			symbolizer__process_gone(sinker->opts.symbolizer, item.pid);
			break;
		case ITEM_STOP:
			return NULL;
		}
	}
}

int sinker__start(const struct sinker_opts *opts, struct sinker **ret, struct err *err)
{
	struct sinker *sinker = calloc(1, sizeof(*sinker));
	int res;

	if (!sinker)
		return err__set(err, ENOMEM, "out of memory");
	sinker->opts = *opts;
	res = pthread_create(&sinker->thread, NULL, run, sinker);
	if (res) {
		free(sinker);
		return err__set(err, res, "cannot start a thread: %s", strerror(res));
	}
	*ret = sinker;
	return 0;
}

static bool join(struct sinker *sinker, uint64_t patience_ns)
{
	uint64_t until = clock__real_ns() + patience_ns;
	const struct timespec at = { .tv_sec = until / NS_PER_SEC, .tv_nsec = until % NS_PER_SEC };

	if (patience_ns)
		return !pthread_timedjoin_np(sinker->thread, NULL, &at);
	return !pthread_join(sinker->thread, NULL);
}

bool sinker__finish(struct sinker *sinker, uint64_t patience_ns)
{
	const struct item stop = { .kind = ITEM_STOP };

	if (!sinker)
		return true;
	if (!sinker->ending)
		queue__put(sinker->opts.queue, &stop);
	sinker->ending = true;
	if (!join(sinker, patience_ns))
		return false;
	free(sinker);
	return true;
}
