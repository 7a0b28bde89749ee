/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An interpreter's threads: the list of their states, and what they wait in. Each state has the
 * thread id in the PID namespace of the process, which in a container differs from ours.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/text.h"
#include "files/proc.h"
#include "symbol/languages/interp.h"
#include "symbol/names/symbolize_parts.h"

#define INTERPRETERS_MAX 64
#define TASKS_MAX	 4096

struct list {
	struct process_env *env;
	const struct process *process;
	const struct interp *script;
	struct interp_memory mem;
	struct interp_thread *threads;
	size_t cnt, max;
};

/* Returns the thread's id in our PID namespace; 0: the process has no such thread. */
static uint32_t number_outside(const struct list *list, uint64_t native_id)
{
	if (native_id > UINT32_MAX)
		return 0;
	if (list->process->nspid != list->process->pid)
		return ns_tid__find(list->env->proc, list->process->pid, native_id, TASKS_MAX);
	return proc__has_thread(list->env->proc, list->process->pid, native_id) ? native_id : 0;
}

/* Adds a thread; ignores an unknown thread id. Returns false when the list is full. */
static bool add(struct list *list, uint64_t number, const struct jank_script_where *where)
{
	uint32_t tid = number ? number_outside(list, number) : 0;

	if (tid)
		list->threads[list->cnt++] = (struct interp_thread){ tid, *where };
	return list->cnt < list->max;
}

static struct jank_script_where where_of(const struct list *list, uint64_t tstate,
					 uint64_t native_id)
{
	const struct interp_offsets *offsets = &list->script->offsets;
	uint32_t code_at = interp_offsets__code_at(offsets);

	return (struct jank_script_where){
		.tstate = tstate,
		.native_id = native_id,
		.tgid = list->process->pid,
		.native_at = offsets->tstate.native_id,
		.frame_at = offsets->tstate.frame,
		.cframe_at = offsets->tstate.cframe,
		.direct = offsets->tstate.direct,
		.code_word = offsets->frame.code / 8,
		.previous_word = offsets->frame.previous / 8,
		.instr_word = offsets->frame.instr / 8,
		.mark_at = offsets->frame.mark_at,
		.mark = offsets->frame.mark,
		.shim = offsets->frame.shim,
		.line_shift = (offsets->code.first_line - code_at) * 8,
		.line_word = 0,
		.name_word = (offsets->code.name - code_at) / 8,
		.code_at = code_at,
		.hash_at = offsets->unicode.hash,
	};
}

/* Adds the state at an address, if it is valid. Returns false when the list ends here. */
static bool take(struct list *list, uint64_t interp, uint64_t tstate, uint64_t *next)
{
	const struct interp_offsets *offsets = &list->script->offsets;
	struct jank_script_where where;
	uint64_t owner, native_id;

	if (interp_memory__word(&list->mem, tstate + offsets->tstate.interp, &owner) ||
	    owner != interp ||
	    interp_memory__word(&list->mem, tstate + offsets->tstate.native_id, &native_id) ||
	    interp_memory__word(&list->mem, tstate + offsets->tstate.next, next))
		return false;
	where = where_of(list, tstate, native_id);
	return add(list, native_id, &where);
}

static void take_all(struct list *list, uint64_t interp)
{
	uint64_t tstate;

	if (interp_memory__word(&list->mem, interp + list->script->offsets.threads_head, &tstate))
		return;
	for (unsigned i = 0; i < TASKS_MAX && tstate && list->cnt < list->max; i++)
		if (!take(list, interp, tstate, &tstate))
			return;
}

/* --- Ruby */

/* Offset of the frame pointer in the execution context, after the stack's address and size. */
#define CFP_AT 16

static bool take_ruby(void *ctx, const struct script_ruby_thread *thread)
{
	struct list *list = ctx;
	const struct script_ruby_offsets *offsets = list->script->ruby;
	const struct jank_script_where where = {
		.tstate = thread->address,
		.native_id = thread->native,
		.tgid = list->process->pid,
		.native_at = offsets->thread.native,
		.frame_at = offsets->thread.ec,
		.cframe_at = CFP_AT,
		.frame_sz = offsets->frame_sz,
		.root = thread->root_fiber,
	};

	return add(list, thread->tid, &where);
}

/* --- both */

size_t interp__threads(struct process_env *env, struct process *process, struct interp_thread *ret,
		       size_t max)
{
	struct list list = {
		.env = env,
		.process = process,
		.script = interp__of(env, process),
		.mem = { env->proc, process->living },
		.threads = ret,
		.max = max,
	};
	uint64_t interp;

	if (list.script && list.script->ruby && max) {
		script_ruby__each(list.script->ruby, &list.mem, list.script->runtime, take_ruby,
				  &list);
		return list.cnt;
	}
	if (!list.script ||
	    interp_memory__word(&list.mem,
				list.script->runtime + list.script->offsets.interpreters_head,
				&interp))
		return 0;
	for (unsigned i = 0; i < INTERPRETERS_MAX && interp; i++) {
		take_all(&list, interp);
		if (interp_memory__word(&list.mem, interp + list.script->offsets.interp_next,
					&interp))
			break;
	}
	return list.cnt;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	return XXH64(&word, sizeof(word), hash);
}

