/* SPDX-License-Identifier: GPL-2.0 */
/* Page by page. A str keeps its characters in 1, 2 or 4 bytes each, whichever the largest needs. */
#include "symbol/interpreters/script_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "symbol/names/memory.h"

#define CHARS_MAX 4096

/* The bits of a str's state: 2 say whether it is interned. */
#define STATE_KIND(state) ((state) >> 2 & 7)
#define STATE_COMPACT	  (1u << 5)
#define STATE_ASCII	  (1u << 6)

int script_memory__read(const struct script_memory *mem, uint64_t addr, void *buf, size_t len)
{
	uint64_t page_sz = sysconf(_SC_PAGESIZE);
	uint8_t *to = buf;

	while (len) {
		size_t left = page_sz - addr % page_sz, step = len < left ? len : left;
		int res = memory__read(mem->proc, mem->pid, addr, to, step);

		if (res)
			return res;
		addr += step;
		to += step;
		len -= step;
	}
	return 0;
}

int script_memory__word(const struct script_memory *mem, uint64_t addr, uint64_t *ret)
{
	return script_memory__read(mem, addr, ret, sizeof(*ret));
}

static void add_utf8(struct strbuf *sb, uint32_t c)
{
	if (c < 0x80) {
		strbuf__addc(sb, c);
	} else if (c < 0x800) {
		strbuf__addc(sb, 0xc0 | c >> 6);
		strbuf__addc(sb, 0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		strbuf__addc(sb, 0xe0 | c >> 12);
		strbuf__addc(sb, 0x80 | (c >> 6 & 0x3f));
		strbuf__addc(sb, 0x80 | (c & 0x3f));
	} else {
		strbuf__addc(sb, 0xf0 | (c >> 18 & 7));
		strbuf__addc(sb, 0x80 | (c >> 12 & 0x3f));
		strbuf__addc(sb, 0x80 | (c >> 6 & 0x3f));
		strbuf__addc(sb, 0x80 | (c & 0x3f));
	}
}

static uint32_t char_at(const uint8_t *data, unsigned size, size_t i)
{
	uint32_t four;
	uint16_t two;

	if (size == 1)
		return data[i];
	if (size == 2) {
		memcpy(&two, data + i * 2, sizeof(two));
		return two;
	}
	memcpy(&four, data + i * 4, sizeof(four));
	return four;
}

static int to_utf8(const uint8_t *data, unsigned size, size_t cnt, char **ret)
{
	struct strbuf sb = STRBUF_INIT;
	uint32_t c;

	strbuf__adds(&sb, "");
	for (size_t i = 0; i < cnt; i++) {
		c = char_at(data, size, i);
		if (!c)
			break;
		/* Half a surrogate pair stands for a byte that was no UTF-8: a path may be anything. */
		add_utf8(&sb, c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
	}
	*ret = sb.failed ? NULL : strdup(strbuf__str(&sb));
	strbuf__free(&sb);
	return *ret ? 0 : -ENOMEM;
}

int script_memory__text(const struct script_memory *mem, const struct script_offsets *offsets,
			uint64_t addr, char **ret)
{
	uint8_t head[64], data[CHARS_MAX * 4];
	uint64_t length;
	uint32_t state;
	unsigned size;
	int res;

	if (offsets->unicode.length + sizeof(length) > sizeof(head) ||
	    offsets->unicode.state + sizeof(state) > sizeof(head))
		return -EINVAL;
	res = script_memory__read(mem, addr, head,
				  offsets->unicode.ascii_sz < sizeof(head)
					  ? offsets->unicode.ascii_sz
					  : sizeof(head));
	if (res)
		return res;
	memcpy(&length, head + offsets->unicode.length, sizeof(length));
	memcpy(&state, head + offsets->unicode.state, sizeof(state));
	size = STATE_KIND(state);
	if (!(state & STATE_COMPACT) || (size != 1 && size != 2 && size != 4))
		return -EINVAL;
	if (length > CHARS_MAX)
		length = CHARS_MAX;
	addr += state & STATE_ASCII ? offsets->unicode.ascii_sz : offsets->unicode.compact_sz;
	res = length ? script_memory__read(mem, addr, data, length * size) : 0;
	return res ?: to_utf8(data, size, length, ret);
}

int script_memory__bytes(const struct script_memory *mem, const struct script_offsets *offsets,
			 uint64_t addr, size_t max, uint8_t **ret, size_t *ret_size)
{
	uint64_t size;
	uint8_t *data;
	int res = script_memory__word(mem, addr + offsets->bytes.size, &size);

	if (res)
		return res;
	if (!size || size > max)
		return -EINVAL;
	data = malloc(size);
	if (!data)
		return -ENOMEM;
	res = script_memory__read(mem, addr + offsets->bytes.data, data, size);
	if (res) {
		free(data);
		return res;
	}
	*ret = data;
	*ret_size = size;
	return 0;
}
