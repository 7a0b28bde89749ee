/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Safe display of names from traced programs (comm, paths, symbols), which may hold any bytes. */
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

/* Length of str before its first byte that is not UTF-8, or of all of str. */
size_t text__utf8_part(const char *str);

/* True if both are equal texts, or both NULL. */
bool text__same(const char *a, const char *b);

/* strdup that accepts NULL. 0 or -ENOMEM. */
int text__copy(char **ret, const char *str);

/* Adds str with U+FFFD in place of each byte that is not UTF-8. */
void text__add_utf8(struct strbuf *sb, const char *str);

/* True if the sequence of len bytes at s is a control character: C0, DEL or C1. */
bool text__is_control(const char *s, size_t len);

/*
 * Adds str as valid UTF-8 for a terminal or a line-based log: invalid bytes become U+FFFD, control
 * bytes (C0, DEL, C1) become '?'.
 */
void text__add_clean(struct strbuf *sb, const char *str);

/* The part of a path after its last slash, or all of it; "" for NULL. */
const char *text__base_name(const char *path);

#endif
