/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Methods: Method → ConstMethod (with bytecode and table of lines) → ConstantPool → class. Names
 * are Symbols: a length and modified UTF-8.
 */
#include "symbol/languages/hotspot.h"

#include <stdio.h>
#include <string.h>

#define ALIGNED(addr)	 (!((addr)&7))
#define ACC_NATIVE	 0x100
#define TAG_UTF8	 1
#define TAGS_BEGIN	 4 /* of an Array<u1>, behind its length */
#define CONST_METHOD_MAX (1u << 20)
#define LINES_MAX	 (8u << 10)

bool hs_method__read(struct hotspot *hs, uint64_t addr, struct hs_method *ret)
{
	uint64_t words;

	*ret = (struct hs_method){ .method = addr };
	if (!addr || !ALIGNED(addr))
		return false;
	ret->constant = hs__get(hs, addr, HS_METHOD_CONST);
	ret->native = hs__get(hs, addr, HS_METHOD_ACCESS) & ACC_NATIVE;
	if (!ret->constant || !ALIGNED(ret->constant))
		return false;
	ret->pool = hs__get(hs, ret->constant, HS_CONST_POOL);
	words = hs__get(hs, ret->constant, HS_CONST_SIZE);
	ret->code = ret->constant + hs->at[HS_SIZE_CONST_METHOD];
	ret->code_size = (uint32_t)hs__get(hs, ret->constant, HS_CONST_CODE_SIZE);
	ret->name = (uint32_t)hs__get(hs, ret->constant, HS_CONST_NAME);
	ret->has_lines = hs__get(hs, ret->constant, HS_CONST_FLAGS) & hs->at[HS_HAS_LINES];
	if (!ret->pool || !ALIGNED(ret->pool) || words > CONST_METHOD_MAX / 8 ||
	    words * 8 < ret->code + ret->code_size - ret->constant)
		return false;
	ret->size = (uint32_t)words * 8;
	return !hs->reader->later;
}

/* --- names */

static bool is_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return len;
}

/* Copies a Symbol's text. Returns false when it is none, is too long, or is not read yet. */
static bool read_symbol(struct hotspot *hs, uint64_t symbol, char *buf, size_t cap)
{
	uint64_t len = hs__get(hs, symbol, HS_SYMBOL_LENGTH);

	buf[0] = '\0';
	if (!symbol || !len || len >= cap ||
	    !hs__read(hs, symbol + hs->at[HS_SYMBOL_BODY], buf, len))
		return false;
	buf[len] = '\0';
	return is_text(buf, len);
}

/* The Symbol at an index of the method's pool; 0: none there. */
static uint64_t symbol_at(struct hotspot *hs, const struct hs_method *method, uint32_t index)
{
	uint64_t tags = hs__get(hs, method->pool, HS_POOL_TAGS), symbol;
	uint32_t length = (uint32_t)hs__get(hs, method->pool, HS_POOL_LENGTH);
	uint8_t tag = 0;

	if (!tags || !index || index >= length)
		return 0;
	hs__read(hs, tags + TAGS_BEGIN + index, &tag, sizeof(tag));
	symbol = hs__word(hs, method->pool + hs->at[HS_SIZE_POOL] + 8ull * index);
	return tag == TAG_UTF8 ? symbol : 0;
}

/*
 * From "com/example/Main" to "com.example.Main". A hidden class has an address behind '+', one of a
 * lambda expression a number, too: neither is the same in the next run.
 */
static void tidy_class(char *name)
{
	static const char lambda[] = "$$Lambda";
	char *at = strstr(name, lambda), *hidden = strstr(name, "+0x");

	if (at)
		at[strlen(lambda)] = '\0';
	else if (hidden)
		*hidden = '\0';
	for (at = name; *at; at++)
		if (*at == '/')
			*at = '.';
}

/* The class of a method; 0: it does not know the method's pool, so it is none. */
static uint64_t holder_of(struct hotspot *hs, const struct hs_method *method)
{
	uint64_t ret = hs__get(hs, method->pool, HS_POOL_HOLDER);

	return ALIGNED(ret) && hs__get(hs, ret, HS_KLASS_POOL) == method->pool ? ret : 0;
}

static uint32_t file_index(struct hotspot *hs, const struct hs_method *method, uint64_t holder)
{
	if (hs_layout__has(hs->layout, HS_POOL_FILE))
		return (uint32_t)hs__get(hs, method->pool, HS_POOL_FILE);
	return (uint32_t)hs__get(hs, holder, HS_KLASS_FILE);
}

bool hs_method__name(struct hotspot *hs, const struct hs_method *method, char *name, char *file)
{
	uint64_t holder = holder_of(hs, method);
	uint64_t own = symbol_at(hs, method, method->name);
	char text[HS_NAME_MAX];
	size_t len;
	bool has_class, has_name;

	read_symbol(hs, symbol_at(hs, method, file_index(hs, method, holder)), file, HS_FILE_MAX);
	has_class = read_symbol(hs, hs__get(hs, holder, HS_KLASS_NAME), name, HS_NAME_MAX);
	has_name = read_symbol(hs, own, text, sizeof(text));
	if (!has_class || !has_name || strpbrk(text, "./;["))
		return false;
	tidy_class(name);
	len = strlen(name);
	if (len + 1 + strlen(text) >= HS_NAME_MAX)
		return false;
	snprintf(name + len, HS_NAME_MAX - len, ".%s", text);
	return true;
}

/* The table of lines follows the bytecode. */
uint32_t hs_method__line(struct hotspot *hs, const struct hs_method *method, int32_t bci)
{
	static _Thread_local uint8_t table[LINES_MAX]; /* too large for a stack */
	uint64_t begin = method->code + method->code_size, end = method->constant + method->size;
	size_t len = end - begin < LINES_MAX ? end - begin : LINES_MAX;

	if (bci < 0 || !method->has_lines || method->native || !hs__read(hs, begin, table, len) ||
	    hs->reader->later)
		return 0;
	return hs_lines__find(table, len, hs__excluded(hs), (uint32_t)bci);
}
