/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Methods at a place in compiled code. A table has an entry (PcDesc) for each address where debug
 * information is needed: behind calls, and at instructions that may raise an exception. An entry
 * leads to a scope: a method, its bytecode index, and the scope into which it was inlined
 * (code/pcDesc.hpp, code/scopeDesc.cpp in OpenJDK).
 *
 * An address between two entries may be of either of their methods, or of one that left no entry:
 * the compiler moves code. What both agree on is taken.
 */
#include "symbol/languages/hotspot.h"

#include <string.h>

#define ENTRY_SZ  16
#define SCOPE_SZ  15	      /* three numbers */
#define AHEAD_MAX (8u * 4096) /* bytes of a table that are read at once */

struct entry {
	int32_t pc; /* offset in the code */
	int32_t scope;
	int32_t objects, flags;
};

_Static_assert(sizeof(struct entry) == ENTRY_SZ, "PcDesc");

/*
 * The last entry at or below an offset, and the next one. The first and the last entry of a table
 * have no scope. Returns false when there is none, or the table is not read yet.
 */
static bool find_entries(struct hotspot *hs, const struct hs_code *code, int32_t offset,
			 struct entry ret[2])
{
	uint64_t low = 0, high = (code->pcs_end - code->pcs) / ENTRY_SZ;

	/* Small tables need no round for each step of the search. */
	if (code->pcs_end - code->pcs <= AHEAD_MAX)
		hs__ask(hs, code->pcs, code->pcs_end - code->pcs);
	if (high < 2 || hs->reader->later)
		return false;
	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;
		struct entry entry;

		if (!hs__read(hs, code->pcs + middle * ENTRY_SZ, &entry, sizeof(entry)))
			return false;
		if (entry.pc <= offset)
			low = middle;
		else
			high = middle;
	}
	return hs__read(hs, code->pcs + low * ENTRY_SZ, ret, 2 * sizeof(*ret)) &&
	       ret[0].pc <= offset && offset < ret[1].pc;
}

static bool read_scope(struct hotspot *hs, const struct hs_code *code, uint64_t at,
		       struct hs_scope *ret, uint32_t *ret_outer)
{
	uint8_t bytes[SCOPE_SZ] = {};
	uint64_t left = code->scopes_end - at;
	struct hs_numbers numbers = { .at = bytes, .excluded = hs__excluded(hs) };
	uint32_t index;

	numbers.end = bytes + (left < SCOPE_SZ ? left : SCOPE_SZ);
	if (at >= code->scopes_end || !hs__read(hs, at, bytes, numbers.end - bytes))
		return false;
	*ret_outer = hs_numbers__next(&numbers);
	index = hs_numbers__next(&numbers);
	ret->bci = ret->other = (int32_t)hs_numbers__next(&numbers) - 1;
	if (numbers.broken || !index || index > code->metadata_cnt)
		return false;
	ret->method = hs__word(hs, code->metadata + 8ull * (index - 1));
	return ret->method;
}

/* The scopes of an entry, innermost first. Returns 0 when it has none, or it cannot be. */
static uint32_t read_scopes(struct hotspot *hs, const struct hs_code *code, int32_t scope,
			    struct hs_scope *ret)
{
	uint32_t at = scope > 0 ? (uint32_t)scope : 0, cnt = 0, outer;

	while (at) {
		if (cnt == HS_DEPTH_MAX ||
		    !read_scope(hs, code, code->scopes + at, &ret[cnt], &outer) || outer >= at)
			return 0;
		cnt++;
		at = outer;
	}
	return cnt && ret[cnt - 1].method == code->method ? cnt : 0;
}

static uint32_t method_only(const struct hs_code *code, struct hs_scope *ret)
{
	ret[0] = (struct hs_scope){ code->method, -1, -1 };
	return 1;
}

/*
 * What two lists agree on, from the outermost method: while the index of the call is the same, the
 * method called there.
 */
static uint32_t agree(const struct hs_scope *a, uint32_t a_cnt, const struct hs_scope *b,
		      uint32_t b_cnt, struct hs_scope *ret)
{
	uint32_t same = 0, max = a_cnt < b_cnt ? a_cnt : b_cnt;

	while (same < max && a[a_cnt - 1 - same].method == b[b_cnt - 1 - same].method &&
	       (!same || a[a_cnt - same].bci == b[b_cnt - same].bci))
		same++;
	memcpy(ret, a + a_cnt - same, same * sizeof(*ret));
	if (same)
		ret[0].other = b[b_cnt - same].bci;
	return same;
}

uint32_t hs_scopes__find(struct hotspot *hs, const struct hs_code *code, uint64_t pc, bool exact,
			 struct hs_scope *ret)
{
	struct hs_scope lists[2][HS_DEPTH_MAX];
	struct entry entries[2];
	int32_t offset = (int32_t)(pc - code->begin);
	uint32_t cnts[2], cnt;

	if (!find_entries(hs, code, offset, entries))
		return method_only(code, ret);
	if (!exact && entries[0].pc == offset) {
		cnt = read_scopes(hs, code, entries[0].scope, ret);
		return cnt ?: method_only(code, ret);
	}
	for (unsigned i = 0; i < 2; i++)
		cnts[i] = read_scopes(hs, code, entries[i].scope, lists[i]);
	cnt = cnts[0] && cnts[1] ? agree(lists[0], cnts[0], lists[1], cnts[1], ret) : 0;
	return cnt ?: method_only(code, ret);
}
