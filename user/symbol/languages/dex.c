/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Headers, classes and methods. See dex.h. */
#include "symbol/languages/dex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_SZ     0x70
#define HEADER_41_SZ  0x78 /* with the container's size and the header's offset */
#define HEADER_C_SZ   0x88 /* CompactDex */
#define ENDIAN	      0x12345678
#define NO_INDEX      UINT32_MAX
#define METHODS_MAX   65536u /* of a file: their ids have 16 bits in instructions */
#define FIELDS_MAX    65536u
#define CLASS_DEF_SZ  32
#define SOURCE_FILE   16 /* members of a class definition */
#define CLASS_DATA    24
#define METHOD_ID_SZ  8
#define STD_INSNS_OFF 16
#define C_INSNS_OFF   4

/* --- numbers */

static const uint8_t *find_at(struct dex_bytes *bytes, uint64_t at, size_t len)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct dex_window *window = &bytes->windows[bytes->recent ^ i];

		if (at < window->at || len > window->len || at - window->at > window->len - len)
			continue;
		bytes->recent ^= i;
		return window->bytes + (at - window->at);
	}
	return NULL;
}

static const uint8_t *window_at(struct dex_bytes *bytes, uint64_t at, size_t len)
{
	const uint8_t *ret = find_at(bytes, at, len);
	struct dex_window *window;
	int64_t got;

	if (ret)
		return ret;
	bytes->recent ^= 1;
	window = &bytes->windows[bytes->recent];
	window->len = 0;
	got = bytes->read(bytes->ctx, at, window->bytes, sizeof(window->bytes));
	if (got <= 0)
		return NULL;
	window->at = at;
	window->len = got;
	return len <= window->len ? window->bytes : NULL;
}

struct dex_cursor dex__cursor(const struct dex *dex, struct dex_bytes *bytes, uint64_t data_off)
{
	return (struct dex_cursor){ .bytes = bytes,
				    .at = dex->data + data_off,
				    .end = dex->base + dex->size };
}

/* Reads a number of at most 4 bytes, little-endian as all supported machines. */
uint32_t dex_cursor__fixed(struct dex_cursor *cur, unsigned size)
{
	const uint8_t *from = cur->bad || cur->at > cur->end || size > cur->end - cur->at
				      ? NULL
				      : window_at(cur->bytes, cur->at, size);
	uint32_t ret = 0;

	cur->bad |= !from;
	if (from)
		memcpy(&ret, from, size);
	cur->at += size;
	return ret;
}

static uint32_t leb(struct dex_cursor *cur, unsigned *ret_bits, uint8_t *ret_last)
{
	uint32_t ret = 0;
	unsigned bits = 0;
	uint8_t byte;

	do {
		byte = dex_cursor__fixed(cur, 1);
		ret |= (uint32_t)(byte & 0x7f) << bits;
		bits += 7;
		cur->bad |= bits == 35 && byte & 0x80; /* five bytes at most */
	} while (byte & 0x80 && !cur->bad);
	*ret_bits = bits;
	*ret_last = byte;
	return ret;
}

uint32_t dex_cursor__uleb(struct dex_cursor *cur)
{
	unsigned bits;
	uint8_t last;

	return leb(cur, &bits, &last);
}

int32_t dex_cursor__sleb(struct dex_cursor *cur)
{
	unsigned bits;
	uint8_t last;
	uint32_t ret = leb(cur, &bits, &last);

	if (bits < 32 && last & 0x40)
		ret |= UINT32_MAX << bits;
	return (int32_t)ret;
}

/* --- the header */

static struct dex_table table_at(struct dex_cursor *cur)
{
	struct dex_table ret;

	ret.cnt = dex_cursor__fixed(cur, 4);
	ret.off = dex_cursor__fixed(cur, 4);
	return ret;
}

static bool fits(const struct dex *dex, const struct dex_table *table, size_t size)
{
	return table->off <= dex->size && table->cnt <= (dex->size - table->off) / size;
}

/* Returns the version; 0: CompactDex; below 0: none. */
static int version_of(const char magic[8])
{
	int ret;

	if (!memcmp(magic, "cdex001", 8))
		return 0;
	if (memcmp(magic, "dex\n0", 5) || magic[7])
		return -1;
	ret = (magic[5] - '0') * 10 + magic[6] - '0';
	return ret >= 35 && ret <= 41 && ret != 36 ? ret : -1;
}

uint32_t dex__word(struct dex_bytes *bytes, uint64_t at)
{
	struct dex_cursor cur = { .bytes = bytes, .at = at, .end = UINT64_MAX };

	return dex_cursor__fixed(&cur, 4);
}

