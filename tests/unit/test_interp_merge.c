/* SPDX-License-Identifier: GPL-2.0 */
/* Python's frames in place of the function that evaluates them. */
#include "model/script_owner.h"
#include "model/stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "tests/tap.h"

/*
 * Native frames by name, "E" for the evaluation; script frames "name", or "name!" where the
 * evaluation was entered, "!" alone where entries are known. The result is one line.
 */
static char *merge(const char *native, const char *script, enum stack_end end)
{
	static struct frame kept[64];
	char *names = strdup(native), *scripts = strdup(script), *save = NULL;
	struct stack stack = { .end = end, .frames = calloc(64, sizeof(struct frame)) };
	struct strbuf sb = STRBUF_INIT;
	struct frame *frame;

	for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		frame = &stack.frames[stack.frame_cnt++];
		*frame = (struct frame){ .function = name, .module = "python", .app = true };
		if (*name == 'E')
			frame->function = name[1] ? "_PyEval_EvalFrameDefault.cold"
						  : "_PyEval_EvalFrameDefault";
		if (*name == '?')
			frame->function = frame->module = NULL;
		frame->address = stack.frame_cnt;
		if (!strncmp(name, "py::", 4))
			frame->language = "python";
		if (*name == '(') { /* inlined into what follows */
			frame->inlined = true;
			frame->address++;
		}
	}
	stack.script = calloc(64, sizeof(*stack.script));
	for (char *name = strtok_r(scripts, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		struct jank_script_frame *from = &stack.script[stack.script_cnt++];
		char *mark = strchr(name, '!');

		frame = &stack.frames[stack.frame_cnt++];
		from->flags = mark ? JANK_SCRIPT_ENTRY : 0;
		from->code = mark != name;
		if (mark)
			*mark = 0;
		if (from->code)
			*frame = (struct frame){ .function = name,
						 .module = "m.py",
						 .language = "python",
						 .app = *name != 's' };
	}
	is_int(stack__merge_script(&stack), 0, "%s + %s", native, script);
	for (size_t i = 0; i < stack.frame_cnt; i++)
		strbuf__addf(&sb, "%s%s%s", i ? " " : "", stack.frames[i].function ?: "?",
			     stack.frames[i].app ? "*" : "");
	memcpy(kept, stack.frames, stack.frame_cnt * sizeof(*kept));
	free(stack.frames);
	free(stack.script);
	free(names);
	free(scripts);
	return sb.data;
}

static void check(const char *native, const char *script, enum stack_end end, const char *want)
{
	char *got = merge(native, script, end);

	is_str(got, want, "%s + %s", native, script);
	free(got);
}

/*
 * Native frames by name, in order of their addresses, "(x" inlined into the next; functions
 * "INDEX:name", with the file after "@".
 */
static void check_natives(const char *native, const char *script, const char *want)
{
	char *names = strdup(native), *scripts = strdup(script), *save = NULL;
	struct stack stack = { .frames = calloc(64, sizeof(struct frame)) };
	struct strbuf sb = STRBUF_INIT;
	uint64_t address = 0;

	stack.script = calloc(64, sizeof(*stack.script));
	for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		bool inlined = *name == '(';

		stack.frames[stack.frame_cnt++] = (struct frame){ .function = name,
								  .module = "node",
								  .app = true,
								  .kernel = *name == 'k',
								  .inlined = inlined,
								  .address = address };
		address += !inlined;
	}
	for (char *name = strtok_r(scripts, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		char *file = strchr(name, '@');

		stack.script[stack.script_cnt++] = (struct jank_script_frame){
			.code = 1,
			.flags = JANK_SCRIPT_NATIVE | (uint32_t)atoi(name) << 16,
		};
		*file++ = 0;
		name = strchr(name, ':') + 1;
		stack.frames[stack.frame_cnt++] = (struct frame){ .function = *name ? name : NULL,
								  .module = file,
								  .file = file,
								  .language = "javascript",
								  .app = true };
	}
	is_int(stack__merge_script(&stack), 0, "%s + %s", native, script);
	for (size_t i = 0; i < stack.frame_cnt; i++)
		strbuf__addf(&sb, "%s%s%s", i ? " " : "", stack.frames[i].function,
			     stack.frames[i].app ? "*" : "");
	is_str(strbuf__str(&sb), want, "%s + %s", native, script);
	strbuf__free(&sb);
	free(stack.frames);
	free(stack.script);
	free(names);
	free(scripts);
}

