/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signature contains only names: no address, line, pid or thread id. A thread that is busy or
 * kept off the CPU is interrupted at random places. There it uses the function that was on the
 * stack for half of the time; which function below it has the most samples is chance.
 */
#include "verdict/analysis.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/text.h"
#include "model/chain/wait_reason.h"
#include "model/stack.h"

/*
 * Any program chooses its names: every scan is linear, and a name of unknown form stays as it is.
 */

#define RUST_HASH_LEN 19 /* "::h" and 16 digits */

/*
 * Cuts ".cold", ".constprop.0" and similar at the end. Other dots are part of the name, for example
 * in Go.
 */
static size_t cut_suffix(const char *function, size_t len)
{
	static const char *const words[] = { "constprop", "isra",     "part",	    "cold",
					     "clone",	  "lto_priv", "localalias", "llvm" };
	size_t end = len, begin;

	while (end && function[end - 1] >= '0' && function[end - 1] <= '9')
		end--;
	end = end < len && end && function[end - 1] == '.' ? end - 1 : len;
	for (begin = end; begin && function[begin - 1] != '.';)
		begin--;
	for (size_t i = 0; begin > 1 && i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == end - begin &&
		    !memcmp(words[i], function + begin, end - begin))
			return begin - 1;
	return len;
}

static size_t cut_rust_hash(const char *function, size_t len)
{
	const char *hash = function + len - RUST_HASH_LEN;

	if (len <= RUST_HASH_LEN || memcmp(hash, "::h", 3))
		return len;
	for (size_t i = 3; i < RUST_HASH_LEN; i++)
		if (!isxdigit((unsigned char)hash[i]) || isupper((unsigned char)hash[i]))
			return len;
	return len - RUST_HASH_LEN;
}

/* Compilers add suffixes that differ between builds; demanglers show them as "[clone .isra.0]". */
static size_t stable_len(const char *function)
{
	const char *clone = strstr(function, " [clone ");
	size_t len = clone && clone > function ? (size_t)(clone - function) : strlen(function);

	for (size_t cut; (cut = cut_suffix(function, len)) < len;)
		len = cut;
	return cut_rust_hash(function, len);
}

/* Skips V8's kind and tier in "JS:*f /x/y.js:1:2". */
static const char *skip_tier(const char *function)
{
	static const char *const kinds[] = { "LazyCompile:", "Function:", "Script:", "Eval:",
					     "JS:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i]);

		if (!strncmp(function, kinds[i], len) && function[len])
			return function + len + strspn(function + len, "~*^+");
	}
	return function;
}

/*
 * The start of a script's path in a JIT symbol ("f /x/y.js:1:2", "py::f:/x/y.py", "f
 * file:///x/y.js:1"), or NULL.
 */
static const char *path_of(const char *name)
{
	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/'))
		if (slash > name && (slash[-1] == ' ' || slash[-1] == ':'))
			return slash;
	return NULL;
}

/* Length without ":line:column" at the end. */
static size_t cut_line(const char *file)
{
	size_t len = strlen(file), end;

	for (end = len; end && isdigit((unsigned char)file[end - 1]);)
		end--;
	if (end == len || !end || file[end - 1] != ':')
		return len;
	len = --end;
	while (end && isdigit((unsigned char)file[end - 1]))
		end--;
	return end < len && end && file[end - 1] == ':' ? end - 1 : len;
}

void stable_name__add_function(struct strbuf *sb, const char *function)
{
	const char *name = skip_tier(function), *path = path_of(name);

	if (path) {
		const char *file = text__base_name(path);

		strbuf__add(sb, name, path - name);
		strbuf__add(sb, file, cut_line(file));
		return;
	}
	strbuf__add(sb, name, stable_len(name));
}

void stable_name__add_module(struct strbuf *sb, const char *module)
{
	const char *name = text__base_name(module), *so = strstr(name, ".so");
	const char *deleted = strstr(name, " (deleted)");
	size_t len = deleted ? (size_t)(deleted - name) : strlen(name);

	if (so && (so[3] == '\0' || so[3] == '.' || so[3] == ' '))
		len = so - name;
	else
		so = NULL;
	/* "libc-2.31.so" */
	for (size_t i = 1; so && i + 1 < len; i++)
		if (name[i] == '-' && isdigit((unsigned char)name[i + 1]))
			len = i;
	strbuf__add(sb, name, len);
}