/* Offsets of data of CompactDex count from data_off, which several files may share. */
static void read_compact(struct dex *dex, struct dex_bytes *bytes, uint64_t at)
{
	uint32_t data_size = dex__word(bytes, at + 104), data_off = dex__word(bytes, at + 108);

	dex->compact = true;
	dex->data = at + data_off;
	if ((uint64_t)data_off + data_size > dex->size)
		dex->size = (uint64_t)data_off + data_size;
	dex->debug_pos = dex__word(bytes, at + 0x74);
	dex->debug_table = dex__word(bytes, at + 0x78);
	dex->debug_base = dex__word(bytes, at + 0x7c);
}

static int read_container(struct dex *dex, struct dex_bytes *bytes, uint64_t at, uint32_t size)
{
	uint32_t whole = dex__word(bytes, at + 0x70), own = dex__word(bytes, at + 0x74);

	if (own > at || own > whole || size > whole - own || size < HEADER_41_SZ)
		return -ENOEXEC;
	dex->base = dex->data = at - own;
	dex->size = whole;
	dex->next = size < whole - own ? at + size : 0;
	return 0;
}

int dex__open(struct dex *dex, struct dex_bytes *bytes, uint64_t at)
{
	const uint8_t *magic = window_at(bytes, at, HEADER_SZ);
	struct dex_cursor cur = { .bytes = bytes, .at = at + 56, .end = UINT64_MAX };
	uint32_t size;
	int version;

	*dex = (struct dex){ .base = at, .data = at };
	if (!magic || at > INT64_MAX)
		return -ENOEXEC;
	version = version_of((const char *)magic);
	size = dex__word(bytes, at + 32);
	if (version < 0 || dex__word(bytes, at + 40) != ENDIAN || size < HEADER_SZ)
		return -ENOEXEC;
	dex->size = size;
	if (!version && size < HEADER_C_SZ)
		return -ENOEXEC;
	if (!version)
		read_compact(dex, bytes, at);
	else if (version == 41 && read_container(dex, bytes, at, size))
		return -ENOEXEC;
	dex->strings = table_at(&cur);
	dex->types = table_at(&cur);
	cur.at = at + 88;
	dex->methods = table_at(&cur);
	dex->classes = table_at(&cur);
	if (cur.bad || !fits(dex, &dex->strings, 4) || !fits(dex, &dex->types, 4) ||
	    !fits(dex, &dex->methods, METHOD_ID_SZ) || !fits(dex, &dex->classes, CLASS_DEF_SZ) ||
	    dex->classes.cnt > DEX_CLASS_MAX)
		return -ENOEXEC;
	return 0;
}

void dex__free(struct dex *dex)
{
	free(dex->runs);
	*dex = (struct dex){};
}

/* --- classes */

/* A member of a class definition. */
static uint32_t class_word(const struct dex *dex, struct dex_bytes *bytes, uint32_t class_def,
			   unsigned off)
{
	return dex__word(bytes,
			 dex->base + dex->classes.off + (uint64_t)class_def * CLASS_DEF_SZ + off);
}

/* What reading all classes may still cost. */
struct class_budget {
	uint32_t fields, methods;
};

struct class_methods {
	struct dex_cursor cur;
	uint32_t left;	  /* methods that follow before the virtual ones */
	uint32_t virtual; /* methods that follow then */
	uint32_t index;	  /* of the last one that was read */
};

/* Goes to the methods of a class. Returns false when it has none, or is broken. */
static bool methods_of(const struct dex *dex, struct dex_bytes *bytes, uint32_t class_def,
		       struct class_budget *budget, struct class_methods *ret)
{
	uint32_t off = class_word(dex, bytes, class_def, CLASS_DATA);
	uint64_t fields;

	if (!off)
		return false;
	*ret = (struct class_methods){ .cur = dex__cursor(dex, bytes, off) };
	fields = dex_cursor__uleb(&ret->cur);
	fields += dex_cursor__uleb(&ret->cur);
	ret->left = dex_cursor__uleb(&ret->cur);
	ret->virtual = dex_cursor__uleb(&ret->cur);
	if (ret->cur.bad || fields > budget->fields ||
	    (uint64_t)ret->left + ret->virtual > budget->methods)
		return false;
	budget->fields -= fields;
	budget->methods -= ret->left + ret->virtual;
	for (; fields; fields--) {
		dex_cursor__uleb(&ret->cur); /* index */
		dex_cursor__uleb(&ret->cur); /* access flags */
	}
	return !ret->cur.bad;
}

/* The next method, which may have no code (*ret_code 0). Returns false at the end. */
static bool next_method(struct class_methods *methods, uint32_t *ret_code)
{
	if (!methods->left) {
		methods->left = methods->virtual;
		methods->virtual = 0;
		methods->index = 0; /* they count anew */
	}
	if (!methods->left)
		return false;
	methods->left--;
	methods->index += dex_cursor__uleb(&methods->cur);
	dex_cursor__uleb(&methods->cur); /* access flags */
	*ret_code = dex_cursor__uleb(&methods->cur);
	return !methods->cur.bad;
}

