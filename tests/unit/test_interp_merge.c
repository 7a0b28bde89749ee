/* SPDX-License-Identifier: GPL-2.0 */
/* Python's frames in place of the function that evaluates them. */
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
	return tap__done();
}
