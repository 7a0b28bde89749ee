/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap language of a process: found by its file, asked for threads, waits and names. Threads
 * have their ids in the PID namespace of the process, which in a container differs from ours.
 */
#include "symbol/languages/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/proc.h"
#include "files/unread.h"
#include "symbol/names/symbolize_parts.h"

#define TASKS_MAX 4096

int heap_memory__read(const struct heap_memory *mem, uint64_t addr, void *buf, size_t len)
{
	return memory__read_across(mem->proc, mem->pid, addr, buf, len);
}

int heap_memory__word(const struct heap_memory *mem, uint64_t addr, uint64_t *ret)
{
	return heap_memory__read(mem, addr, ret, sizeof(*ret));
}

static struct heap_memory memory_of(const struct process_env *env, const struct process *process)
{
	return (struct heap_memory){ env->proc, process->living };
}

void heap_process__free(struct heap_process *heap)
{
	if (!heap)
		return;
	heap->language->end(heap->state);
	free(heap);
}

size_t heap_process__bytes(const struct heap_process *heap)
{
	return heap ? sizeof(*heap) + heap->language->bytes(heap->state) : 0;
}

/* *known false: the process may have the language later. */
static struct heap_process *start(struct process_env *env, struct process *process,
				  const struct language_file *file, const struct region *region,
				  uint64_t bias, bool *known)
{
	const struct language *language = file->language;
	struct heap_memory mem = memory_of(env, process);
	struct heap_process *ret;
	void *state;
	int res = language->heap->start(file->content, bias, &mem, &state);

	*known = res != -ENODATA;
	if (res)
		return NULL;
	if (language->heap->nameless && language->heap->nameless(file->content))
		unread__add(UNREAD_STRIPPED, region->mapped->path);
	ret = malloc(sizeof(*ret));
	if (ret)
		*ret = (struct heap_process){ language, file, bias, state };
	else
		language->end(state);
	return ret;
}

/* NULL: none. Searches once after each reading of the process's maps. */
static struct heap_process *heap_of(struct process_env *env, struct process *process)
{
	const struct region *region;
	const struct language_file *file;
	uint64_t bias = 0;

	if (process->heap_known)
		return process->heap;
	process->heap_known = true;
	file = language__find(env, process, true, &region);
	if (file && language__bias(env, process, region, &bias))
		file = NULL;
	if (file && process->heap && process->heap->file == file && process->heap->bias == bias)
		return process->heap;
	heap_process__free(process->heap);
	process->heap = file ? start(env, process, file, region, bias, &process->heap_known) : NULL;
	return process->heap;
}

/* --- threads */

struct list {
	struct process_env *env;
	const struct process *process;
	struct interp_thread *threads;
	size_t cnt, max;
};

/* Returns the thread's id in our PID namespace; 0: the process has no such thread. */
static uint32_t number_outside(const struct list *list, uint64_t number)
{
	if (!number || number > UINT32_MAX)
		return 0;
	if (list->process->nspid != list->process->pid)
		return ns_tid__find(list->env->proc, list->process->pid, number, TASKS_MAX);
	return proc__has_thread(list->env->proc, list->process->pid, number) ? number : 0;
}

/* Adds a thread; ignores an unknown thread id. */
static bool add(void *ctx, uint64_t number, const struct jank_script_where *where)
{
	struct list *list = ctx;
	struct interp_thread *thread = &list->threads[list->cnt];
	uint32_t tid = number_outside(list, number);

	if (tid) {
		*thread = (struct interp_thread){ tid, *where };
		thread->where.tgid = list->process->pid;
		list->cnt++;
	}
	return list->cnt < list->max;
}

size_t heap__threads(struct process_env *env, struct process *process, struct interp_thread *ret,
		     size_t max)
{
	struct list list = { .env = env, .process = process, .threads = ret, .max = max };
	const struct heap_process *heap = heap_of(env, process);
	struct heap_memory mem = memory_of(env, process);

	if (heap && max)
		heap->language->heap->threads(heap->state, &mem, add, &list);
	return list.cnt;
}

uint64_t heap__newest(struct process_env *env, struct process *process)
{
	const struct heap_process *heap = heap_of(env, process);
	struct heap_memory mem = memory_of(env, process);

	return heap ? heap->language->heap->newest(heap->state, &mem) : 0;
}

bool heap__wait(struct process_env *env, struct process *process,
		const struct jank_script_frame *frames, uint32_t cnt, struct script_wait *ret)
{
	const struct heap_process *heap = heap_of(env, process);
	struct heap_memory mem = memory_of(env, process);

	return heap && heap->language->heap->wait(heap->state, &mem, frames, cnt, ret);
}

/* --- names */

static void name(const struct heap_process *heap, const struct heap_memory *mem, struct pool *pool,
		 const struct jank_script_frame *from, struct frame *ret)
{
	*ret = (struct frame){ .address = from->instr, .module = "[interpreter]" };
	if (heap && heap->language->heap->name)
		heap->language->heap->name(heap->state, mem, pool, from, ret);
}

int script__add_frames(struct process_env *env, struct process *process, struct pool *pool,
		       struct stack *stack)
{
	const struct heap_process *heap = NULL;
	struct heap_memory mem = {};
	struct frame *frames;

	if (!stack->script_cnt)
		return 0;
	frames = reallocarray(stack->frames, stack->frame_cnt + stack->script_cnt, sizeof(*frames));
	if (!frames) {
		stack->script_cnt = 0; /* so that no other frame is taken for a script frame */
		return -ENOMEM;
	}
	stack->frames = frames;
	frames += stack->frame_cnt;
	stack->frame_cnt += stack->script_cnt;
	memset(frames, 0, stack->script_cnt * sizeof(*frames));
	if (process && !(stack->script[0].flags & JANK_SCRIPT_NATIVE)) {
		heap = heap_of(env, process);
		mem = memory_of(env, process);
	}
	for (size_t i = 0; i < stack->script_cnt; i++) {
		const struct jank_script_frame *from = &stack->script[i];

		if (from->flags & JANK_SCRIPT_NATIVE)
			language__name(env, process, pool, from, &frames[i]);
		else if (from->code)
			name(heap, &mem, pool, from, &frames[i]);
	}
	return 0;
}

/* --- the same by pid */

uint64_t symbolizer__script_newest(struct symbolizer *sym, uint32_t pid)
{
	struct process *process = symbolizer__find(sym, pid);

	if (sym->remote)
		return sym->remote->script_newest(sym->remote_ctx, pid);
	return process ? heap__newest(&sym->env, process) : 0;
}

size_t symbolizer__script_threads(struct symbolizer *sym, uint32_t pid, struct interp_thread *ret,
				  size_t max)
{
	struct process *process;

	if (sym->remote)
		return sym->remote->script_threads(sym->remote_ctx, pid, ret, max);
	process = symbolizer__known(sym, pid);
	return process ? heap__threads(&sym->env, process, ret, max) : 0;
}

bool symbolizer__script_wait(struct symbolizer *sym, uint32_t pid,
			     const struct jank_script_frame *frames, uint32_t cnt,
			     struct script_wait *ret)
{
	struct process *process;

	if (sym->remote)
		return sym->remote->script_wait(sym->remote_ctx, pid, frames, cnt, ret);
	process = symbolizer__known(sym, pid);
	return process && heap__wait(&sym->env, process, frames, cnt, ret);
}