/* --- the index */

static int compare_runs(const void *a, const void *b)
{
	const struct dex_run *x = a, *y = b;

	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return (int)x->class_def - (int)y->class_def;
}

/*
 * Joins sorted runs: neighbours of one class, and those of the same code, which is shared when the
 * classes differ.
 */
static size_t join_runs(struct dex_run *runs, size_t cnt)
{
	size_t ret = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct dex_run *last = ret ? &runs[ret - 1] : NULL;
		bool shared = false;

		for (size_t k = i + 1; k < cnt && runs[k].code == runs[i].code; k++)
			shared |= runs[k].class_def != runs[i].class_def;
		if (shared || !last || last->shared || last->class_def != runs[i].class_def) {
			runs[ret] = runs[i];
			runs[ret++].shared = shared;
		}
		while (i + 1 < cnt && runs[i + 1].code == runs[i].code)
			i++;
	}
	return ret;
}

static int add_run(struct dex *dex, size_t *cap, uint32_t code, uint16_t class_def)
{
	struct dex_run *last = dex->run_cnt ? &dex->runs[dex->run_cnt - 1] : NULL;

	if (dex->run_cnt == *cap) {
		size_t grown = *cap ? *cap * 2 : 256;
		struct dex_run *runs = reallocarray(dex->runs, grown, sizeof(*runs));

		if (!runs)
			return -ENOMEM;
		dex->runs = runs;
		*cap = grown;
		last = dex->run_cnt ? &runs[dex->run_cnt - 1] : NULL;
	}
	if (last && last->code == code && last->class_def == class_def)
		return 0;
	dex->runs[dex->run_cnt++] = (struct dex_run){ code, class_def, false };
	return 0;
}

int dex__index(struct dex *dex, struct dex_bytes *bytes)
{
	struct class_budget budget = { FIELDS_MAX, METHODS_MAX };
	struct class_methods methods;
	struct dex_run *fitting;
	uint32_t code;
	size_t cap = 0;

	for (uint32_t i = 0; i < dex->classes.cnt; i++) {
		if (!methods_of(dex, bytes, i, &budget, &methods))
			continue;
		while (next_method(&methods, &code))
			if (code && add_run(dex, &cap, code, i))
				return -ENOMEM;
	}
	if (!dex->run_cnt)
		return 0;
	qsort(dex->runs, dex->run_cnt, sizeof(*dex->runs), compare_runs);
	dex->run_cnt = join_runs(dex->runs, dex->run_cnt);
	fitting = reallocarray(dex->runs, dex->run_cnt, sizeof(*fitting));
	dex->runs = fitting ?: dex->runs;
	return 0;
}

/* --- code */

/* Five fields of CompactDex have 4 bits, and 11 the size; what does not fit stands before them. */
static uint32_t compact_units(struct dex_cursor *cur)
{
	uint32_t fields = dex_cursor__fixed(cur, 2), flags = dex_cursor__fixed(cur, 2);
	uint64_t begin = cur->at - 4;
	uint32_t ret = flags >> 5;

	(void)fields;
	if (!(flags & 0x10))
		return ret;
	cur->at = begin - 2;
	ret += dex_cursor__fixed(cur, 2);
	cur->at = begin - 4;
	ret += dex_cursor__fixed(cur, 2) << 16;
	return ret;
}

/* Reads the code of a method. Returns false when it lies outside of the file. */
static bool read_code(const struct dex *dex, struct dex_bytes *bytes, struct dex_method *method)
{
	struct dex_cursor cur = dex__cursor(dex, bytes, method->code);
	uint64_t insns = (uint64_t)method->code + (dex->compact ? C_INSNS_OFF : STD_INSNS_OFF);

	if (dex->compact) {
		method->unit_cnt = compact_units(&cur);
	} else {
		cur.at += 8;
		method->debug_info = dex_cursor__fixed(&cur, 4);
		method->unit_cnt = dex_cursor__fixed(&cur, 4);
	}
	method->insns = insns;
	return !cur.bad && dex->data + insns + 2 * (uint64_t)method->unit_cnt <= cur.end;
}

