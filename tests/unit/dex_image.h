/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writer of small DEX files, as no assembler makes them: CompactDex whose files share their data,
 * and containers of version 041. Only what the reader uses is filled.
 */
#ifndef JANK_TEST_DEX_IMAGE_H
#define JANK_TEST_DEX_IMAGE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "symbol/languages/dex.h"

#define DEX_IMAGE_SZ	16384
#define DEX_IMAGE_FILES 2
#define DEX_IMAGE_LINE	3 /* an entry of lines after so many units */

enum dex_image_kind { DEX_IMAGE_035, DEX_IMAGE_COMPACT, DEX_IMAGE_041 };

struct dex_image_method {
	const char *name;
	uint32_t units;	     /* 0: no code */
	uint32_t first_line; /* 0: no lines */
	int same_as;	     /* index of an earlier method with the same code, plus 1 */
	bool is_virtual;
};

struct dex_image_class {
	const char *type, *source; /* "La/B;"; source may be NULL */
	unsigned field_cnt, method_cnt;
	const struct dex_image_method *methods; /* direct ones first */
};

struct dex_image {
	uint8_t bytes[DEX_IMAGE_SZ];
	uint32_t len;
	uint32_t begin[DEX_IMAGE_FILES];     /* of the headers */
	uint32_t insns[DEX_IMAGE_FILES][64]; /* of each method, from the image's begin */
};

static inline void di__put(struct dex_image *im, uint32_t at, uint32_t value, unsigned size)
{
	memcpy(im->bytes + at, &value, size);
}

static inline void di__add(struct dex_image *im, uint32_t value, unsigned size)
{
	di__put(im, im->len, value, size);
	im->len += size;
}

static inline void di__uleb(struct dex_image *im, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		di__add(im, value | 0x80, 1);
	di__add(im, value, 1);
}

static inline void di__align(struct dex_image *im)
{
	im->len = (im->len + 3) & ~3u;
}

/* State of one file. */
struct di_file {
	enum dex_image_kind kind;
	uint32_t header, base, strings, types, methods, classes; /* positions */
	uint32_t data;						 /* what data offsets count from */
	uint32_t string_cnt, method_cnt;
	const struct dex_image_class *list;
	unsigned cnt;
};

static inline uint32_t di__string(struct dex_image *im, struct di_file *f, const char *text)
{
	di__put(im, f->strings + 4 * f->string_cnt, im->len - f->data, 4);
	di__uleb(im, strlen(text));
	memcpy(im->bytes + im->len, text, strlen(text) + 1);
	im->len += strlen(text) + 1;
	return f->string_cnt++;
}

/* Advances of one entry each; the first line also by an ADVANCE_LINE, below and above. */
static inline uint32_t di__lines(struct dex_image *im, const struct di_file *f,
				 const struct dex_image_method *m)
{
	uint32_t begin = im->len;

	di__uleb(im, m->first_line + 100);
	di__uleb(im, 1);
	di__uleb(im, 0);
	di__add(im, 7, 1);
	di__add(im, 2, 1); /* by -100 */
	di__add(im, 0x9c, 1);
	di__add(im, 0x7f, 1);
	di__add(im, 0x0a + 4, 1);
	for (uint32_t unit = DEX_IMAGE_LINE; unit < m->units; unit += DEX_IMAGE_LINE)
		di__add(im, 0x0a + 15 * DEX_IMAGE_LINE + 4 + 2, 1); /* two lines further */
	di__add(im, 0, 1);
	return begin - f->data;
}

static inline uint32_t di__code(struct dex_image *im, const struct di_file *f,
				const struct dex_image_method *m, uint32_t lines,
				uint32_t *ret_insns)
{
	bool large = m->units >= 1u << 11;
	uint32_t begin;

	di__align(im);
	if (f->kind == DEX_IMAGE_COMPACT) {
		if (large) {
			di__add(im, m->units >> 16, 2);
			di__add(im, m->units & 0xffff, 2);
		}
		begin = im->len;
		di__add(im, 0x1234, 2);
		di__add(im, large ? 0x10 : m->units << 5, 2);
	} else {
		begin = im->len;
		di__add(im, 0x00010002, 4);
		di__add(im, 0, 4);
		di__add(im, lines, 4);
		di__add(im, m->units, 4);
	}
	*ret_insns = im->len;
	im->len += 2 * m->units;
	return begin - f->data;
}

