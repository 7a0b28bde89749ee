/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that come from traced programs (comm, paths, symbols) hold any bytes: made safe to show. */
#ifndef JANK_BASE_TEXT_H
#define JANK_BASE_TEXT_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * Length of the valid UTF-8 sequence at s (1 to 4; no overlong forms, surrogates or > U+10FFFF), or
 * 0.
 */
size_t text__utf8_len(const char *s, size_t left);

/* Length of str's part before its first byte that is not UTF-8, or before its end. */
size_t text__utf8_part(const char *str);

/* Adds str with U+FFFD for each byte that is not UTF-8. */
void text__add_utf8(struct strbuf *sb, const char *str);

/* Whether that sequence, len bytes long, is a control character: C0, DEL or C1. */
bool text__is_control(const char *s, size_t len);

/* Adds str as valid UTF-8 for a terminal or a line-based log: invalid bytes become U+FFFD, control
 * bytes (C0, DEL, C1) '?' . */
void text__add_clean(struct strbuf *sb, const char *str);

/* What is behind the last slash of a path, or all of it; "" for NULL. */
const char *text__base_name(const char *path);

#endif
