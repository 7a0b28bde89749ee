/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run-time libraries are recognised by file name: `libc.so.6`, `libc-2.31.so`,
 * `ld-musl-x86_64.so.1`, bionic's `linker64`. Libraries that only share the prefix (libc-client.so)
 * belong to the program.
 */
#include "symbol/languages/runtime.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

static const char *const libraries[] = {
	"libc",	  "libm",      "libpthread",	"libdl", "librt", "libstdc++",	       "libgcc_s",
	"libc++", "libc++abi", "libc++_shared", "ld",	 "ld64",  "libc_malloc_debug", "libmvec",
};

static const char *const programs[] = { "linker", "linker64", "[vdso]", "[vsyscall]" };

static const char *const loaders[] = { "ld-linux", "ld-musl-", "libc.musl-" };

static bool is_library(const char *name, const char *library)
{
	size_t len = strlen(library);

	if (strncmp(name, library, len))
		return false;
	name += len;
	return !strncmp(name, ".so", 3) ||
	       (name[0] == '-' && isdigit((unsigned char)name[1]) && strstr(name, ".so"));
}

bool runtime__is(const char *module)
{
	const char *name = text__base_name(module);
	size_t i;

	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (!strcmp(name, programs[i]))
			return true;
	for (i = 0; i < sizeof(loaders) / sizeof(*loaders); i++)
		if (!strncmp(name, loaders[i], strlen(loaders[i])) && strstr(name, ".so"))
			return true;
	for (i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (is_library(name, libraries[i]))
			return true;
	return false;
}

static const char *const waits[] = {
	"accept",   "accept4",	 "close",    "connect",	   "fcntl",    "fdatasync", "flock",
	"fsync",    "ftruncate", "futex",    "getdents64", "ioctl",    "nanosleep", "open",
	"open64",   "openat",	 "poll",     "ppoll",	   "pread",    "pread64",   "preadv",
	"pselect",  "pwrite",	 "pwrite64", "pwritev",	   "read",     "readv",	    "recv",
	"recvfrom", "recvmsg",	 "select",   "send",	   "sendfile", "sendmsg",   "sendto",
	"sleep",    "syscall",	 "usleep",   "wait4",	   "waitid",   "waitpid",   "write",
	"writev",   "malloc",	 "free",     "calloc",	   "realloc",  "memcpy",    "memset",
};

static const char *const families[] = { "pthread_", "sem_", "epoll_", "clock_" };

bool runtime__is_reserved(const char *function)
{
	if (function[0] == '_')
		return function[1] != 'Z' && function[1] != 'R';
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (!strncmp(function, families[i], strlen(families[i])))
			return true;
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		if (!strcmp(function, waits[i]))
			return true;
	return false;
}

/* Packages by which Go programs wait and run. */
static const char *const go_packages[] = {
	"runtime.",	 "runtime/internal/", "internal/runtime/", "internal/poll.",
	"internal/abi.", "internal/syscall/", "internal/bytealg.", "syscall.",
};

/* gcc's suffixes for parts of a C function: "runtime.part.0". */
static const char *const pieces[] = { ".part.", ".constprop.", ".isra.", ".cold", ".lto_priv." };

static bool is_of_go(const char *function)
{
	size_t i;

	for (i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		if (strstr(function, pieces[i]))
			return false;
	for (i = 0; i < sizeof(go_packages) / sizeof(*go_packages); i++)
		if (!strncmp(function, go_packages[i], strlen(go_packages[i])))
			return true;
	return false;
}

bool runtime__is_glue(const char *function)
{
	static const char prefix[] = "Builtins_";
	const char *name = function + strlen(prefix);

	if (text__begins(function, "(wrapper ")) /* Mono's, around a method */
		return true;
	if (strncmp(function, prefix, strlen(prefix)))
		return is_of_go(function);
	return strstr(name, "Trampoline") || strstr(name, "Entry") || !strncmp(name, "Call", 4);
}

/*
 * Names as runtimes write them into perf maps and jitdump:
 *
 *   V8       JS:~handle /srv/app.js:3:1, JS:o*handle …, LazyCompile:*handle /srv/app.js:3:1,
 *            Function:…, Eval:…, Script:…
 *   Bun      JSC-FTL: handle#DkOfVG
 *   HotSpot  Lcom/example/Main;::run (perf-map-agent),
 *            int com.example.Main.run(java.lang.String) (its own)
 *   CPython  py::handle:/srv/app.py
 *   .NET     void [app] Example.Main::Run(string)[OptimizedTier1]
 *   Mono     Example.Main:Run (string), (wrapper managed-to-native) Example.Main:read (int)
 */

static const struct {
	const char *prefix, *language;
} prefixes[] = {
	{ "JS:", "javascript" },
	{ "LazyCompile:", "javascript" },
	{ "Function:", "javascript" },
	{ "Eval:", "javascript" },
	{ "Script:", "javascript" },
	{ "RegExp:", "javascript" },
	{ "JSC-Baseline: ", "javascript" },
	{ "JSC-DFG: ", "javascript" },
	{ "JSC-FTL: ", "javascript" },
	{ "py::", "python" },
};

static bool has_tier(const char *name)
{
	static const char *const tiers[] = { "Tier0",	   "Tier1",	   "OptimizedTier1",
					     "PreJIT",	   "Optimized",	   "MinOptimized",
					     "ReadyToRun", "Instrumented", "QuickJitted" };
	size_t len = strlen(name);
	const char *open = strrchr(name, '[');

	if (!open || name[len - 1] != ']')
		return false;
	for (size_t i = 0; i < sizeof(tiers) / sizeof(*tiers); i++)
		if (!strncmp(open + 1, tiers[i], strlen(tiers[i])))
			return true;
	return false;
}

/* Matches "void [app] Space.Class::Method(…)[Tier0]". .NET's stubs have no method. */
static bool is_dotnet(const char *name)
{
	const char *open = strchr(name, '['), *close = open ? strchr(open, ']') : NULL;

	return strstr(name, "::") && (has_tier(name) || (close && close[1] == ' ' && open > name));
}

/* Matches "Space.Class`1<T>:Method (…)". Mono's wrappers begin with a parenthesis. */
static bool is_mono(const char *name)
{
	const char *colon = strchr(name, ':'), *open = strstr(name, " (");

	return colon && open && name < colon && colon + 1 < open && colon[1] != ':' &&
	       *name != '(' && !memchr(name, ' ', open - name) && name[strlen(name) - 1] == ')';
}

static bool is_class_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* Matches "Lcom/example/Main;::run". */
static bool is_descriptor(const char *name)
{
	const char *at = name + 1;

	if (name[0] != 'L')
		return false;
	while (is_class_char(*at) || *at == '/' || *at == '.' || *at == '+')
		at++;
	return !strncmp(at, ";::", 3) && at > name + 1;
}

/*
 * Matches "int com.example.Main.run(int, java.lang.String)": a type, a dotted method, parameters up
 * to the end.
 */
static bool is_signature(const char *name)
{
	const char *at = strchr(name, ' '), *begin;
	unsigned dots = 0;

	if (!at || at == name || name[strlen(name) - 1] != ')')
		return false;
	for (begin = name; begin < at; begin++)
		if (!is_class_char(*begin) && !strchr(".[]<>", *begin))
			return false;
	for (begin = ++at; is_class_char(*at) || strchr(".<>/+", *at); at++) {
		if (!*at)
			return false;
		dots += *at == '.';
	}
	return *at == '(' && at > begin && dots && at[-1] != '.';
}

const char *language__of(const char *name)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)))
			return prefixes[i].language;
	if (is_descriptor(name))
		return "java";
	if (is_dotnet(name) || is_mono(name))
		return "dotnet";
	return is_signature(name) ? "java" : NULL;
}

