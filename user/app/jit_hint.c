/* SPDX-License-Identifier: GPL-2.0 */
/* Which program has which way to tell of its code. See jit_hint.h. */
#include "app/jit_hint.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

/* By how the executable's name begins. */
static const struct {
	const char *exe, *remedy;
} rows[] = {
	{ "node", "start it with `--perf-basic-prof`" },
	{ "deno", "start it with `--v8-flags=--perf-basic-prof`" },
	{ "chrom", "start it with `--js-flags=--perf-basic-prof --no-sandbox`" },
	{ "electron", "start it with `--js-flags=--perf-basic-prof --no-sandbox`" },
	{ "java", "run `jcmd PID Compiler.perfmap` (JDK 17 and later), again once it is warm" },
	{ "dotnet", "start it with DOTNET_PerfMapEnabled=1" },
	{ "", "it has to write a perf map or a jitdump" },
};

static bool is_nameless(const struct frame *frame)
{
	return !frame->kernel && !frame->function && frame->module &&
	       !strcmp(frame->module, "[jit]");
}

static bool has_nameless(const struct block *block)
{
	for (size_t i = 0; i < block->sample_cnt; i++) {
		const struct stack *stack = &block->samples[i].stack;

		for (size_t k = 0; k < stack->frame_cnt; k++)
			if (is_nameless(&stack->frames[k]))
				return true;
	}
	return false;
}

static const char *remedy_of(const char *exe)
{
	const char *name = text__base_name(exe);
	size_t i = 0;

	while (strncmp(name, rows[i].exe, strlen(rows[i].exe)))
		i++;
	return rows[i].remedy;
}

static bool was_told(const struct jit_hint *hint, const char *exe)
{
	for (unsigned i = 0; i < hint->told_cnt; i++)
		if (!strcmp(hint->told[i], exe))
			return true;
	return false;
}

void jit_hint__look(struct jit_hint *hint, const struct block *block)
{
	const char *exe = block->exe;

	if (!exe || hint->told_cnt == JIT_HINT_MAX || was_told(hint, exe) || !has_nameless(block))
		return;
	hint->told[hint->told_cnt] = strdup(exe);
	if (!hint->told[hint->told_cnt])
		return;
	hint->told_cnt++;
	log__warn("%s (process %u): code that it made has no names in stacks; %s",
		  block->process ?: exe, block->pid, remedy_of(exe));
}

void jit_hint__free(struct jit_hint *hint)
{
	while (hint->told_cnt)
		free(hint->told[--hint->told_cnt]);
}
