/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why stacks lack names, and ways of runtimes to publish the symbols of their JIT code. */
#include "enrich/block_facts.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "model/stack.h"

/* Keyed by a prefix of the executable's name. */
static const struct {
	const char *exe, *remedy;
} rows[] = {
	{ "node", "start it with `--perf-basic-prof`" },
	{ "deno", "start it with `--v8-flags=--perf-basic-prof`" },
	{ "chrom", "start it with `--js-flags=--perf-basic-prof --no-sandbox`" },
	{ "electron", "start it with `--js-flags=--perf-basic-prof --no-sandbox`" },
	{ "java", "names are known of HotSpot of JDK 11 to 18, 21 and 25; start OpenJ9 with "
		  "`-Xjit:perfTool`" },
	{ "dotnet", "start it with DOTNET_PerfMapEnabled=1" },
	{ "bun", "start it with BUN_JSC_useJITDump=1 and BUN_JSC_jitDumpDirectory=/tmp" },
	{ "beam", "start Erlang with `+JPperf true`" },
	{ "mono",
	  "start it with MONO_DEBUG=disable_omit_fp and `--jitmap`, which writes names late, 4 KB "
	  "at a time (`gdb -p PID --batch -ex 'call (int)fflush(0)'` writes the rest)" },
	{ "qml", "start it with QV4_PROFILE_WRITE_PERF_MAP=1" },
	{ "luajit", "LuaJIT publishes none; its own profiler has them (`-jp=fl`)" },
	{ "", "it has to write a perf map or a jitdump" },
};

/* Interpreters whose frames nothing here reads, by the executable's name without a version. */
static const struct {
	const char *exe, *language;
} interpreters[] = {
	{ "php", "PHP" },
	{ "perl", "Perl" },
	{ "lua", "Lua" },
	{ "tclsh", "Tcl" },
};

static const char *language_of(const char *exe)
{
	const char *name = text__base_name(exe);

	for (size_t i = 0; i < sizeof(interpreters) / sizeof(*interpreters); i++) {
		size_t len = strlen(interpreters[i].exe);

		if (!strncmp(name, interpreters[i].exe, len) && !isalpha((unsigned char)name[len]))
			return interpreters[i].language;
	}
	return NULL;
}

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

/*
 * Returns NULL if no remedy is known and the blamed function has a name (such as PCRE2's caller).
 */
static const char *remedy_of(const char *exe, const struct frame *blamed)
{
	const char *name = text__base_name(exe);
	size_t i = 0;

	while (strncmp(name, rows[i].exe, strlen(rows[i].exe)))
		i++;
	return *rows[i].exe || !blamed || is_nameless(blamed) ? rows[i].remedy : NULL;
}

static bool was_reported(const struct name_hint *hint, const char *exe)
{
	for (unsigned i = 0; i < hint->reported_cnt; i++)
		if (!strcmp(hint->reported[i], exe))
			return true;
	return false;
}

/* Returns false if that file already had its hint, or the table is full. */
static bool is_new(struct name_hint *hint, const char *path)
{
	if (hint->reported_cnt == NAME_HINT_MAX || was_reported(hint, path))
		return false;
	hint->reported[hint->reported_cnt] = strdup(path);
	if (!hint->reported[hint->reported_cnt])
		return false;
	hint->reported_cnt++;
	return true;
}

/*
 * Returns the file of the blamed function if the function has no name; NULL if it has one, or no
 * file.
 */
static const char *stripped_file(const struct block *block)
{
	const struct frame *frame = block->cause.frame;

	if (!frame || frame->function || frame->language || !frame->module || *frame->module != '/')
		return NULL;
	return frame->module;
}

/*
 * The remedy of a block with nameless code. A program whose functions had names before needs none:
 * its process has ended, or it is code of no function, such as a regular expression.
 */
static const char *remedy_for(struct name_hint *hint, const struct block *block)
{
	char named[PATH_MAX + 8];

	if (!block->process->exe)
		return NULL;
	snprintf(named, sizeof(named), "named %s", block->process->exe);
	if (block__has_language(block)) {
		is_new(hint, named);
		return NULL;
	}
	return has_nameless(block) && !was_reported(hint, named)
		       ? remedy_of(block->process->exe, block->cause.frame)
		       : NULL;
}

void name_hint__look(struct name_hint *hint, const struct block *block)
{
	const char *exe = block->process->exe, *stripped = stripped_file(block);
	const char *remedy = remedy_for(hint, block), *language = exe ? language_of(exe) : NULL;

	if (remedy && is_new(hint, exe))
		log__warn("%s (process %u): code that it made has no names in stacks; %s",
			  block->process->name ?: exe, block->pid, remedy);
	if (language && is_new(hint, language))
		log__warn("%s (process %u): its %s functions have no names in stacks, which show "
			  "the interpreter's",
			  block->process->name ?: exe, block->pid, language);
	if (stripped && is_new(hint, stripped))
		log__warn("'%s': stripped, its functions have no names; install its debug symbols "
			  "(-dbgsym, -debuginfo), or set DEBUGINFOD_URLS, or run `jankbpf "
			  "symbolize --debug-dir` on the records",
			  stripped);
}

void name_hint__free(struct name_hint *hint)
{
	while (hint->reported_cnt)
		free(hint->reported[--hint->reported_cnt]);
}
