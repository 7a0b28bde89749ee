/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demangler for C++ and Rust names. */
#ifndef JANK_SYMBOL_NAMES_DEMANGLE_H
#define JANK_SYMBOL_NAMES_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_MAX 4096 /* bytes of the result; longer ones are cut */

/*
 * Demangles name (Rust, both manglings; C++ without parameters) into buf. Returns the length; 0:
 * the name is not mangled or is too long, and should be shown unchanged. Not thread-safe.
 */
size_t demangle__name(const char *name, char *buf, size_t cap);

#endif
