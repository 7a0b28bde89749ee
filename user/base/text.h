/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for people. Those from traced programs (comm, paths, symbols) may hold any bytes and are
 * made safe to display; those of functions are shortened; system calls get theirs by number.
 */
#ifndef JANK_BASE_TEXT_H
#define JANK_BASE_TEXT_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * Length of the valid UTF-8 sequence at s (1 to 4), or 0. Overlong forms, surrogates and values
 * above U+10FFFF are invalid.
 */
size_t text__utf8_len(const char *s, size_t left);

/* Length of str, or at most max bytes that do not end inside a UTF-8 sequence. */
size_t text__cut(const char *str, size_t max);

/* True if both are equal texts, or both NULL. */
bool text__same(const char *a, const char *b);

/* strdup that accepts NULL. 0 or -ENOMEM. */
int text__copy(char **ret, const char *str);

/*
 * --- the one rule for names in all outputs: a name must not control a terminal, hide or reorder
 * the text around it. Invalid bytes become U+FFFD, hidden characters '?'.
 */

/*
 * True if the valid sequence of len bytes at s is a character that is not to be shown: C0, DEL, C1,
 * line ends, changes of the writing direction (U+202E), and what has no width (U+200B).
 */
bool text__is_hidden(const char *s, size_t len);

/* True if text__add_clean would add str as it is. */
bool text__is_clean(const char *str);

/* Adds str by this rule. */
void text__add_clean(struct strbuf *sb, const char *str);

/* True if text begins with these bytes. NULL begins with nothing; everything begins with NULL. */
bool text__begins(const char *text, const char *begin);

/*
 * True if the glob matches all of text: * stands for any bytes, ? for one. At most as many steps as
 * the product of both lengths.
 */
bool text__matches(const char *glob, const char *text);

/*
 * Length of the first line of text, if it may be a password or token; 0: it is empty, or has
 * control bytes.
 */
size_t text__secret_len(const char *text);

/* The part of a path after its last slash, or all of it; "" for NULL. */
const char *text__base_name(const char *path);

/* --- text in terminal columns */

/*
 * Adds str by the rule of text__add_clean. Cuts it to max columns, the last of them then "…".
 * Returns the columns used.
 */
unsigned cells__add(struct strbuf *sb, const char *str, unsigned max);

/* Columns of str when it is not cut. */
unsigned cells__width(const char *str);

/* --- names.c: short names of functions, and names of system calls */

/*
 * Adds the short name of a function: without C++ argument list, return type and qualifiers.
 * Template arguments become `templ` (such as "<…>", or ""); Rust's `<T as Trait>::f` becomes
 * `T::f`. With `plain`, parentheses are removed too (Go's `main.(*T).f` becomes `main.*T.f`,
 * `(anonymous namespace)` becomes `anonymous`). A name that does not parse as C++ is kept, as far
 * as it could be read.
 */
void function__add_short(struct strbuf *sb, const char *name, const char *templ, bool plain);

/*
 * The name of a system call by its number, for the architecture that this program is built for.
 * Static storage; NULL for an unknown number.
 */
const char *syscall__name(int nr);

/*
 * Like syscall__name, for 32-bit programs, which use other numbers (i386 on x86-64, arm on arm64).
 */
const char *syscall__name_32(int nr);

/* The number of a name of syscall__name; -1 for NULL or an unknown name. */
int syscall__nr(const char *name);

/* Does a call of this name give something to the other end of its descriptor? False for NULL. */
bool syscall__sends(const char *name);

#endif
