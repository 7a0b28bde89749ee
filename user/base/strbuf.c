/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A byte string that grows by doubling. After a failed allocation all calls do nothing. */
#include "base/strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRBUF_CAP_MIN 64

/* Makes room for `extra` more bytes and the NUL. */
static bool strbuf__grow(struct strbuf *sb, size_t extra)
{
	size_t need, cap;
	char *data;

	if (sb->failed)
		return false;
	if (__builtin_add_overflow(sb->len, extra, &need) || need >= SIZE_MAX / 2)
		goto fail;
	if (need < sb->cap)
		return true;
	cap = sb->cap ? sb->cap : STRBUF_CAP_MIN;
	while (cap <= need)
		cap *= 2;
	data = realloc(sb->data, cap);
	if (!data)
		goto fail;
	sb->data = data;
	sb->cap = cap;
	return true;
fail:
	sb->failed = true;
	return false;
}

void strbuf__add(struct strbuf *sb, const void *bytes, size_t len)
{
	if (!strbuf__grow(sb, len))
		return;
	if (len)
		memcpy(sb->data + sb->len, bytes, len);
	sb->len += len;
	sb->data[sb->len] = '\0';
}

void strbuf__adds(struct strbuf *sb, const char *str)
{
	strbuf__add(sb, str, strlen(str));
}

void strbuf__addc(struct strbuf *sb, char c)
{
	strbuf__add(sb, &c, 1);
}

void strbuf__addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf__vaddf(sb, fmt, ap);
	va_end(ap);
}

void strbuf__vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
	va_list again;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0) {
		sb->failed = true;
		return;
	}
	if (!strbuf__grow(sb, len))
		return;
	vsnprintf(sb->data + sb->len, (size_t)len + 1, fmt, ap);
	sb->len += len;
}

void strbuf__reset(struct strbuf *sb)
{
	sb->len = 0;
	sb->failed = false;
	if (sb->data)
		sb->data[0] = '\0';
}

void strbuf__free(struct strbuf *sb)
{
	free(sb->data);
	*sb = (struct strbuf)STRBUF_INIT;
}

const char *strbuf__str(const struct strbuf *sb)
{
	return sb->data ? sb->data : "";
}
