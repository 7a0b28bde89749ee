/* SPDX-License-Identifier: GPL-2.0 */
/* Which modules are a program's run-time system, not its own code. */
#ifndef JANK_SYMBOL_RUNTIME_H
#define JANK_SYMBOL_RUNTIME_H

#include <stdbool.h>

/* libc, libm, libpthread, ld.so, libstdc++, libc++, libgcc_s, the vdso: glibc's, musl's,
 * bionic's. */
bool runtime__is(const char *module);

#endif
