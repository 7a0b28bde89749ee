/* SPDX-License-Identifier: GPL-2.0 */
/* All threads of a process are told at once, and again when one turns up that the probes don't know. */
#include "app/scripts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

struct scripts {
	struct script_maps *maps;
	struct symbolizer *sym;
	bool full; /* said once */
	struct script_thread threads[JANK_SCRIPT_THREAD_MAX];
};

struct scripts *scripts__new(struct script_maps *maps, struct symbolizer *sym)
{
	struct scripts *scripts = calloc(1, sizeof(*scripts));

	if (!scripts)
		return NULL;
	scripts->maps = maps;
	scripts->sym = sym;
	return scripts;
}

void scripts__free(struct scripts *scripts)
{
	free(scripts);
}

static int tell(struct scripts *scripts, const struct script_thread *thread)
{
	int res = script_maps__set(scripts->maps, thread->tid, &thread->where);

	if (res == -E2BIG && !scripts->full) {
		scripts->full = true;
		log__warn(
			"more than %d threads run Python: of some the stacks have no Python frames",
			JANK_SCRIPT_THREAD_MAX);
	}
	return res;
}

int scripts__consider(struct scripts *scripts, uint32_t pid, uint32_t tid)
{
	size_t cnt;
	int res = 0;

	if (scripts->maps->threads_fd < 0 || script_maps__has(scripts->maps, pid, tid))
		return 0;
	cnt = symbolizer__script_threads(scripts->sym, pid, scripts->threads,
					 JANK_SCRIPT_THREAD_MAX);
	for (size_t i = 0; i < cnt; i++)
		if (!script_maps__has(scripts->maps, pid, scripts->threads[i].tid))
			res = tell(scripts, &scripts->threads[i]) ?: res;
	if (cnt)
		log__debug("process %u: %zu threads have Python frames", pid, cnt);
	return res;
}
