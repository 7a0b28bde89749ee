/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which modules are a program's run-time system, not its own code. */
#ifndef JANK_SYMBOL_INTERPRETERS_RUNTIME_H
#define JANK_SYMBOL_INTERPRETERS_RUNTIME_H

#include "model/block.h"
#include <stdbool.h>

/* libc, libm, libpthread, ld.so, libstdc++, libc++, libgcc_s, the vdso: glibc's, musl's,
 * bionic's. */
bool runtime__is(const char *module);

/*
 * In a program that has its C library in it, is the function the library's? By the names that the C
 * standard keeps for it (an underscore first: 7.1.3), and of its functions that wait, or are
 * everywhere.
 */
bool runtime__is_reserved(const char *function);

/*
 * Is it what a runtime has in or below its program's own functions: V8's trampolines, entries and
 * calls, Go's packages that run and wait?
 */
bool runtime__is_glue(const char *function);

/* Which language a JIT compiler's function is written in, by the form of its name. */

/*
 * "javascript", "java", "python", "dotnet": static; NULL: none that is known, or a runtime's own
 * code.
 */
const char *language__of(const char *name);

/*
 * Whose code a frame of a Java program is: its own, its class library's, or the machine's that runs
 * it (HotSpot).
 */

/* Is it HotSpot's library, by its path? */
bool java__is_machine(const char *module);

/*
 * Is it the name of memory in which HotSpot's compilers work? None of it is run: what has such a
 * name by an old map is other code by now.
 */
bool java__is_scratch(const char *name);

/*
 * Sets which of a stack's named frames are the application's. In one that has none of its own the
 * class library's are, else the interpreter's, else the machine's, so that there is somebody to
 * tell of.
 */
void java__resolve_all(struct frame *frames, size_t cnt);

#endif