/* CompactDex: where the lines of each method are. */
static inline void di__debug_table(struct dex_image *im, const struct di_file *f,
				   const uint32_t *lines)
{
	uint32_t blocks, table, base = UINT32_MAX, last;

	for (uint32_t i = 0; i < f->method_cnt; i++)
		if (lines[i] && lines[i] < base)
			base = lines[i];
	di__align(im);
	blocks = im->len;
	table = blocks + 4 * 64;
	im->len = table + 4 * ((f->method_cnt + 15) / 16);
	for (uint32_t i = 0; i < f->method_cnt; i += 16) {
		uint32_t bits = 0;

		di__put(im, table + i / 16 * 4, im->len - blocks, 4);
		for (uint32_t k = i; k < i + 16 && k < f->method_cnt; k++)
			bits |= lines[k] ? 1u << (k - i) : 0;
		di__add(im, bits >> 8, 1);
		di__add(im, bits, 1);
		last = base;
		for (uint32_t k = i; k < i + 16 && k < f->method_cnt; k++) {
			if (!lines[k])
				continue;
			di__uleb(im, lines[k] - last);
			last = lines[k];
		}
	}
	di__put(im, f->header + 0x74, blocks - f->data, 4);
	di__put(im, f->header + 0x78, table - blocks, 4);
	di__put(im, f->header + 0x7c, base, 4);
}

static inline void di__class_data(struct dex_image *im, const struct di_file *f,
				  const struct dex_image_class *class, uint32_t first,
				  const uint32_t *codes)
{
	uint32_t virtual = 0, last = 0;

	for (unsigned i = 0; i < class->method_cnt; i++)
		virtual += class->methods[i].is_virtual;
	di__uleb(im, class->field_cnt / 2);
	di__uleb(im, class->field_cnt - class->field_cnt / 2);
	di__uleb(im, class->method_cnt - virtual);
	di__uleb(im, virtual);
	for (unsigned i = 0; i < class->field_cnt; i++) {
		di__uleb(im, 1);
		di__uleb(im, 0x1000a);
	}
	for (unsigned i = 0; i < class->method_cnt; i++) {
		if (i == class->method_cnt - virtual)
			last = 0;
		di__uleb(im, first + i - last);
		last = first + i;
		di__uleb(im, 0x10001);
		di__uleb(im, codes[first + i]);
	}
}

static inline uint32_t di__count(const struct dex_image_class *list, unsigned cnt)
{
	uint32_t ret = 0;

	for (unsigned i = 0; i < cnt; i++)
		ret += list[i].method_cnt;
	return ret;
}

/* Header and tables, which have room for what follows. */
static inline void di__tables(struct dex_image *im, struct di_file *f, enum dex_image_kind kind,
			      const struct dex_image_class *list, unsigned cnt)
{
	static const char *const magics[] = { "dex\n035", "cdex001", "dex\n041" };
	uint32_t methods = di__count(list, cnt), at;

	*f = (struct di_file){ .kind = kind, .header = im->len, .list = list, .cnt = cnt };
	memcpy(im->bytes + f->header, magics[kind], 8);
	f->strings = f->header + (kind == DEX_IMAGE_COMPACT ? 0x88 : kind ? 0x78 : 0x70);
	f->types = f->strings + 4 * (methods + 2 * cnt);
	f->methods = f->types + 4 * cnt;
	f->classes = f->methods + 8 * methods;
	im->len = f->classes + 32 * cnt;
	f->base = kind == DEX_IMAGE_041 ? 0 : f->header;
	at = f->header;
	di__put(im, at + 40, 0x12345678, 4);
	di__put(im, at + 56, methods + 2 * cnt, 4);
	di__put(im, at + 60, f->strings - f->base, 4);
	di__put(im, at + 64, cnt, 4);
	di__put(im, at + 68, f->types - f->base, 4);
	di__put(im, at + 88, methods, 4);
	di__put(im, at + 92, f->methods - f->base, 4);
	di__put(im, at + 96, cnt, 4);
	di__put(im, at + 100, f->classes - f->base, 4);
}

static inline void di__method(struct dex_image *im, struct di_file *f, uint32_t *insns,
			      uint32_t *codes, uint32_t *lines, const struct dex_image_method *m)
{
	uint32_t nr = f->method_cnt++;

	if (m->same_as) {
		codes[nr] = codes[m->same_as - 1];
		insns[nr] = insns[m->same_as - 1];
		return;
	}
	lines[nr] = m->first_line ? di__lines(im, f, m) : 0;
	codes[nr] = m->units ? di__code(im, f, m, lines[nr], &insns[nr]) : 0;
}

