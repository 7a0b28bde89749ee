/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/script_owner.h"

#include <string.h>

#include "base/text.h"

enum where { FILE_BEGINS, FILE_HAS, FUNCTION_BEGINS, FUNCTION_HAS };

static const struct {
	const char *language;
	enum where where;
	const char *text;
	bool runtime; /* else a library */
} rules[] = {
	{ "javascript", FILE_BEGINS, "node:", true },
	{ "javascript", FILE_HAS, "/node_modules/", false },
	/* names that V8 writes for profilers: "JS:~emit node:events:471:44" */
	{ "javascript", FUNCTION_HAS, " node:", true },
	{ "javascript", FUNCTION_HAS, "/node_modules/", false },
	{ "java", FUNCTION_BEGINS, "java.", true },
	{ "java", FUNCTION_BEGINS, "javax.", true },
	{ "java", FUNCTION_BEGINS, "jdk.", true },
	{ "java", FUNCTION_BEGINS, "sun.", true },
	{ "java", FUNCTION_BEGINS, "com.sun.", true },
	{ "java", FUNCTION_BEGINS, "android.", true },
	{ "java", FUNCTION_BEGINS, "com.android.internal.", true },
	{ "java", FUNCTION_BEGINS, "dalvik.", true },
	{ "java", FUNCTION_BEGINS, "libcore.", true },
	{ "java", FUNCTION_BEGINS, "androidx.", false }, /* these are parts of the app's file */
	{ "java", FUNCTION_BEGINS, "kotlin.", false },
	{ "java", FUNCTION_BEGINS, "kotlinx.", false },
	{ "dotnet", FUNCTION_BEGINS, "System.", true }, /* as Mono writes it, without a type */
	{ "ruby", FILE_BEGINS, "<internal:", true },
	{ "ruby", FILE_HAS, "/gems/", false },
	{ "ruby", FILE_HAS, "/vendor_ruby/", false },
	{ "ruby", FILE_HAS, "/lib/ruby/", true },
	{ "python", FILE_HAS, "/site-packages/", false },
	{ "python", FILE_HAS, "/dist-packages/", false },
};

/* The native functions that run the code of a language's frames in the heap. */
static const char *const evaluations[] = { "_PyEval_EvalFrameDefault", "rb_vm_exec" };

bool script_owner__evaluates(const char *function)
{
	for (size_t i = 0; i < sizeof(evaluations) / sizeof(*evaluations); i++) {
		size_t len = strlen(evaluations[i]);

		if (!strncmp(function, evaluations[i], len) &&
		    (!function[len] || function[len] == '.'))
			return true;
	}
	return false;
}

static unsigned count(const char *text, const char *part)
{
	unsigned ret = 0;

	for (; text && (text = strstr(text, part)); text++)
		ret++;
	return ret;
}

unsigned script_owner__rank(const struct frame *frame)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const char *of = rules[i].where < FUNCTION_BEGINS ? frame->file : frame->function;
		bool begins = rules[i].where == FILE_BEGINS || rules[i].where == FUNCTION_BEGINS;
		unsigned cnt;

		if (!of || !frame->language || strcmp(frame->language, rules[i].language))
			continue;
		cnt = begins ? text__begins(of, rules[i].text) : count(of, rules[i].text);
		if (cnt)
			return rules[i].runtime ? SCRIPT_RUNTIME : cnt;
	}
	return frame->app ? SCRIPT_APPLICATION : SCRIPT_RUNTIME;
}
