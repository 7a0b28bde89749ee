/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All threads of a process are entered at once, and again when there is a new one. The processes
 * are checked each second: a thread that another one waits for sends no earlier record.
 */
#include "enrich/interp_threads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#define LOOK_NS	   NS_PER_SEC
#define LOOK_SHARE 500 /* at most one part in this many of our CPU time */

/* A process that ran an interpreter when it was last examined. */
struct program {
	uint32_t pid;
	uint64_t newest; /* symbolizer__script_newest when its threads were entered */
	UT_hash_handle hh;
};

struct interp_threads {
	struct interp_bpf_fds *maps;
	struct symbolizer *sym;
	struct program *programs;
	uint64_t due_ns;
	bool full; /* the warning was logged */
	struct interp_thread threads[JANK_SCRIPT_THREAD_MAX];
};

struct interp_threads *interp_threads__new(struct interp_bpf_fds *maps, struct symbolizer *sym)
{
	struct interp_threads *scripts = calloc(1, sizeof(*scripts));

	if (!scripts)
		return NULL;
	scripts->maps = maps;
	scripts->sym = sym;
	return scripts;
}

static void drop(struct interp_threads *scripts, struct program *program)
{
	HASH_DEL(scripts->programs, program);
	free(program);
}

void interp_threads__free(struct interp_threads *scripts)
{
	if (!scripts)
		return;
	while (scripts->programs)
		drop(scripts, scripts->programs);
	free(scripts);
}

static struct program *find(struct interp_threads *scripts, uint32_t pid)
{
	struct program *program;

	HASH_FIND(hh, scripts->programs, &pid, sizeof(pid), program);
	return program;
}

void interp_threads__on_exit(struct interp_threads *scripts, uint32_t pid)
{
	struct program *program = find(scripts, pid);

	if (program)
		drop(scripts, program);
}

static int tell(struct interp_threads *scripts, const struct interp_thread *thread)
{
	int res = interp_bpf_fds__set(scripts->maps, thread->tid, &thread->where);

	if (res == -E2BIG && !scripts->full) {
		scripts->full = true;
		log__warn("more than %d threads run Python or Ruby: some have no frames",
			  JANK_SCRIPT_THREAD_MAX);
	}
	return res;
}

static int tell_all(struct interp_threads *scripts, uint32_t pid)
{
	size_t cnt = symbolizer__script_threads(scripts->sym, pid, scripts->threads,
						JANK_SCRIPT_THREAD_MAX);
	int res = 0;

	for (size_t i = 0; i < cnt; i++)
		if (!interp_bpf_fds__has(scripts->maps, pid, scripts->threads[i].tid,
					 &scripts->threads[i].where))
			res = tell(scripts, &scripts->threads[i]) ?: res;
	if (cnt)
		log__debug("process %u: %zu threads have an interpreter's frames", pid, cnt);
	return res;
}

static int add(struct interp_threads *scripts, uint32_t pid, uint64_t newest)
{
	struct program *program = calloc(1, sizeof(*program));

	if (!program)
		return -ENOMEM;
	*program = (struct program){ .pid = pid, .newest = newest };
	if (!scripts->programs)
		scripts->due_ns = clock__mono_ns() + LOOK_NS;
	HASH_ADD(hh, scripts->programs, pid, sizeof(pid), program);
	return program ? 0 : -ENOMEM;
}

/*
 * Enters threads that are new since the last call. Reads `newest` before the threads, so that
 * threads that start later are entered by the next call.
 */
static int refresh(struct interp_threads *scripts, struct program *program)
{
	uint64_t newest = symbolizer__script_newest(scripts->sym, program->pid);

	if (!newest || newest == program->newest)
		return 0;
	program->newest = newest;
	return tell_all(scripts, program->pid);
}

int interp_threads__update(struct interp_threads *scripts, uint32_t pid, uint32_t tid)
{
	struct program *program;
	uint64_t newest;
	int res;

	if (scripts->maps->threads_fd < 0)
		return 0;
	program = find(scripts, pid);
	if (program && interp_bpf_fds__has(scripts->maps, pid, tid, NULL))
		return 0;
	if (program)
		return refresh(scripts, program);
	if (!symbolizer__knows(scripts->sym, pid))
		symbolizer__process(scripts->sym, pid, NULL);
	newest = symbolizer__script_newest(scripts->sym, pid);
	if (!newest)
		return 0;
	res = add(scripts, pid, newest);
	return res ?: tell_all(scripts, pid);
}

bool interp_threads__reads(struct interp_threads *scripts, uint32_t pid)
{
	return find(scripts, pid);
}

uint64_t interp_threads__due_ns(const struct interp_threads *scripts)
{
	return scripts->programs ? scripts->due_ns : 0;
}

int interp_threads__look(struct interp_threads *scripts)
{
	uint64_t begin_ns = clock__thread_ns();
	struct program *program, *next;
	int res = 0;

	HASH_ITER (hh, scripts->programs, program, next) {
		if (symbolizer__knows(scripts->sym, program->pid))
			res = refresh(scripts, program) ?: res;
		else
			drop(scripts, program);
	}
	scripts->due_ns = clock__mono_ns() + LOOK_NS + (clock__thread_ns() - begin_ns) * LOOK_SHARE;
	return res;
}