static inline void di__data(struct dex_image *im, struct di_file *f, uint32_t data, uint32_t *insns)
{
	uint32_t codes[64] = {}, lines[64] = {}, first = 0;

	f->data = f->kind == DEX_IMAGE_COMPACT ? data : f->base;
	for (unsigned i = 0; i < f->cnt; i++) {
		const struct dex_image_class *class = &f->list[i];
		uint32_t def = f->classes + 32 * i;

		di__put(im, f->types + 4 * i, di__string(im, f, class->type), 4);
		di__put(im, def, i, 4);
		di__put(im, def + 16, class->source ? di__string(im, f, class->source) : UINT32_MAX,
			4);
		for (unsigned k = 0; k < class->method_cnt; k++) {
			uint32_t id = f->methods + 8 * f->method_cnt;

			di__put(im, id, i, 2);
			di__put(im, id + 4, di__string(im, f, class->methods[k].name), 4);
			di__method(im, f, insns, codes, lines, &class->methods[k]);
		}
	}
	for (unsigned i = 0; i < f->cnt; i++) {
		di__align(im);
		di__put(im, f->classes + 32 * i + 24, im->len - f->data, 4);
		di__class_data(im, f, &f->list[i], first, codes);
		first += f->list[i].method_cnt;
	}
	if (f->kind == DEX_IMAGE_COMPACT)
		di__debug_table(im, f, lines);
}

/* The sizes that the headers state; last, when everything is there. */
static inline void di__sizes(struct dex_image *im, const struct di_file *files, unsigned cnt,
			     uint32_t data)
{
	for (unsigned i = 0; i < cnt; i++) {
		uint32_t at = files[i].header;
		uint32_t next = i + 1 < cnt ? files[i + 1].header : im->len;

		di__put(im, at + 32, next - at, 4);
		if (files[i].kind == DEX_IMAGE_COMPACT) {
			di__put(im, at + 32, files[i].classes + 32 * files[i].cnt - at, 4);
			di__put(im, at + 104, im->len - data, 4);
			di__put(im, at + 108, data - at, 4);
		} else if (files[i].kind == DEX_IMAGE_041) {
			di__put(im, at + 0x70, im->len, 4);
			di__put(im, at + 0x74, at, 4);
		}
	}
}

/* Several files share their data, but for version 035, of which there can be one. */
static inline void dex_image__make(struct dex_image *im, enum dex_image_kind kind,
				   const struct dex_image_class *const *lists, const unsigned *cnts,
				   unsigned file_cnt)
{
	struct di_file files[DEX_IMAGE_FILES];
	uint32_t data;

	memset(im, 0, sizeof(*im));
	for (unsigned i = 0; i < file_cnt; i++) {
		im->begin[i] = im->len;
		di__tables(im, &files[i], kind, lists[i], cnts[i]);
	}
	data = im->len;
	for (unsigned i = 0; i < file_cnt; i++)
		di__data(im, &files[i], data, im->insns[i]);
	di__sizes(im, files, file_cnt, data);
}

/* --- a dex_bytes of memory */

struct dex_memory {
	const uint8_t *bytes;
	size_t len;
};

static inline int64_t dex_memory__read(void *ctx, uint64_t at, void *buf, size_t len)
{
	const struct dex_memory *memory = ctx;

	if (at >= memory->len)
		return -1;
	if (len > memory->len - at)
		len = memory->len - at;
	memcpy(buf, memory->bytes + at, len);
	return (int64_t)len;
}

/* --- two files with everything that the format can say */

static const struct dex_image_method dex_image_a[] = {
	{ "<init>", 4, 10, 0, false },
	{ "abstract", 0, 0, 0, true },
	{ "run", 40, 20, 0, true },
	{ "run", 7, 300, 0, true }, /* an overload */
};
static const struct dex_image_method dex_image_b[] = {
	{ "a", 5, 0, 0, false }, /* without lines */
	{ "twin", 5, 0, 5, false },
	{ "large", 2100, 1000, 0, false },
};
static const struct dex_image_method dex_image_c[] = {
	{ "onClick", 9, 70, 0, true },
	{ "sameAsB", 5, 0, 5, true },
};
static const struct dex_image_method dex_image_d[] = {
	{ "get", 3, 5, 0, false },
};

static const struct dex_image_class dex_image_first[] = {
	{ "Lcom/example/Main;", "Main.java", 3, 4, dex_image_a },
	{ "La/b;", NULL, 0, 3, dex_image_b },
	{ "Lcom/example/Main$1;", "Main.java", 300, 2, dex_image_c },
};
static const struct dex_image_class dex_image_second[] = {
	{ "Lcom/example/Other;", "Other.kt", 1, 1, dex_image_d },
};

static inline void dex_image__make_two(struct dex_image *im, enum dex_image_kind kind)
{
	static const struct dex_image_class *const lists[] = { dex_image_first, dex_image_second };
	static const unsigned cnts[] = { 3, 1 };

	dex_image__make(im, kind, lists, cnts, kind == DEX_IMAGE_035 ? 1 : 2);
}

#endif
