/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "name/wire.h"

#include <string.h>

#define NO_TEXT UINT32_MAX

const void *wire__take_bytes(struct wire *wire, size_t size)
{
	const char *bytes = wire->at;

	if (wire->bad || size > wire->left) {
		wire->bad = true;
		return NULL;
	}
	wire->at += size;
	wire->left -= size;
	return bytes;
}

void wire__take(struct wire *wire, void *to, size_t size)
{
	const void *bytes = wire__take_bytes(wire, size);

	if (bytes)
		memcpy(to, bytes, size);
	else
		memset(to, 0, size);
}

/* A text is sent with its NUL, and has no other. */
const char *wire__take_text(struct wire *wire, size_t *ret_len)
{
	const char *text = wire->at + sizeof(uint32_t);
	uint32_t len;

	*ret_len = 0;
	wire__take(wire, &len, sizeof(len));
	if (wire->bad || len == NO_TEXT)
		return NULL;
	if (len >= wire->left || strnlen(text, len + 1) != len) {
		wire->bad = true;
		return NULL;
	}
	wire->at += len + 1;
	wire->left -= len + 1;
	*ret_len = len;
	return text;
}

void wire__put_text(struct strbuf *sb, const char *text)
{
	uint32_t len = text ? (uint32_t)strlen(text) : NO_TEXT;

	strbuf__add(sb, &len, sizeof(len));
	if (text)
		strbuf__add(sb, text, len + 1);
}
