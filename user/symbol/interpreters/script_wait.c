/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Python's threading and queue wait on behalf of their callers, in Python: their innermost frames count as those of the C library do,
 * or a lock that is taken beside queue.get() would seem further out than that.
 */
#include <string.h>

#include "base/text.h"
#include "symbol/interpreters/script.h"

/* 1: it is; 0: it is another one's; -1: that is not known. */
static int waits_for_caller(struct script *script, const struct script_memory *mem,
			    const struct jank_script_frame *frame)
{
	const struct script_code *code = script_code__get(script, mem, frame->code);
	const char *name;

	if (!code || !code->known || code->check != frame->check)
		return -1;
	name = text__base_name(code->file);
	return !code->app && (!strcmp(name, "threading.py") || !strcmp(name, "queue.py"));
}

static bool python_wait(struct script *script, const struct script_memory *mem,
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

/* The next two further out that are Ruby's: a method that calls a block may lie between it and what it stands in. */
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
 * Ruby's blocks belong to the method that they stand in, and functions in C to their callers: mutex.synchronize { condition.wait(mutex) }
 * in a thread's loop is as far out as queue.pop is, and further out than any method that the loop calls.
 */
static bool ruby_wait(const struct script *script, const struct script_memory *mem,
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

bool script__wait(struct process_env *env, struct process *process,
		  const struct jank_script_frame *frames, uint32_t cnt, struct script_wait *ret)
{
	const struct script_memory mem = { env->proc, process->living };
	struct script *script = script__of(env, process);

	if (!script)
		return false;
	return script->ruby ? ruby_wait(script, &mem, frames, cnt, ret)
			    : python_wait(script, &mem, frames, cnt, ret);
}
