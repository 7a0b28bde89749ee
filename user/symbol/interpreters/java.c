/* SPDX-License-Identifier: GPL-2.0 */
/* By the names of modules, of classes, and of pieces of HotSpot's made code. See java.h. */
#include "symbol/interpreters/java.h"

#include <string.h>

#include "base/text.h"

/* Innermost last: a stack is told by the first of these that it has. */
enum owner { OWNER_APP, OWNER_LIBRARY, OWNER_INTERPRETER, OWNER_MACHINE, OWNER_NOBODY };

static const char *const packages[] = { "java.", "javax.", "jdk.", "sun.", "com.sun." };

static const char *const libraries[] = {
	"libjvm",    "libjava",	  "libjli",	   "libnio",	    "libnet",	 "libzip",
	"libjimage", "libverify", "libinstrument", "libmanagement", "libextnet", "libsimdsort",
};

bool java__is_machine(const char *module)
{
	return !strcmp(text__base_name(module), "libjvm.so");
}

bool java__is_scratch(const char *name)
{
	return strstr(name, "temporary CodeBuffer") || !strncmp(name, "Compile::", 9);
}

static bool is_library(const char *module)
{
	const char *name = text__base_name(module);
	size_t len;

	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		len = strlen(libraries[i]);
		if (!strncmp(name, libraries[i], len) && !strcmp(name + len, ".so"))
			return true;
	}
	return false;
}

/* "int java.util.Arrays.hashCode(int[])", "Ljava/util/Arrays;::hashCode": of a package of the JDK's? */
static bool is_of_jdk(const char *function)
{
	const char *paren = strchr(function, '('), *space = strchr(function, ' '), *at = function;
	size_t len;

	if (space && paren && space < paren)
		at = space + 1;
	else if (function[0] == 'L')
		at = function + 1;
	for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++) {
		len = strlen(packages[i]) - 1;
		if (!strncmp(at, packages[i], len) && (at[len] == '.' || at[len] == '/'))
			return true;
	}
	return false;
}

static enum owner owner_of(const struct frame *frame)
{
	if (frame->kernel || frame->inlined || !frame->module || !frame->app)
		return OWNER_NOBODY;
	if (frame->language)
		return frame->function && !strcmp(frame->language, "java") &&
				       is_of_jdk(frame->function)
			       ? OWNER_LIBRARY
			       : OWNER_APP;
	if (is_library(frame->module))
		return OWNER_MACHINE;
	if (!frame->function || strcmp(frame->module, "[jit]"))
		return OWNER_APP;
	return strcmp(frame->function, "Interpreter") ? OWNER_MACHINE : OWNER_INTERPRETER;
}

void java__settle(struct frame *frames, size_t cnt)
{
	enum owner best = OWNER_NOBODY, owner;
	size_t i;

	for (i = 0; i < cnt; i++) {
		owner = owner_of(&frames[i]);
		if (owner < best && (owner == OWNER_APP || frames[i].function))
			best = owner;
	}
	for (i = 0; i < cnt; i++)
		frames[i].app = frames[i].app && owner_of(&frames[i]) == best;
}
