/* SPDX-License-Identifier: GPL-2.0 */
/* Processes that are not traced get names while they live, and are dropped in time. */
#include "enrich/stack_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/unit/child.h"

static struct symbolizer *symbolizer;
static struct untraced_procs *procs;

/* A child has this program's code at the same address. */
static void __attribute__((noinline)) landmark(void)
{
	__asm__ volatile("");
}

/* Is the function's name found for a stack of pid at t_ns? Its address always is. */
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
	ok(!is_named(pid, before_ns), "not before its start: the pid was another's");
	end(pid);
	ok(!is_named(pid, clock__mono_ns()), "nor after its end");
	ok(!symbolizer__knows(symbolizer, pid), "and what was known is dropped");
	ok(!is_named(0, clock__mono_ns()), "pid 0 has no names");
}

static void test_age(void)
{
	pid_t pid = child__start(NULL, NULL);

	is_named(pid, clock__mono_ns());
	untraced_procs__sweep(procs, clock__mono_ns());
	ok(symbolizer__knows(symbolizer, pid), "a recently used one stays");
	untraced_procs__sweep(procs, clock__mono_ns() + UNTRACED_AGE_NS);
	ok(!symbolizer__knows(symbolizer, pid), "after a while it is dropped");
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
	ok(!symbolizer__knows(symbolizer, pids[0]),
	   "of too many the longest unused one is dropped");
	for (size_t i = 1; i <= UNTRACED_MAX; i++)
		ok(symbolizer__knows(symbolizer, pids[i]), "another one stays");
	for (size_t i = 0; i <= UNTRACED_MAX; i++)
		end(pids[i]);
}

/* Processes whose end another module reports. */
static void test_traced(void)
{
	pid_t pid = child__start(NULL, NULL);

	is_int(symbolizer__process(symbolizer, pid, NULL), 0, "a process is traced");
	ok(is_named(pid, clock__mono_ns()), "it has its names");
	untraced_procs__sweep(procs, UINT64_MAX);
	ok(symbolizer__knows(symbolizer, pid), "and is not dropped by age");
	end(pid);
	ok(is_named(pid, clock__mono_ns()), "nor at its end");
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
