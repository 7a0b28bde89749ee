/* SPDX-License-Identifier: GPL-2.0 */
/* From an address to its FDE: by the file's own search table, or by an index made in one pass. */
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbol/unwind/cfi_parts.h"

#define PAIR	   8  /* bytes of the search table's entries */
#define PIECE	   64 /* pairs read at once in the end */
#define TABLE_ENC  (DW_EH_PE_datarel | DW_EH_PE_sdata4)
#define HDR_MAX	   32
#define ABSENT_ENC 0xff

static bool offset_of(const struct cfi *cfi, uint64_t vaddr, uint64_t *ret, uint64_t *ret_left)
{
	for (size_t i = 0; i < cfi->load_cnt; i++) {
		const struct elf_segment *seg = &cfi->loads[i];

		if (vaddr < seg->vaddr || vaddr - seg->vaddr >= seg->file_size)
			continue;
		*ret = vaddr - seg->vaddr + seg->offset;
		*ret_left = seg->file_size - (vaddr - seg->vaddr);
		return true;
	}
	return false;
}

/* Version, three encodings, where .eh_frame is, how many pairs follow. */
static bool parse_header(struct cfi *cfi, struct cursor *cur, uint64_t addr, uint64_t *eh,
			 uint64_t *cnt)
{
	const uint8_t *begin = cur->at;
	uint8_t eh_enc, cnt_enc, table_enc;

	if (cursor__fixed(cur, 1) != 1)
		return false;
	eh_enc = cursor__fixed(cur, 1);
	cnt_enc = cursor__fixed(cur, 1);
	table_enc = cursor__fixed(cur, 1);
	if (cnt_enc == ABSENT_ENC || table_enc != TABLE_ENC)
		return false;
	*eh = cfi_entry__pointer(cfi, cur, eh_enc, addr + (cur->at - begin), addr);
	*cnt = cfi_entry__pointer(cfi, cur, cnt_enc, addr + (cur->at - begin), addr);
	return !cur->bad && *cnt;
}

void cfi_search__open(struct cfi *cfi, const struct elf *elf)
{
	struct cfi_search search = { .addr = elf->eh_hdr.vaddr };
	struct cfi_section *file = &cfi->file;
	uint8_t header[HDR_MAX];
	size_t len = sizeof(header);
	struct cursor cur;

	if (!elf->eh_hdr.file_size)
		return;
	if (len > elf->eh_hdr.file_size)
		len = elf->eh_hdr.file_size;
	if (image__read(&cfi->img, elf->eh_hdr.offset, header, len))
		return;
	cur = (struct cursor){ header, header + len, false };
	if (!parse_header(cfi, &cur, search.addr, &file->addr, &search.cnt))
		return;
	search.off = elf->eh_hdr.offset + (cur.at - header);
	if (search.cnt > CFI_INDEX_MAX || !image__holds(&cfi->img, search.off, search.cnt * PAIR) ||
	    !offset_of(cfi, file->addr, &file->off, &file->size))
		return;
	file->eh = true;
	cfi->search = search;
}

static uint64_t start_in(const struct cfi *cfi, const int32_t *pair)
{
	uint64_t ret = cfi->search.addr + (int64_t)pair[0];

	return cfi->is64 ? ret : (uint32_t)ret;
}

bool cfi_search__find(struct cfi *cfi, uint64_t vaddr, uint64_t *ret_off, uint64_t *ret_next)
{
	const struct cfi_search *search = &cfi->search;
	uint64_t low = 0, high = search->cnt, off;
	int32_t pairs[PIECE + 1][2];
	size_t cnt, i;

	while (high - low > PIECE) { /* the one sought is in [low, high) */
		uint64_t mid = low + (high - low) / 2;

		if (image__read(&cfi->img, search->off + mid * PAIR, pairs[0], PAIR))
			return false;
		if (start_in(cfi, pairs[0]) <= vaddr)
			low = mid;
		else
			high = mid;
	}
	cnt = high - low + (high < search->cnt);
	if (!cnt || image__read(&cfi->img, search->off + low * PAIR, pairs, cnt * PAIR) ||
	    start_in(cfi, pairs[0]) > vaddr)
		return false;
	for (i = 0; i + 1 < cnt && start_in(cfi, pairs[i + 1]) <= vaddr; i++)
		;
	*ret_next = i + 1 < cnt ? start_in(cfi, pairs[i + 1]) : UINT64_MAX;
	off = search->addr + (int64_t)pairs[i][1] - cfi->file.addr;
	*ret_off = cfi->is64 ? off : (uint32_t)off;
	return true;
}

bool cfi_index__find(const struct cfi_section *sec, uint64_t vaddr, uint64_t *ret_off)
{
	size_t low = 0, high = sec->index_cnt;
	uint64_t want = vaddr - sec->lowest;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (sec->index[mid].start <= want)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || vaddr < sec->lowest)
		return false;
	*ret_off = sec->index[low - 1].off;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct cfi_place *pa = a, *pb = b;

	return (pa->start > pb->start) - (pa->start < pb->start);
}

static int grow(struct cfi_section *sec, size_t *cap)
{
	size_t want = *cap ? 2 * *cap : 256;
	struct cfi_place *index = realloc(sec->index, want * sizeof(*index));

	if (!index)
		return -ENOMEM;
	sec->index = index;
	*cap = want;
	return 0;
}

/* The FDEs of a section one by one; those dropped by the linker begin at 0. */
static bool next_fde(struct cfi *cfi, const struct cfi_section *sec, uint64_t *at,
		     struct cfi_place *ret, uint64_t *ret_start)
{
	struct cfi_entry entry;
	struct cfi_fde fde;

	while (!cfi_entry__read(cfi, sec, *at, 0, &entry)) {
		uint64_t off = *at;

		*at = entry.next;
		if (cfi_entry__fde(cfi, sec, off, &fde) || !fde.start || !fde.len)
			continue;
		ret->off = off;
		*ret_start = fde.start;
		return true;
	}
	return false;
}

/* Two passes: the first finds the lowest address. */
int cfi_index__build(struct cfi *cfi, struct cfi_section *sec)
{
	struct cfi_place place;
	uint64_t at, start;
	size_t cap = 0;

	sec->lowest = UINT64_MAX;
	for (at = 0; next_fde(cfi, sec, &at, &place, &start);)
		if (start < sec->lowest)
			sec->lowest = start;
	for (at = 0; next_fde(cfi, sec, &at, &place, &start) && sec->index_cnt < CFI_INDEX_MAX;) {
		if (start - sec->lowest > UINT32_MAX)
			continue;
		if (sec->index_cnt == cap && grow(sec, &cap))
			return -ENOMEM;
		place.start = start - sec->lowest;
		sec->index[sec->index_cnt++] = place;
	}
	if (sec->index_cnt)
		qsort(sec->index, sec->index_cnt, sizeof(*sec->index), by_start);
	return 0;
}
