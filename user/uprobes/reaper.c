/* SPDX-License-Identifier: GPL-2.0 */
#include "uprobes/reaper.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"

struct reaper {
	pthread_t thread;
	bool started;
	atomic_bool done;
	struct held_link *links;
	size_t cnt;
};

struct reaper *reaper__new(void)
{
	return calloc(1, sizeof(struct reaper));
}

static void join(struct reaper *reaper)
{
	if (reaper->started)
		pthread_join(reaper->thread, NULL);
	free(reaper->links);
	reaper->links = NULL;
	reaper->cnt = 0;
	reaper->started = false;
	atomic_store(&reaper->done, false);
}

void reaper__free(struct reaper *reaper)
{
	if (!reaper)
		return;
	join(reaper);
	free(reaper);
}

bool reaper__is_busy(const struct reaper *reaper)
{
	return reaper->started && !atomic_load(&reaper->done);
}

/* Perf events are detached one at a time whatever we do; who attaches one meanwhile waits in the same queue. */
static void *reap(void *arg)
{
	struct reaper *reaper = arg;
	size_t step = reaper->links->link ? 1 : reaper->cnt;

	for (size_t i = 0; i < reaper->cnt; i += step)
		links__destroy_held(reaper->links + i, step);
	atomic_store(&reaper->done, true);
	return NULL;
}

void reaper__take(struct reaper *reaper, struct held_link *links, size_t cnt)
{
	join(reaper);
	if (!cnt) {
		free(links);
		return;
	}
	reaper->links = links;
	reaper->cnt = cnt;
	reaper->started = !thread__start(&reaper->thread, "jankbpf-reaper", reap, reaper);
	if (!reaper->started)
		reap(reaper);
}