/* A new thread's state is added at the begin of its list. Its thread id is written when it runs. */
static uint64_t newest_of(const struct interp_memory *mem, const struct interp_offsets *offsets,
			  uint64_t interp, uint64_t hash)
{
	uint64_t tstate, native_id;

	if (interp_memory__word(mem, interp + offsets->threads_head, &tstate) ||
	    interp_memory__word(mem, tstate + offsets->tstate.native_id, &native_id))
		return hash;
	return mix(mix(hash, tstate), native_id);
}

uint64_t interp__newest(struct process_env *env, struct process *process)
{
	const struct interp *script = interp__of(env, process);
	const struct interp_memory mem = { env->proc, process->living };
	uint64_t interp, hash = 0;

	if (script && script->ruby)
		return script_ruby__newest(script->ruby, &mem, script->runtime);
	if (!script ||
	    interp_memory__word(&mem, script->runtime + script->offsets.interpreters_head, &interp))
		return 0;
	for (unsigned i = 0; i < INTERPRETERS_MAX && interp; i++) {
		hash = newest_of(&mem, &script->offsets, interp, mix(hash, interp));
		if (interp_memory__word(&mem, interp + script->offsets.interp_next, &interp))
			break;
	}
	return hash;
}

/*
 * --- Waits. Python's threading and queue modules wait for their callers, in Python. Their
 * innermost frames count like those of the C library. Otherwise a lock that is taken beside
 * queue.get() would seem further out than it.
 */

/* Returns 1 when the frame belongs to these modules, 0 when not, -1 when unknown. */
static int waits_for_caller(struct interp *script, const struct interp_memory *mem,
			    const struct jank_script_frame *frame)
{
	const struct interp_code *code = interp_code__get(script, mem, frame->code);
	const char *name;

	if (!code || !code->known || code->check != frame->check)
		return -1;
	name = text__base_name(code->file);
	return !code->app && (!strcmp(name, "threading.py") || !strcmp(name, "queue.py"));
}

static bool python_wait(struct interp *script, const struct interp_memory *mem,
			const struct jank_script_frame *frames, uint32_t cnt,
			struct script_wait *ret)
{
	bool is_inside = true;

	*ret = (struct script_wait){};
	for (uint32_t i = 0; i < cnt; i++) {
		int waits;

		if (!frames[i].code) /* an entry from C */
			continue;
		waits = is_inside ? waits_for_caller(script, mem, &frames[i]) : 0;
		if (waits < 0)
			return false;
		ret->for_caller |= waits;
		is_inside = waits;
		ret->depth += !waits;
	}
	return true;
}

/*
 * Number of outer Ruby frames to search: a method that calls a block may lie between the block and
 * the method that contains it.
 */
#define PARENTS 2

static bool stands_in(const struct jank_script_frame *frames, uint32_t cnt, uint64_t parent)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < cnt && seen < PARENTS; i++) {
		if (frames[i].code == parent)
			return true;
		seen += frames[i].code != 0;
	}
	return false;
}

/*
 * Ruby's blocks belong to the method that contains them, and functions in C to their callers. So
 * mutex.synchronize { condition.wait(mutex) } in a thread's loop is as far out as queue.pop. It is
 * further out than any method that the loop calls.
 */
static bool ruby_wait(const struct interp *script, const struct interp_memory *mem,
		      const struct jank_script_frame *frames, uint32_t cnt, struct script_wait *ret)
{
	*ret = (struct script_wait){
		.is_ruby = true,
		.lock_begin = script->lock_begin,
		.lock_end = script->lock_end,
	};
	for (uint32_t i = 0; i < cnt; i++) {
		struct script_ruby_code code;

		if (!frames[i].code)
			continue;
		if (script_ruby__code(script->ruby, mem, frames[i].code, &code))
			return false;
		ret->depth += !code.is_internal &&
			      !(code.parent && stands_in(frames + i + 1, cnt - i - 1, code.parent));
	}
	return true;
}

bool interp__wait(struct process_env *env, struct process *process,
		  const struct jank_script_frame *frames, uint32_t cnt, struct script_wait *ret)
{
	const struct interp_memory mem = { env->proc, process->living };
	struct interp *script = interp__of(env, process);

	if (!script)
		return false;
	return script->ruby ? ruby_wait(script, &mem, frames, cnt, ret)
			    : python_wait(script, &mem, frames, cnt, ret);
}

/* --- the same by pid */

uint64_t symbolizer__script_newest(struct symbolizer *sym, uint32_t pid)
{
	struct process *process = symbolizer__find(sym, pid);

	if (sym->remote)
		return sym->remote->script_newest(sym->remote_ctx, pid);
	return process ? interp__newest(&sym->env, process) : 0;
}

size_t symbolizer__script_threads(struct symbolizer *sym, uint32_t pid, struct interp_thread *ret,
				  size_t max)
{
	struct process *process;

	if (sym->remote)
		return sym->remote->script_threads(sym->remote_ctx, pid, ret, max);
	process = symbolizer__known(sym, pid);
	return process ? interp__threads(&sym->env, process, ret, max) : 0;
}

bool symbolizer__script_wait(struct symbolizer *sym, uint32_t pid,
			     const struct jank_script_frame *frames, uint32_t cnt,
			     struct script_wait *ret)
{
	struct process *process;

	if (sym->remote)
		return sym->remote->script_wait(sym->remote_ctx, pid, frames, cnt, ret);
	process = symbolizer__known(sym, pid);
	return process && interp__wait(&sym->env, process, frames, cnt, ret);
}
