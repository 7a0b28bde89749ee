/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Short names of functions, for people. */
#ifndef JANK_BASE_FUNCTION_NAME_H
#define JANK_BASE_FUNCTION_NAME_H

#include "base/strbuf.h"
#include <stdbool.h>

/*
 * Adds the short name of a function: without C++ argument list, return type and qualifiers.
 * Template arguments become `templ` (such as "<…>", or ""); Rust's `<T as Trait>::f` becomes
 * `T::f`. With `plain`, parentheses are removed too (Go's `main.(*T).f` becomes `main.*T.f`,
 * `(anonymous namespace)` becomes `anonymous`). A name that does not parse as C++ is kept, as far
 * as it could be read.
 */
void function__add_short(struct strbuf *sb, const char *name, const char *templ, bool plain);

#endif
