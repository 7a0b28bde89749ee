/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing byte string. It is NUL-terminated once anything was added. The owner frees it with
 * strbuf__free.
 */
#ifndef JANK_BASE_STRBUF_H
#define JANK_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct strbuf {
	char *data; /* NULL until something is added */
	size_t len, cap;
	bool failed; /* an allocation failed: later calls do nothing; test it once, at the end */
};

#define STRBUF_INIT                                                                                \
	{                                                                                          \
		NULL, 0, 0, false                                                                  \
	}

void strbuf__add(struct strbuf *sb, const void *bytes, size_t len);
void strbuf__adds(struct strbuf *sb, const char *str);
void strbuf__addc(struct strbuf *sb, char c);
void strbuf__addf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf__vaddf(struct strbuf *sb, const char *fmt, va_list ap);
void strbuf__reset(struct strbuf *sb); /* empties, keeps the memory */
void strbuf__free(struct strbuf *sb);
const char *strbuf__str(const struct strbuf *sb); /* "" when empty, never NULL */

#endif
