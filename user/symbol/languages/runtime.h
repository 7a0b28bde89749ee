/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classifiers for code of language runtimes: by module, by function name, and by frame. They
 * separate it from the application's own code.
 */
#ifndef JANK_SYMBOL_LANGUAGES_RUNTIME_H
#define JANK_SYMBOL_LANGUAGES_RUNTIME_H

#include "model/block.h"
#include <stdbool.h>

/*
 * Returns true for the run-time libraries of glibc, musl and bionic: libc, libm, libpthread, ld.so,
 * libstdc++, libc++, libgcc_s, the vdso.
 */
bool runtime__is(const char *module);

/*
 * For a program with a statically linked C library: returns true when the function belongs to the
 * library. By the names that the C standard reserves for it (an underscore first: 7.1.3), and by a
 * list of functions that wait or are very common.
 */
bool runtime__is_reserved(const char *function);

/*
 * Returns true for runtime functions that stand between or below the program's own functions: V8's
 * trampolines, entries and calls; Mono's wrappers; Go's packages for scheduling and waiting.
 */
bool runtime__is_glue(const char *function);

/* Language of a JIT-compiled function, by the form of its name. */

/*
 * Returns "javascript", "java", "python" or "dotnet" (static). NULL: unknown, or the runtime's own
 * code.
 */
const char *language__of(const char *name);

/*
 * Splits the name of a JavaScript function: "JS:*handle file:///srv/app.js:3:1" is function
 * "handle" of file "/srv/app.js". *ret_file is NULL if the name has none. Returns false for another
 * form; then name is unchanged. Both point into name.
 */
bool javascript__split(char *name, const char **ret_function, const char **ret_file);

/* Owner of a frame in a Java program: the application, the class library, or HotSpot itself. */

/* Returns true when the path is that of HotSpot's library. */
bool java__is_machine(const char *module);

/* Returns true when the path is that of a library of ART, Android's runtime. */
bool java__is_art(const char *module);

/* Returns true when the path is that of a file with code that ART compiled ahead of time. */
bool java__is_compiled(const char *module);

/* Returns true when a symbol of such code is a Java method, not glue. */
bool java__is_method(const char *function);

/*
 * Returns true for the name of memory in which HotSpot's compilers work. Such memory is never run,
 * so a name like this comes from an old map: other code lies there now.
 */
bool java__is_scratch(const char *name);

/*
 * Sets `app` of a stack's named frames. Without frames of the application, the class library's
 * frames count as such; else the interpreter's; else HotSpot's. So each stack has a frame to
 * report.
 */
void java__resolve_all(struct frame *frames, size_t cnt);

#endif