/* Cuts ":3:1" at the end. */
static void cut_position(char *file)
{
	for (unsigned i = 0; i < 2; i++) {
		char *colon = strrchr(file, ':');

		if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
			return;
		*colon = '\0';
	}
}

/* JavaScriptCore: "JSC-FTL: parse#DkOfVG", with a hash of the function's source. */
static bool split_jsc(char *name, const char **ret_function, const char **ret_file)
{
	static const char unnamed[] = "anonymous", prefix[] = "JSC-";
	char *begin = strstr(name, ": "), *hash = strrchr(name, '#');

	if (strncmp(name, prefix, strlen(prefix)) || !begin || !begin[2])
		return false;
	begin += 2;
	if (hash == begin) /* the tier's name is not shorter */
		begin = memcpy(begin - strlen(unnamed), unnamed, strlen(unnamed));
	else if (hash)
		*hash = '\0';
	*ret_function = begin;
	*ret_file = NULL;
	return true;
}

bool javascript__split(char *name, const char **ret_function, const char **ret_file)
{
	static const char tiers[] = "~^*+'", scheme[] = "file://";
	char *colon = strchr(name, ':'), *space = strrchr(name, ' ');
	const char *language = language__of(name);

	if (!language || strcmp(language, "javascript"))
		return false;
	if (split_jsc(name, ret_function, ret_file))
		return true;
	if (!strncmp(name, "RegExp:", 7) || !space || space < colon || !space[1])
		return false;
	colon++;
	colon += colon[0] == 'o' && colon[1] && strchr(tiers, colon[1]); /* compiled for a loop */
	colon += *colon && strchr(tiers, *colon);
	*space = '\0';
	cut_position(space + 1);
	*ret_function = colon < space ? colon : "anonymous";
	*ret_file = space + 1;
	if (!strncmp(*ret_file, scheme, strlen(scheme)))
		*ret_file += strlen(scheme);
	return true;
}

