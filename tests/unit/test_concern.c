/* SPDX-License-Identifier: GPL-2.0 */
/* Patterns of --concern and --ignore (user/model/concern.c), and the globs (text__matches). */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "model/concern.h"
#include "tests/tap.h"

static void test_globs(void)
{
	static const struct {
		const char *glob, *text;
		bool matches;
	} cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "a", "a", true },
		{ "a", "ab", false },
		{ "?", "a", true },
		{ "?", "", false },
		{ "*", "", true },
		{ "*", "abc", true },
		{ "a*c", "abbc", true },
		{ "a*c", "abcb", false },
		{ "*b*", "abc", true },
		{ "a**c", "ac", true },
		{ "*.so*", "libx.so.1", true },
		{ "a*b?d", "axxbcd", true },
		{ "A", "a", false },
		{ "com.x.*", "com.x.A.b", true },
		{ "[a]", "a", false },
	};
	static char hostile[100001], glob[] = "*a*a*a*a*a*a*a*a*b";
	const clock_t begin = clock();

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ok(text__matches(cases[i].glob, cases[i].text) == cases[i].matches, "'%s' %s '%s'",
		   cases[i].glob, cases[i].matches ? "matches" : "does not match", cases[i].text);
	memset(hostile, 'a', sizeof(hostile) - 1);
	ok(!text__matches(glob, hostile) && clock() - begin < CLOCKS_PER_SEC,
	   "a long name is not compared for long");
}

static void test_frames(void)
{
	const struct frame f = { .function = "app::Window<int>::paint(int)",
				 .module = "/opt/app/libapp.so",
				 .file = "src/window.cc" };
	const struct frame java = { .function = "int com.example.Main.run(int)" };
	const struct frame art = { .function = "Lcom/example/Main;::run" };
	const struct frame kernel = { .function = "do_sleep", .kernel = true };

	ok(concern__matches(&f, "app::Window<int>::paint(int)"), "the function");
	ok(concern__matches(&f, "app::Window::*"), "its short name");
	ok(concern__matches(&f, "/opt/app/*") && concern__matches(&f, "libapp.so"),
	   "the module, with and without directories");
	ok(concern__matches(&f, "window.cc"), "the file");
	ok(!concern__matches(&f, "paint") && !concern__matches(&f, "app"), "no part of a name");
	ok(concern__matches(&java, "com.example.*") && concern__matches(&art, "com.example.*"),
	   "a Java package, in both forms");
	ok(!concern__matches(&kernel, "do_sleep"), "nothing of the kernel");
}

static void test_mark(void)
{
	struct frame frames[] = { { .function = "write", .app = false },
				  { .function = "log_line", .app = true },
				  { .function = "plugin_run", .app = false },
				  { .function = "main", .app = true } };
	struct stack stack = { .frames = frames, .frame_cnt = 4 };
	static const char *const none[] = { "nothing" }, *const plugin[] = { "x", "plugin_*" };

	concern__mark(&stack, none, 1);
	ok(frames[1].app && frames[3].app && !frames[2].app, "without a match nothing changes");
	frames[1].owner = frames[3].owner = CODE_OWN;
	concern__mark(&stack, plugin, 2);
	ok(!frames[1].app && frames[2].app && !frames[3].app,
	   "else only what matches is the app's");
	ok(!frames[1].owner && !frames[3].owner, "whoever owns the code");
}

static void test_ignored(void)
{
	struct frame frames[] = { { .function = "sync_all", .app = true, .dispatcher = false },
				  { .function = "loop_run", .app = true, .dispatcher = true },
				  { .function = "libc_f", .app = false } };
	struct sample sample = { .stack = { .frames = frames, .frame_cnt = 3 } };
	struct block block = { .samples = &sample, .sample_cnt = 1 };
	struct ignored list[] = { { "0123456789", 0 }, { "deadbee", 0 }, { "sync_*", 0 } };

	snprintf(block.cause.signature, sizeof(block.cause.signature), "0123456789abcdef");
	ok(ignored__takes(list, 3, &block) && list[0].cnt == 1, "a signature's first digits");
	snprintf(block.cause.signature, sizeof(block.cause.signature), "deadbee000000000");
	ok(ignored__takes(list, 3, &block) && !list[1].cnt && list[2].cnt == 1,
	   "a short word is no signature; a frame matches, and that pattern counts");
	list[2].pattern = "loop_run";
	ok(!ignored__takes(list, 3, &block), "the loop's own frames do not count");
	list[2].pattern = "libc_f";
	ok(!ignored__takes(list, 3, &block) && list[2].cnt == 1, "nor do libraries");
	block.cause.frame = &frames[2];
	ok(ignored__takes(list, 3, &block), "but the blamed one does");
}

int main(void)
{
	test_globs();
	test_frames();
	test_mark();
	test_ignored();
	return tap__done();
}
