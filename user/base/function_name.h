/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions' names as a person says them. */
#ifndef JANK_BASE_FUNCTION_NAME_H
#define JANK_BASE_FUNCTION_NAME_H

#include "base/strbuf.h"
#include <stdbool.h>

/*
 * A function's name, short: no C++ argument list, return type or qualifiers; template arguments
 * replaced by `templ` (such as "<…>", or ""); Rust's `<T as Trait>::f` as `T::f`. With `plain`,
 * parentheses are left out too (Go's `main.(*T).f` as `main.*T.f`, `(anonymous namespace)` as
 * `anonymous`). A name that makes no sense as C++ stays as it is, as far as it could be read.
 */
void function__add_short(struct strbuf *sb, const char *name, const char *templ, bool plain);

#endif