/* --- Owners of Java frames, by the names of modules, classes and pieces of HotSpot's JIT code */

/* In order of preference: the first owner that a stack has is reported. */
enum owner { OWNER_APP, OWNER_LIBRARY, OWNER_INTERPRETER, OWNER_MACHINE, OWNER_NOBODY };

static const char *const packages[] = {
	"java.",
	"javax.",
	"jdk.",
	"sun.",
	"com.sun.",
	"android.",
	"androidx.",
	"kotlin.",
	"kotlinx.",
	"dalvik.",
	"com.android.internal.",
	"libcore.",
};

static const char *const java_libraries[] = {
	"libjvm",    "libjava",	  "libjli",	   "libnio",	    "libnet",	 "libzip",
	"libjimage", "libverify", "libinstrument", "libmanagement", "libextnet", "libsimdsort",
};

bool java__is_machine(const char *module)
{
	return !strcmp(text__base_name(module), "libjvm.so");
}

bool java__is_art(const char *module)
{
	static const char *const files[] = { "libart.so", "libartd.so", "libartbase.so",
					     "libart-compiler.so", "libdexfile.so" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(text__base_name(module), files[i]))
			return true;
	return false;
}

bool java__is_compiled(const char *module)
{
	const char *end = strrchr(module, '.');

	return end && (!strcmp(end, ".oat") || !strcmp(end, ".odex"));
}

/* "art_jni_trampoline" and "[DEDUPED]" are none. */
bool java__is_method(const char *function)
{
	return strchr(function, '.') && function[0] != '[';
}

bool java__is_scratch(const char *name)
{
	return strstr(name, "temporary CodeBuffer") || !strncmp(name, "Compile::", 9);
}

static bool java_is_library(const char *module)
{
	const char *name = text__base_name(module);
	size_t len;

	for (size_t i = 0; i < sizeof(java_libraries) / sizeof(*java_libraries); i++) {
		len = strlen(java_libraries[i]);
		if (!strncmp(name, java_libraries[i], len) && !strcmp(name + len, ".so"))
			return true;
	}
	return false;
}

/*
 * Returns true for "int java.util.Arrays.hashCode(int[])" and "Ljava/util/Arrays;::hashCode":
 * functions of a JDK package.
 */
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
	if (java_is_library(frame->module))
		return OWNER_MACHINE;
	if (!frame->function || strcmp(frame->module, "[jit]"))
		return OWNER_APP;
	return strcmp(frame->function, "Interpreter") ? OWNER_MACHINE : OWNER_INTERPRETER;
}

void java__resolve_all(struct frame *frames, size_t cnt)
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
