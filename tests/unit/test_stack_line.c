/* SPDX-License-Identifier: GPL-2.0 */
/* A stack in a few words. */
#include "session/stack_line.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

/* clang-format off */
#define KERNEL(name) { .function = name, .module = "vmlinux", .kernel = true }
#define APP(name)    { .function = name, .module = "/usr/bin/program", .app = true }
#define LIB(name)    { .function = name, .module = "/lib/libc.so.6" }
/* clang-format on */

static const char *line_of(struct frame *frames, size_t cnt)
{
	const struct stack stack = { .frames = frames, .frame_cnt = cnt };
	static char ret[264];

	stack_line__make(&stack, ret, sizeof(ret));
	return ret;
}

#define LINE(...)                                                                                  \
	line_of((struct frame[]){ __VA_ARGS__ },                                                   \
		sizeof((struct frame[]){ __VA_ARGS__ }) / sizeof(struct frame))

static void test_functions(void)
{
	is_str(LINE(KERNEL("do_syscall_64"), LIB("read"), APP("read_line"), APP("load_config"),
		    APP("main"), LIB("__libc_start_main@@GLIBC_2.34"), APP("_start")),
	       "read_line ← load_config ← main", "the program's functions");
	is_str(LINE(APP("a"), APP("b"), APP("c"), APP("d"), APP("main")), "a ← b ← c ← d ← main",
	       "five are all shown");
	is_str(LINE(APP("a"), APP("b"), APP("c"), APP("d"), APP("e"), APP("main")),
	       "a ← b ← c ← … ← main", "of more, the outermost");
	is_str(LINE(APP("walk"), APP("walk"), APP("walk"), APP("main")), "walk ← main",
	       "a recursion is one");
}

static void test_nameless(void)
{
	is_str(LINE(APP("a"), APP(NULL), APP(NULL), APP("main")), "a ← program ← main",
	       "a file stands for its functions without names");
	is_str(LINE(LIB("clock_nanosleep"), APP(NULL), LIB("__libc_start_main")), "",
	       "a file alone says nothing");
	is_str(LINE(LIB("read"), LIB("start_thread")), "", "nor does the C library");
	is_str(LINE(APP("start_threading"), APP("main")), "start_threading ← main",
	       "no function of the C library that begins a thread");
}

static void test_long(void)
{
	char name[400];
	struct frame frames[6];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (size_t i = 0; i < 6; i++) {
		name[0] = (char)('a' + i);
		frames[i] = (struct frame){ .function = strdup(name), .app = true };
	}
	is_uint(strlen(line_of(frames, 6)), 4 * 48 + 3 + 4 * strlen(" ← "), "long names are cut");
	for (size_t i = 0; i < 6; i++)
		free((char *)frames[i].function);
}

int main(void)
{
	test_functions();
	test_nameless();
	test_long();
	return tap__done();
}
