/* SPDX-License-Identifier: GPL-2.0 */
/* Tables of abbreviations: which attributes an entry has, in which forms. */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf/dwarf_parts.h"

#define ABBREVS_MAX (1u << 16) /* of a table */
#define ATTRS_MAX   (1u << 20)
void abbrevs__free(struct abbrevs *abbrevs)
{
	free(abbrevs->all);
	free(abbrevs->attrs);
	memset(abbrevs, 0, sizeof(*abbrevs));
}

static int by_code(const void *va, const void *vb)
{
	const struct abbrev *a = va, *b = vb;

	return (a->code > b->code) - (a->code < b->code);
}

static void *more(void *array, size_t *cap, size_t size)
{
	size_t cnt = *cap ? 2 * *cap : 64;
	void *ret = realloc(array, cnt * size);

	if (ret)
		*cap = cnt;
	return ret;
}

static int add_attr(struct abbrevs *abbrevs, const struct abbrev_attr *attr)
{
	if (abbrevs->attr_cnt >= ATTRS_MAX)
		return -E2BIG;
	if (abbrevs->attr_cnt == abbrevs->attr_cap) {
		struct abbrev_attr *attrs =
			more(abbrevs->attrs, &abbrevs->attr_cap, sizeof(*attrs));

		if (!attrs)
			return -ENOMEM;
		abbrevs->attrs = attrs;
	}
	abbrevs->attrs[abbrevs->attr_cnt++] = *attr;
	return 0;
}

static int add_abbrev(struct abbrevs *abbrevs, const struct abbrev *abbrev)
{
	if (abbrevs->cnt >= ABBREVS_MAX)
		return -E2BIG;
	if (abbrevs->cnt == abbrevs->cap) {
		struct abbrev *all = more(abbrevs->all, &abbrevs->cap, sizeof(*all));

		if (!all)
			return -ENOMEM;
		abbrevs->all = all;
	}
	abbrevs->all[abbrevs->cnt++] = *abbrev;
	return 0;
}

static int read_attrs(struct dwarf *dwarf, struct cursor *cur, struct abbrevs *abbrevs, bool wanted)
{
	while (dwarf__spend(dwarf, 1)) {
		uint64_t name = cursor__uleb(cur), form = cursor__uleb(cur);
		struct abbrev_attr attr = { .name = name, .form = form };
		int res;

		if (form == DW_FORM_implicit_const)
			attr.implicit = cursor__sleb(cur);
		if (cur->bad || name > UINT16_MAX || form > UINT16_MAX)
			return -EINVAL;
		if (!name && !form)
			return 0;
		res = wanted ? add_attr(abbrevs, &attr) : 0;
		if (res)
			return res;
	}
	return -E2BIG;
}

/* 1: a table's end, or what was wanted was found. */
static int read_one(struct dwarf *dwarf, struct cursor *cur, struct abbrevs *abbrevs, uint64_t only)
{
	struct abbrev abbrev = { .code = cursor__uleb(cur), .attr_first = abbrevs->attr_cnt };
	bool wanted = !only || abbrev.code == only;
	uint64_t tag;
	int res;

	if (cur->bad)
		return -EINVAL;
	if (!abbrev.code)
		return 1;
	tag = cursor__uleb(cur);
	abbrev.tag = tag <= UINT16_MAX ? tag : UINT16_MAX;
	abbrev.children = cursor__fixed(cur, 1);
	res = read_attrs(dwarf, cur, abbrevs, wanted);
	if (res || !wanted)
		return res;
	abbrev.attr_cnt = abbrevs->attr_cnt - abbrev.attr_first;
	res = add_abbrev(abbrevs, &abbrev);
	return res ? res : only > 0;
}

int abbrevs__read(struct dwarf *dwarf, uint64_t off, uint64_t only, struct abbrevs *ret)
{
	const unsigned char *mem = section__whole(dwarf, DWARF_ABBREV);
	uint64_t size = dwarf->parts[DWARF_ABBREV].size;
	struct cursor cur;
	int res = 0;

	memset(ret, 0, sizeof(*ret));
	if (!mem || off >= size)
		return -EINVAL;
	cur = (struct cursor){ mem + off, mem + size, false };
	while (!res)
		res = read_one(dwarf, &cur, ret, only);
	if (res < 0) {
		abbrevs__free(ret);
		return res;
	}
	if (ret->cnt)
		qsort(ret->all, ret->cnt, sizeof(*ret->all), by_code);
	return 0;
}

/* Mostly they are numbered from 1 on. */
const struct abbrev *abbrevs__find(const struct abbrevs *abbrevs, uint64_t code)
{
	struct abbrev key = { .code = code };

	if (code && code <= abbrevs->cnt && abbrevs->all[code - 1].code == code)
		return &abbrevs->all[code - 1];
	if (!abbrevs->cnt)
		return NULL;
	return bsearch(&key, abbrevs->all, abbrevs->cnt, sizeof(key), by_code);
}