/* The last run that begins at an offset or before. */
static const struct dex_run *run_at(const struct dex *dex, uint32_t off)
{
	size_t low = 0, high = dex->run_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (dex->runs[mid].code <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &dex->runs[low - 1] : NULL;
}

/* The method of the class with the last code that begins at an offset or before. */
static bool method_at(const struct dex *dex, struct dex_bytes *bytes, const struct dex_run *run,
		      uint32_t off, struct dex_method *ret)
{
	struct class_budget budget = { FIELDS_MAX, METHODS_MAX };
	struct class_methods methods;
	uint32_t code;

	*ret = (struct dex_method){ .class_def = run->class_def };
	if (!methods_of(dex, bytes, run->class_def, &budget, &methods))
		return false;
	while (next_method(&methods, &code)) {
		if (!code || code > off || code < ret->code)
			continue;
		ret->shared = code == ret->code || run->shared;
		if (code != ret->code)
			ret->index = methods.index;
		ret->code = code;
	}
	return ret->code;
}

bool dex__find(const struct dex *dex, struct dex_bytes *bytes, uint64_t at, struct dex_method *ret)
{
	const struct dex_run *run;
	uint32_t off;

	if (at < dex->data || at >= dex->base + dex->size)
		return false;
	off = at - dex->data;
	run = run_at(dex, off);
	if (!run || !method_at(dex, bytes, run, off, ret) || !read_code(dex, bytes, ret))
		return false;
	ret->unit = (off - ret->insns) / 2;
	return off >= ret->insns && ret->unit < ret->unit_cnt;
}

int dex__each(const struct dex *dex, struct dex_bytes *bytes, dex_method_fn fn, void *ctx)
{
	struct class_budget budget = { FIELDS_MAX, METHODS_MAX };
	struct class_methods methods;
	bool goes_on = true;

	for (uint32_t i = 0; i < dex->classes.cnt && goes_on; i++) {
		struct dex_method method = { .class_def = i };

		if (!methods_of(dex, bytes, i, &budget, &methods))
			continue;
		while (goes_on && next_method(&methods, &method.code)) {
			method.index = methods.index;
			if (method.code && read_code(dex, bytes, &method))
				goes_on = fn(ctx, &method);
		}
	}
	return 0;
}

/* --- names */

/* Copies a string, cut to fit. Returns false when there is none. */
static bool string_of(const struct dex *dex, struct dex_bytes *bytes, uint32_t index, char *ret,
		      size_t cap)
{
	struct dex_cursor cur;
	size_t len = 0;
	char c;

	*ret = '\0';
	if (index >= dex->strings.cnt)
		return false;
	cur = dex__cursor(dex, bytes,
			  dex__word(bytes, dex->base + dex->strings.off + 4 * (uint64_t)index));
	dex_cursor__uleb(&cur); /* its length in UTF-16 */
	while (len + 1 < cap && (c = (char)dex_cursor__fixed(&cur, 1)))
		ret[len++] = c;
	ret[len] = '\0';
	return !cur.bad;
}

/* "Lcom/example/A;" becomes "com.example.A". Returns its length; 0: it is no class. */
static size_t class_name(const struct dex *dex, struct dex_bytes *bytes, uint32_t type, char *ret,
			 size_t cap)
{
	uint32_t string;
	size_t len;

	if (type >= dex->types.cnt)
		return 0;
	string = dex__word(bytes, dex->base + dex->types.off + 4 * (uint64_t)type);
	if (!string_of(dex, bytes, string, ret, cap))
		return 0;
	len = strlen(ret);
	if (len < 3 || ret[0] != 'L')
		return 0;
	len -= ret[len - 1] == ';'; /* not when it was cut */
	memmove(ret, ret + 1, --len);
	ret[len] = '\0';
	for (char *slash = ret; (slash = strchr(slash, '/'));)
		*slash = '.';
	return len;
}

static uint64_t method_id(const struct dex *dex, const struct dex_method *method)
{
	return dex->base + dex->methods.off + (uint64_t)method->index * METHOD_ID_SZ;
}

uint32_t dex_method__type(const struct dex *dex, struct dex_bytes *bytes,
			  const struct dex_method *method)
{
	return dex__word(bytes, method_id(dex, method)) & 0xffff;
}

uint32_t dex_method__class(const struct dex *dex, struct dex_bytes *bytes,
			   const struct dex_method *method)
{
	return class_word(dex, bytes, method->class_def, 0);
}

bool dex_method__name(const struct dex *dex, struct dex_bytes *bytes,
		      const struct dex_method *method, char *ret)
{
	size_t len;

	*ret = '\0';
	if (method->index >= dex->methods.cnt)
		return false;
	len = class_name(dex, bytes, dex_method__type(dex, bytes, method), ret, DEX_NAME_MAX - 2);
	if (!len)
		return false;
	ret[len++] = '.';
	return string_of(dex, bytes, dex__word(bytes, method_id(dex, method) + 4), ret + len,
			 DEX_NAME_MAX - len);
}

void dex_method__file(const struct dex *dex, struct dex_bytes *bytes,
		      const struct dex_method *method, char *ret)
{
	uint32_t string = class_word(dex, bytes, method->class_def, SOURCE_FILE);

	*ret = '\0';
	if (string != NO_INDEX && !string_of(dex, bytes, string, ret, DEX_FILE_MAX))
		*ret = '\0';
}