void stable_name__add_thread(struct strbuf *sb, const char *comm)
{
	for (; comm && *comm; comm++)
		if (!isdigit((unsigned char)*comm))
			strbuf__addc(sb, *comm);
}

static void add_frame(struct strbuf *text, const struct frame *frame)
{
	stable_name__add_function(text, frame->function);
	strbuf__addc(text, '\n');
	stable_name__add_module(text, frame->module);
}

static const struct frame *frame_of(const struct analysis *analysis)
{
	const struct cause *cause = &analysis->block->cause;
	uint32_t state = part__state(&cause->parts[0]);
	const struct frame *ret = NULL;

	if (state < JANK_STATE_FIRST_BLOCKED)
		ret = culprit__common(analysis, 0, NULL);
	return ret ? ret : cause->frame;
}

/* Adds only the type of the wait object: "tcp", "unix", "pipe". */
static void add_sort(struct strbuf *text, const struct sample *sample)
{
	const struct wait_object *waited = sample ? sample->waited : NULL;
	const char *name = waited ? waited->peer : NULL;

	if (waited && !name)
		name = waited->target;
	if (!name)
		return;
	strbuf__addc(text, '\n');
	strbuf__add(text, name, strcspn(name, " :"));
}

/*
 * For a function without a name: its module, which stays the same if a new build moves the
 * function; the process and the system call.
 */
static void add_place(struct strbuf *text, const struct analysis *analysis)
{
	const struct frame *frame = frame_of(analysis);
	const char *syscall;

	if (frame && frame->function) {
		add_frame(text, frame);
		return;
	}
	if (frame && frame->module) {
		stable_name__add_module(text, frame->module);
		strbuf__addc(text, '\n');
	}
	syscall = culprit__syscall(analysis, 0);
	strbuf__addf(text, "%s\n%s", analysis->block->process ? analysis->block->process : "",
		     syscall ? syscall : "");
	add_sort(text, analysis__main_sample(analysis, 0));
}

/* Running and runnable are one word: whether a thread gets the CPU is chance, too. */
static const char *state_word(uint32_t state)
{
	if (state == JANK_STATE_RUNNING || state == JANK_STATE_RUNNABLE)
		return "cpu";
	return state < JANK_STATE_CNT ? state__name(state) : "";
}

/*
 * True if the thread's name identifies it in every run. Its function is not always known, for
 * example if it began to wait before tracing started.
 */
static bool has_own_name(const struct block *block, const struct other_task *task)
{
	return task->pid != block->pid || !block->process ||
	       strncmp(task->comm, block->process, JANK_COMM_SZ - 1);
}

/* Adds the last link of the chain and its activity. */
static void add_end(struct strbuf *text, const struct block *block, const struct link *end)
{
	struct activity activity = activity__of_link(block, end - block->chain);
	const char *reason = wait_reason__of(&activity);
	const struct frame *frame = stack__app_frame(&end->stack);

	if (!frame || !frame->function)
		frame = stack__app_frame(&end->wake_stack);
	if (has_own_name(block, &end->task))
		frame = NULL;
	strbuf__addf(text, "\n%s\n%s\n%s\n", end->role == LINK_HELD ? "held" : "woke",
		     state_word(end->state), reason ? reason : "");
	if (frame && frame->function)
		add_frame(text, frame);
	else
		stable_name__add_thread(text, end->task.comm);
}

void signature__make(struct analysis *analysis)
{
	struct cause *cause = &analysis->block->cause;
	const struct link *end = analysis__chain_end(analysis, 0);
	struct strbuf text = STRBUF_INIT;

	strbuf__addf(&text, "%s\n%s\n", cause->kind, cause->what ? cause->what : "");
	add_place(&text, analysis);
	if (end)
		add_end(&text, analysis->block, end);
	snprintf(cause->signature, sizeof(cause->signature), "%016llx",
		 (unsigned long long)XXH64(strbuf__str(&text), text.len, 0));
	strbuf__free(&text);
}