static unsigned rank(const char *language, const char *function)
{
	const struct frame frame = { .function = function, .language = language, .app = true };

	return script_owner__rank(&frame);
}

/* Of Android: the app's classes, then those that it brings along, then the system's. */
static void check_java(void)
{
	static const char *const system[] = {
		"android.os.Looper.loop", "com.android.internal.os.ZygoteInit.main",
		"java.lang.Thread.run",	  "dalvik.system.VMRuntime.gc",
		"libcore.io.Linux.open",
	};
	static const char *const libraries[] = { "androidx.a.B.c", "kotlin.A.b", "kotlinx.a.B.c" };
	static const char *const own[] = { "com.example.Main.run", "androidy.A.b",
					   "com.android.systemui.A.b", "kotlinish.A.b" };

	for (size_t i = 0; i < sizeof(system) / sizeof(*system); i++)
		is_uint(rank("java", system[i]), SCRIPT_RUNTIME, "%s is the system's", system[i]);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		is_uint(rank("java", libraries[i]), 1, "%s is a library's", libraries[i]);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		is_uint(rank("java", own[i]), SCRIPT_APPLICATION, "%s is the app's", own[i]);
	is_uint(rank("dotnet", "System.Array:Sort (int[])"), SCRIPT_RUNTIME, "Mono's library");
	is_uint(rank("dotnet", "Systems.Main:Run ()"), SCRIPT_APPLICATION, "a program's class");
}

static void check_languages(void)
{
	check_natives("parse jit call jit main", "1:f@a.js 3:g@a.js", "parse f* call g* main");
	check_natives("kernel parse jit main", "1:f@a.js", "kernel parse f* main");
	check_natives("jit main", "0:inner@a.js 0:outer@a.js", "inner* outer* main");
	check_natives("(x (y z jit main", "1:f@a.js", "(x (y z f* main");
	check_natives("jit main", "0:@a.js", "jit main");
	check_natives("jit jit main", "0:emit@node:events 1:f@a.js", "emit f* main");
	check_natives("jit jit main", "0:lib@/x/node_modules/l.js 1:f@a.js", "lib f* main");
	check_natives("jit jit main", "0:emit@node:events 1:lib@/x/node_modules/l.js",
		      "emit lib* main");
	check_natives("jit jit main",
		      "0:a@/g/node_modules/p/node_modules/l.js 1:b@/g/node_modules/p.js",
		      "a b* main");
	check_natives("jit jit main", "0:@a.js 1:emit@node:events", "jit emit main");
	check_natives("jit jit main", "0:@a.js 1:f@a.js", "jit f* main");
	check_natives("jit main", "0:f@a.js 7:lost@a.js", "f* main");
}

int main(void)
{
	const enum stack_end whole = STACK_END_COMPLETE, cut = STACK_END_NO_TABLE;

	check("sleep E call E main _start", "f g! h <module>!", whole,
	      "sleep f* g* call h* <module>* main _start");
	check("sleep E call E main _start", "f g ! h <module> !", whole,
	      "sleep f* g* call h* <module>* main _start");
	check("sleep", "f g! h!", cut, "sleep f* g* h*");
	check("sleep E call", "f g! h!", cut, "sleep f* g* call h*");
	check("E E main _start", "f g!", whole,
	      "_PyEval_EvalFrameDefault f* g* main _start"); /* the innermost has no frame yet */
	check("E E", "f g!", cut, "f* g* _PyEval_EvalFrameDefault");
	check("Ecold main _start", "f!", whole, "f* main _start");
	check("(in) E main _start", "f!", whole, "f* main _start");
	check("(in) c E main _start", "f!", whole, "(in) c f* main _start");
	check("! E", "! f!", cut, "! f*"); /* an evaluation without a frame left */
	check("c ? x", "f!", cut, "c f*");
	check("c E main _start", "socket serve!", whole, "c socket* serve* main _start");
	check("c E main _start", "socket f!", whole, "c socket f* main _start");
	check("E py::f:m.py E py::h:m.py main _start", "f! h!", whole, "f* h* main _start");
	check("c E", "", cut, "c* _PyEval_EvalFrameDefault*");
	check_languages();
	check_java();
	return tap__done();
}
