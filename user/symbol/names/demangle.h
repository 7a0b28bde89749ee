/* SPDX-License-Identifier: GPL-2.0-or-later */
/* C++ and Rust names as people write them. */
#ifndef JANK_SYMBOL_NAMES_DEMANGLE_H
#define JANK_SYMBOL_NAMES_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_MAX 4096 /* of the result; longer ones are cut */

/*
 * Demangles name (Rust, both manglings; C++ without parameters) into buf. The length, or 0 when it
 * is no mangled name or too long a one: show it as it is then. Not thread-safe.
 */
size_t demangle__name(const char *name, char *buf, size_t cap);

#endif
