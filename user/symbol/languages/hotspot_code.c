/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an address to its compiled code: heap, segment, block, blob. Until JDK 22 all parts of an
 * nmethod are in its block; later its tables are apart, and in JDK 25 its metadata, too.
 */
#include "symbol/languages/hotspot.h"

#define SEGMENT_FREE 0xff
#define HOPS_MAX     256 /* of up to 254 segments */
#define TABLE_MAX    (16u << 20)
#define METADATA_MAX (1u << 16)

static const struct hs_heap *heap_of(const struct hotspot *hs, uint64_t pc)
{
	for (uint32_t i = 0; i < hs->heap_cnt; i++)
		if (pc >= hs->heaps[i].low && pc < hs->heaps[i].high)
			return &hs->heaps[i];
	return NULL;
}

/* The block with an address; 0: the segment is free, or not read yet. */
static uint64_t find_block(struct hotspot *hs, uint64_t pc)
{
	const struct hs_heap *heap = heap_of(hs, pc);
	uint64_t segment = heap ? (pc - heap->low) >> heap->shift : 0;
	uint8_t back;

	for (unsigned i = 0; heap && i < HOPS_MAX; i++) {
		if (!hs__read(hs, heap->segments + segment, &back, 1) || back == SEGMENT_FREE ||
		    back > segment)
			return 0;
		if (!back)
			return heap->low + (segment << heap->shift);
		segment -= back;
	}
	return 0;
}

static uint64_t *known_block(struct hotspot *hs, uint64_t pc)
{
	return &hs->known[(pc * 0x9e3779b97f4a7c15) >> 54];
}

_Static_assert(HS_KNOWN_CNT == 1 << 10, "the shift");

static bool is_method(struct hotspot *hs, uint64_t blob)
{
	const struct hs_layout *layout = hs->layout;

	if (hs__get(hs, blob, HS_BLOB_HEADER) != (uint64_t)hs->at[HS_SIZE_NMETHOD])
		return false;
	return !hs_layout__has(layout, HS_BLOB_KIND) ||
	       hs__get(hs, blob, HS_BLOB_KIND) == (uint64_t)hs->at[HS_KIND_NMETHOD];
}

/* An address; since JDK 23 an offset in the blob. */
static uint64_t code_address(struct hotspot *hs, uint64_t blob, enum hs_field field)
{
	uint64_t value = hs__get(hs, blob, field);

	return hs->layout->width[field] == 4 ? blob + value : value;
}

static bool contains(struct hotspot *hs, uint64_t block, uint64_t pc, struct hs_code *ret)
{
	uint64_t blob = block + hs->at[HS_SIZE_BLOCK];

	*ret = (struct hs_code){};
	if (!block)
		return false;
	hs__ask(hs, block, hs->at[HS_SIZE_BLOCK] + hs->at[HS_SIZE_NMETHOD]);
	if (!hs__get(hs, block, HS_BLOCK_USED))
		return false;
	ret->blob = blob;
	ret->begin = code_address(hs, blob, HS_BLOB_CODE);
	ret->end = code_address(hs, blob, HS_BLOB_CODE_END);
	return pc >= ret->begin && pc < ret->end;
}

static void read_together(struct hotspot *hs, uint64_t blob, struct hs_code *ret)
{
	uint32_t metadata = (uint32_t)hs__get(hs, blob, HS_NMETHOD_METADATA);

	ret->pcs = blob + (uint32_t)hs__get(hs, blob, HS_NMETHOD_PCS);
	ret->pcs_end = blob + (uint32_t)hs__get(hs, blob, HS_NMETHOD_PCS_END);
	ret->scopes = hs__get(hs, blob, HS_NMETHOD_SCOPES);
	ret->scopes_end = ret->pcs;
	ret->metadata = blob + metadata;
	ret->metadata_cnt = (uint32_t)((ret->scopes - ret->metadata) / 8);
}

static void read_apart(struct hotspot *hs, uint64_t blob, struct hs_code *ret)
{
	uint64_t tables = hs__get(hs, blob, HS_NMETHOD_IMMUTABLE);
	uint64_t others = hs__get(hs, blob, HS_BLOB_MUTABLE);
	uint32_t skipped = (uint32_t)hs__get(hs, blob, HS_BLOB_RELOCATIONS);
	uint32_t size = (uint32_t)hs__get(hs, blob, HS_BLOB_MUTABLE_SIZE);

	ret->pcs = tables + (uint32_t)hs__get(hs, blob, HS_NMETHOD_PCS);
	ret->scopes = tables + (uint32_t)hs__get(hs, blob, HS_NMETHOD_SCOPES);
	ret->pcs_end = ret->scopes;
	ret->scopes_end = tables + (uint32_t)hs__get(hs, blob, HS_NMETHOD_IMMUTABLE_SIZE);
	ret->metadata = others + skipped;
	ret->metadata_cnt = skipped < size ? (size - skipped) / 8 : 0;
}

static bool is_valid(const struct hs_code *code)
{
	return code->method && code->pcs <= code->pcs_end &&
	       code->pcs_end - code->pcs < TABLE_MAX && code->scopes <= code->scopes_end &&
	       code->scopes_end - code->scopes < TABLE_MAX && code->metadata_cnt < METADATA_MAX;
}

enum hs_code_kind hs_code__find(struct hotspot *hs, uint64_t pc, struct hs_code *ret)
{
	uint64_t *known = known_block(hs, pc), block = *known, blob;

	if (!block || !contains(hs, block, pc, ret)) {
		if (hs->reader->later)
			return HS_CODE_NONE;
		block = find_block(hs, pc);
		if (!contains(hs, block, pc, ret))
			return HS_CODE_NONE;
		*known = hs->reader->later ? 0 : block;
	}
	blob = block + hs->at[HS_SIZE_BLOCK];
	if (!is_method(hs, blob))
		return HS_CODE_STUB;
	ret->method = hs__get(hs, blob, HS_NMETHOD_METHOD);
	ret->id = (uint32_t)hs__get(hs, blob, HS_NMETHOD_ID);
	if (hs_layout__has(hs->layout, HS_NMETHOD_IMMUTABLE))
		read_apart(hs, blob, ret);
	else
		read_together(hs, blob, ret);
	return is_valid(ret) ? HS_CODE_METHOD : HS_CODE_NONE;
}
