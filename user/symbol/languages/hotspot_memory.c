/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of HotSpot's memory, and where its code is. See hotspot.h. */
#include "symbol/languages/hotspot.h"

#include <string.h>

#define PAGE	   4096
#define OFFSET_MAX 4096
#define SHIFT_MAX  20 /* log2 of a segment's size, which is 6 or 7 */

bool hs__read(struct hotspot *hs, uint64_t addr, void *buf, size_t len)
{
	enum target_read res = target_memory__read(hs->reader->mem, addr, buf, len);

	hs->reader->later |= res == TARGET_LATER;
	return res == TARGET_READ;
}

void hs__ask(struct hotspot *hs, uint64_t addr, uint64_t len)
{
	uint8_t byte;

	if (addr > INT64_MAX || len > INT64_MAX - addr) /* no pointer of a program */
		return;
	for (uint64_t at = addr; at < addr + len; at = (at | (PAGE - 1)) + 1)
		hs__read(hs, at, &byte, sizeof(byte));
}

uint64_t hs__word(struct hotspot *hs, uint64_t addr)
{
	uint64_t ret = 0;

	hs__read(hs, addr, &ret, sizeof(ret));
	return ret;
}

uint64_t hs__get(struct hotspot *hs, uint64_t object, enum hs_field field)
{
	uint64_t ret = 0;

	if (object && hs_layout__has(hs->layout, field))
		hs__read(hs, object + hs->at[field], &ret, hs->layout->width[field]);
	return ret;
}

/* The value of a pointer at an address of the file. */
static uint64_t global(struct hotspot *hs, enum hs_field field)
{
	return hs__word(hs, hs->bias + hs->at[field]);
}

/* A member of a VirtualSpace within a CodeHeap. */
static uint64_t of_space(struct hotspot *hs, uint64_t heap, enum hs_field space,
			 enum hs_field field)
{
	return heap ? hs__get(hs, heap + hs->at[space], field) : 0;
}

static bool load_heap(struct hotspot *hs, uint64_t heap, struct hs_heap *ret)
{
	*ret = (struct hs_heap){
		.low = of_space(hs, heap, HS_HEAP_MEMORY, HS_SPACE_LOW),
		.high = of_space(hs, heap, HS_HEAP_MEMORY, HS_SPACE_HIGH),
		.segments = of_space(hs, heap, HS_HEAP_SEGMENTS, HS_SPACE_LOW),
		.shift = (uint32_t)hs__get(hs, heap, HS_HEAP_SHIFT),
	};
	return ret->low && ret->low < ret->high && ret->segments && ret->shift <= SHIFT_MAX;
}

/* Returns false when they are not known, or not written yet. */
static bool load_offsets(struct hotspot *hs)
{
	const struct hs_layout *layout = hs->layout;
	uint64_t any = 0;

	for (unsigned i = 0; i < HS_FIELD_CNT; i++) {
		hs->at[i] = layout->at[i];
		if (i < HS_MEMBER_FIRST || !hs_layout__has(layout, i))
			continue;
		hs->at[i] = (int64_t)hs__word(hs, hs->bias + layout->at[i]);
		any |= hs->at[i];
		if (hs->at[i] < 0 || hs->at[i] > OFFSET_MAX)
			return false;
	}
	return any && !hs->reader->later;
}

static bool load_heaps(struct hotspot *hs)
{
	uint64_t array = global(hs, HS_HEAPS), stubs = global(hs, HS_INTERPRETER);
	uint32_t cnt = (uint32_t)hs__get(hs, array, HS_ARRAY_LENGTH);
	uint64_t data = hs__get(hs, array, HS_ARRAY_DATA);
	bool valid;

	hs->interpreter = hs__get(hs, stubs, HS_STUBS_BUFFER);
	hs->interpreter_end = hs->interpreter + (uint32_t)hs__get(hs, stubs, HS_STUBS_LIMIT);
	valid = hs->interpreter && cnt && cnt <= HS_HEAP_MAX && data;
	for (uint32_t i = 0; i < cnt && valid; i++)
		valid &= load_heap(hs, hs__word(hs, data + 8ull * i), &hs->heaps[i]) ||
			 hs->reader->later;
	if (valid && !hs->reader->later)
		hs->heap_cnt = cnt;
	return hs->heap_cnt;
}

/* A JVM that is just starting has no heaps yet. */
bool hs__load(struct hotspot *hs)
{
	return hs->heap_cnt || (load_offsets(hs) && load_heaps(hs));
}
