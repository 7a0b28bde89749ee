/* SPDX-License-Identifier: GPL-2.0 */
/* The handler of a turn and the library's function that was called: which frames, and the words. */
#include "verdict/frames.h"

#include "model/stack.h"

#include "tests/tap.h"
#include "tests/unit/sentence_fixture.h"
#include "tests/unit/verdict_fixture.h"

/*
 * A prefix of a frame of verdict__frame: "o:f" the program's own, "d:f" the same as a caller of the
 * loop's wait, "l:f" of a library, "p:f" the program's Python, "s:f" Python's own library.
 */
static void add_frame(struct stack *stack, const char *text)
{
	char kind = text[1] == ':' ? text[0] : 0;
	struct frame *frame;

	verdict__frame(stack, kind && strchr("odlps", kind) ? text + 2 : text);
	frame = &stack->frames[stack->frame_cnt - 1];
	if (kind == 'o' || kind == 'd')
		frame->owner = CODE_OWN;
	else if (kind == 'l' || (kind == 'c' && frame->app))
		frame->owner = CODE_LIBRARY;
	frame->dispatcher = kind == 'd';
	frame->language = kind == 'p' || kind == 's' ? "python" : NULL;
	frame->app &= kind != 's';
}

static struct stack stack_of(const char *const *texts)
{
	struct stack stack = { 0 };

	for (; *texts; texts++)
		add_frame(&stack, *texts);
	return stack;
}

static void check_handler(const char *const *texts, const char *want, const char *name)
{
	struct stack stack = stack_of(texts);
	const struct frame *handler = stack__handler(&stack);

	is_str(handler ? handler->function : NULL, want, "%s", name);
	free(stack.frames);
}

static void test_handler(void)
{
	check_handler(STACK("o:f", "o:g", "o:on_x", "d:loop", "d:main", "c:__libc_start_main"),
		      "on_x", "below the loop's own frames");
	check_handler(STACK("o:f", "l:l", "o:on_x", "l:emit", "d:loop"), "on_x",
		      "through a library");
	check_handler(STACK("o:f", "o:serverCron", "o:processTimeEvents", "d:aeMain"), "serverCron",
		      "below a function that calls handlers");
	check_handler(
		STACK("o:f", "o:on_x", "l:g_main_dispatch", "l:gtk_dialog_run", "o:on_y", "d:loop"),
		"on_y", "of nested loops the outer one's");
	check_handler(STACK("o:f", "o:main", "c:_start"), NULL, "no loop on the stack");
	check_handler(STACK("o:f", "o:g"), NULL, "a stack that ends early");
	check_handler(STACK("l:f", "l:g", "d:loop"), NULL, "only a library's functions");
	check_handler(STACK("d:loop", "d:main"), NULL, "only the loop");
	check_handler(STACK("p:f", "p:on_x", "s:Handle._run", "s:BaseEventLoop._run_once", "p:main",
			    "d:main"),
		      "on_x", "of asyncio");
	check_handler(STACK("p:f", "p:run", "p:<module>", "o:g", "d:main"), NULL,
		      "another loop of Python's");
	check_handler(STACK("c:f", "s:Handle._run", "p:main", "d:main"), NULL,
		      "asyncio without a function of the program");
}

static void check_called(const char *const *texts, const char *syscall, const char *want)
{
	struct stack stack = stack_of(texts);
	const struct frame *app = stack__app_frame(&stack);
	const struct frame *called = app ? stack__called(&stack, app, syscall) : NULL;

	is_str(called ? called->function : NULL, want, "%s calls %s", app->function,
	       want ? want : "nothing of interest");
	free(stack.frames);
}

static void test_called(void)
{
	check_called(STACK("k:s", "c:read", "c:_IO_file_read", "c:fgets", "o:f"), "read", "fgets");
	check_called(STACK("k:s", "c:poll", "l:wait", "l:g_dbus_proxy_new_for_bus_sync", "o:f"),
		     "poll", "g_dbus_proxy_new_for_bus_sync");
	check_called(STACK("k:s", "c:connect", "c:getgrouplist", "o:f"), "connect", "getgrouplist");
	check_called(STACK("k:s", "c:read", "o:f"), "read", NULL);
	check_called(STACK("k:s", "c:__syscall_cancel", "c:__libc_pwrite", "o:f"), "pwrite64",
		     NULL);
	check_called(STACK("k:s", "c:__syscall_cancel", "c:recv", "o:f"), "recvfrom", NULL);
	check_called(STACK("k:s", "c:__syscall_cancel", "c:waitpid", "o:f"), "wait4", NULL);
	check_called(STACK("k:s", "c:__syscall_cancel", "c:select", "o:f"), "pselect6", NULL);
	check_called(STACK("k:s", "c:wait4", "c:system", "o:f"), "wait4", "system");
	check_called(STACK("k:s", "o:f"), "read", NULL);
	check_called(STACK("k:s", "c:wait4", "s:Popen.wait", "s:run", "p:f"), "wait4", "run");
	check_called(STACK("k:s", "c:wait4", "c:os_waitpid", "p:f"), "wait4", NULL);
}

static void add_sample(struct block *block, uint64_t ns, const char *call, const char *const *texts)
{
	struct sample *sample = verdict__sample(block, ns ? JANK_STATE_PIPE : JANK_STATE_RUNNING,
						ns, call, STACK(NULL));

	sample->stack = stack_of(texts);
}

static struct block *busy(unsigned of_cron, unsigned of_command)
{
	struct block *block = verdict__block();

	block->state_ns[JANK_STATE_RUNNING] = 81 * MS;
	while (of_cron--)
		add_sample(block, 0, NULL,
			   STACK("o:activeExpireCycle", "o:databasesCron", "o:serverCron",
				 "d:aeMain"));
	while (of_command--)
		add_sample(block, 0, NULL, STACK("o:activeExpireCycle", "o:onCommand", "d:aeMain"));
	return block;
}

static void test_sentence(void)
{
	struct block *block = verdict__block();

	sentence__says(busy(8, 0),
		       "main thread was busy 81.0 ms of 200 ms on the CPU, 100 % of it in "
		       "activeExpireCycle ← serverCron",
		       "the handler of a busy turn");
	sentence__says(busy(4, 4),
		       "main thread was busy 81.0 ms of 200 ms on the CPU, 100 % of it in "
		       "activeExpireCycle",
		       "two handlers");
	add_sample(block, 100 * MS, "read",
		   STACK("k:s", "c:read", "c:fgets", "o:loadConfig", "o:prepare", "o:onRequest",
			 "d:loop", "d:main"));
	sentence__says(
		block,
		"main thread waited 100 ms for data in a pipe in read ← fgets ← loadConfig ← "
		"onRequest",
		"the handler of a wait, and what it called");
	block = busy(8, 0);
	add_sample(block, 60 * MS, "read",
		   STACK("c:read", "o:propagate", "o:serverCron", "d:aeMain"));
	sentence__says(block,
		       "main thread was busy 81.0 ms of 200 ms on the CPU, 100 % of it in "
		       "activeExpireCycle ← serverCron; also waited 60.0 ms for data in a pipe in "
		       "read ← propagate",
		       "one handler is said once");
}

int main(void)
{
	test_handler();
	test_called();
	test_sentence();
	return tap__done();
}
