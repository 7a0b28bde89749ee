/* SPDX-License-Identifier: GPL-2.0 */
/* Which modules are a program's run-time system, not its own code. */
#ifndef JANK_SYMBOL_INTERPRETERS_RUNTIME_H
#define JANK_SYMBOL_INTERPRETERS_RUNTIME_H

#include <stdbool.h>

/* libc, libm, libpthread, ld.so, libstdc++, libc++, libgcc_s, the vdso: glibc's, musl's,
 * bionic's. */
bool runtime__is(const char *module);

/*
 * In a program that has its C library in it, is the function the library's? By the names that the C standard keeps for it
 * (an underscore first: 7.1.3), and of its functions that wait, or are everywhere.
 */
bool runtime__is_reserved(const char *function);

/* Is it what a runtime has in or below its program's own functions: V8's trampolines, entries and calls, Go's
 * packages that run and wait? */
bool runtime__is_glue(const char *function);

#endif
