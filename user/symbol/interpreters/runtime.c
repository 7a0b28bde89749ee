/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The run-time libraries by their files' names: `libc.so.6`, `libc-2.31.so`, `ld-musl-x86_64.so.1`,
 * bionic's `linker64`. Others that only begin alike (libc-client.so) are the program's.
 */
#include "symbol/interpreters/runtime.h"

#include <ctype.h>
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

/* Packages by which Go's programs wait and run. */
static const char *const go_packages[] = {
	"runtime.",	 "runtime/internal/", "internal/runtime/", "internal/poll.",
	"internal/abi.", "internal/syscall/", "internal/bytealg.", "syscall.",
};

/* What gcc calls a piece of a C function: "runtime.part.0". */
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

	if (strncmp(function, prefix, strlen(prefix)))
		return is_of_go(function);
	return strstr(name, "Trampoline") || strstr(name, "Entry") || !strncmp(name, "Call", 4);
}
