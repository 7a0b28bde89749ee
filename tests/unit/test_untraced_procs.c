/* SPDX-License-Identifier: GPL-2.0 */
/* Processes that are not traced are named while they are there, and forgotten in time. */
#include "enrich/untraced_procs.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/child.h"

static struct symbolizer *symbolizer;
static struct untraced_procs *procs;

/* A child has this program's code at the same place. */
static void __attribute__((noinline)) landmark(void)
{
	__asm__ volatile("");
}

/* Whether the function's name is found for a stack that pid had at t_ns; its address always is. */
static bool is_named(uint32_t pid, uint64_t t_ns)
{
	uint64_t address = (uint64_t)(uintptr_t)landmark;
	struct stack stack = { .addresses = &address, .user_cnt = 1 };
	bool named;

	is_int(untraced_procs__name(procs, pid, t_ns, &stack), 0, "a stack is named");
	ok(stack.frame_cnt == 1 && stack.frames[0].address == address, "  or bare");
	named = stack.frames[0].function && strstr(stack.frames[0].function, "landmark");
	free(stack.frames);
	return named;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_life(void)
{
	uint64_t before_ns = clock__mono_ns() - NS_PER_SEC;
	pid_t pid = child__start(NULL, NULL);

	ok(is_named(pid, clock__mono_ns()), "a living process's function has its name");
	ok(symbolizer__knows(symbolizer, pid), "the process is known then");
	ok(!is_named(pid, before_ns), "not before it began: the number was another's");
	end(pid);
	ok(!is_named(pid, clock__mono_ns()), "nor when it has ended");
	ok(!symbolizer__knows(symbolizer, pid), "and what was known is forgotten");
	ok(!is_named(0, clock__mono_ns()), "nobody has no names");
}

static void test_age(void)
{
	pid_t pid = child__start(NULL, NULL);

	is_named(pid, clock__mono_ns());
	untraced_procs__sweep(procs, clock__mono_ns());
	ok(symbolizer__knows(symbolizer, pid), "one that was just asked for stays");
	untraced_procs__sweep(procs, clock__mono_ns() + UNTRACED_AGE_NS);
	ok(!symbolizer__knows(symbolizer, pid), "after a while it is forgotten");
	ok(is_named(pid, clock__mono_ns()), "and found again");
	end(pid);
}

static void test_bound(void)
{
	pid_t pids[UNTRACED_MAX + 1];

	for (size_t i = 0; i <= UNTRACED_MAX; i++) {
		pids[i] = child__start(NULL, NULL);
		is_named(pids[i], clock__mono_ns());
	}
	ok(!symbolizer__knows(symbolizer, pids[0]), "of too many the one longest unused goes");
	for (size_t i = 1; i <= UNTRACED_MAX; i++)
		ok(symbolizer__knows(symbolizer, pids[i]), "another one stays");
	for (size_t i = 0; i <= UNTRACED_MAX; i++)
		end(pids[i]);
}

/* Whose end is told by others. */
static void test_traced(void)
{
	pid_t pid = child__start(NULL, NULL);

	is_int(symbolizer__process(symbolizer, pid, NULL), 0, "a process is traced");
	ok(is_named(pid, clock__mono_ns()), "it has its names");
	untraced_procs__sweep(procs, UINT64_MAX);
	ok(symbolizer__knows(symbolizer, pid), "and is not ours to forget");
	end(pid);
	ok(is_named(pid, clock__mono_ns()), "nor is it when it has ended");
}

int main(void)
{
	const struct symbolizer_opts opts = { .kallsyms = "" };

	if (symbolizer__new(&opts, &symbolizer, NULL))
		abort();
	procs = untraced_procs__new(symbolizer);
	landmark();
	test_life();
	test_age();
	test_bound();
	test_traced();
	untraced_procs__free(procs);
	symbolizer__free(symbolizer);
	return tap__done();
}
