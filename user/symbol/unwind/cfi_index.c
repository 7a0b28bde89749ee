/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an address to its FDE: by the file's own search table, or by an index built here. */
#include <dwarf.h>
#include <stdlib.h>

#include "base/must.h"
#include "symbol/unwind/cfi_parts.h"

#define PIECE	   64 /* pairs that the last read gets at once */
#define TABLE_ENC  (DW_EH_PE_datarel | DW_EH_PE_sdata4)
#define HDR_MAX	   32
#define ABSENT_ENC 0xff

bool cfi__offset_of(const struct cfi *cfi, uint64_t vaddr, uint64_t *ret, uint64_t *ret_left)
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

/* The header: version, three encodings, the position of .eh_frame, the number of pairs. */
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
	if (search.cnt > CFI_INDEX_MAX ||
	    !image__holds(&cfi->img, search.off, search.cnt * CFI_PAIR) ||
	    !cfi__offset_of(cfi, file->addr, &file->off, &file->size))
		return;
	file->eh = true;
	cfi->search = search;
}

static uint64_t start_in(const struct cfi *cfi, const struct cfi_search *search, uint64_t at,
			 const int32_t *pair)
{
	uint64_t ret = search->addr + (int64_t)pair[0];

	if (search->is_prel31) /* from the pair itself; bit 0 says that the code is Thumb's */
		ret = (search->addr + at * CFI_PAIR + (int32_t)((uint32_t)pair[0] << 1) / 2) &
		      ~1ull;
	return cfi->is64 ? ret : (uint32_t)ret;
}

bool cfi_search__pair(struct cfi *cfi, const struct cfi_search *search, uint64_t vaddr,
		      struct cfi_pair *ret)
{
	uint64_t low = 0, high = search->cnt;
	int32_t pairs[PIECE + 1][2];
	size_t cnt, i;

	while (high - low > PIECE) { /* the wanted pair is in [low, high) */
		uint64_t mid = low + (high - low) / 2;

		if (image__read(&cfi->img, search->off + mid * CFI_PAIR, pairs[0], CFI_PAIR))
			return false;
		if (start_in(cfi, search, mid, pairs[0]) <= vaddr)
			low = mid;
		else
			high = mid;
	}
	cnt = high - low + (high < search->cnt);
	if (!cnt || image__read(&cfi->img, search->off + low * CFI_PAIR, pairs, cnt * CFI_PAIR) ||
	    start_in(cfi, search, low, pairs[0]) > vaddr)
		return false;
	for (i = 0; i + 1 < cnt && start_in(cfi, search, low + i + 1, pairs[i + 1]) <= vaddr; i++)
		;
	*ret = (struct cfi_pair){
		.start = start_in(cfi, search, low + i, pairs[i]),
		.next = i + 1 < cnt ? start_in(cfi, search, low + i + 1, pairs[i + 1]) : UINT64_MAX,
		.addr = search->addr + (low + i) * CFI_PAIR,
		.value = pairs[i][1],
	};
	return true;
}

bool cfi_search__find(struct cfi *cfi, uint64_t vaddr, uint64_t *ret_off, uint64_t *ret_next)
{
	struct cfi_pair pair;
	uint64_t off;

	if (!cfi_search__pair(cfi, &cfi->search, vaddr, &pair))
		return false;
	*ret_next = pair.next;
	off = cfi->search.addr + (int64_t)(int32_t)pair.value - cfi->file.addr;
	*ret_off = cfi->is64 ? off : (uint32_t)off;
	return true;
}

const struct cfi_place *cfi_index__find(const struct cfi_section *sec, uint64_t vaddr)
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
	return !low || vaddr < sec->lowest ? NULL : &sec->index[low - 1];
}

static int by_start(const void *a, const void *b)
{
	const struct cfi_place *pa = a, *pb = b;

	return (pa->start > pb->start) - (pa->start < pb->start);
}

/* Skips FDEs that the linker dropped: they begin at 0. False: the index is full. */
static bool add_place(struct cfi_section *sec, size_t *cap, const struct cfi_fde *fde, uint64_t off)
{
	uint64_t start = fde->start - sec->lowest;

	if (!fde->start || !fde->len || fde->start < sec->lowest || start > UINT32_MAX)
		return true;
	if (sec->index_cnt == CFI_INDEX_MAX)
		return false;
	sec->index = must__grow(sec->index, sec->index_cnt, cap, sizeof(*sec->index));
	sec->index[sec->index_cnt++] = (struct cfi_place){
		.start = start, .len = fde->len > UINT32_MAX ? UINT32_MAX : fde->len, .off = off
	};
	return true;
}

static uint64_t lowest_address(const struct cfi *cfi)
{
	uint64_t ret = UINT64_MAX;

	for (size_t i = 0; i < cfi->load_cnt; i++)
		if (cfi->loads[i].vaddr < ret)
			ret = cfi->loads[i].vaddr;
	return ret;
}

/*
 * Removes repeated instructions from a section. ART sorts its FDEs by their instructions, so FDEs
 * with the same ones are neighbours: those of a 125 MB odex take 3.6 of 12.6 MB.
 */
struct pack {
	struct cfi_section *sec;
	size_t end; /* of the bytes that stay */
	struct cfi_fde last;
	size_t last_off;
	/* the CIEs' offsets before and now, ascending; each FDE has the offset of one */
	struct cie_move {
		uint32_t from, to;
	} * moves;
	size_t move_cnt, move_cap;
};

static void add_move(struct pack *pack, uint64_t from)
{
	pack->moves =
		must__grow(pack->moves, pack->move_cnt, &pack->move_cap, sizeof(*pack->moves));
	pack->moves[pack->move_cnt++] = (struct cie_move){ from, pack->end };
}

static bool moved_to(const struct pack *pack, uint64_t from, uint32_t *ret)
{
	for (size_t i = pack->move_cnt; i; i--) { /* mostly the last one */
		*ret = pack->moves[i - 1].to;
		if (pack->moves[i - 1].from <= from)
			return pack->moves[i - 1].from == from;
	}
	return false;
}

static bool is_repeated(const struct pack *pack, const struct cfi_fde *fde)
{
	size_t len = fde->program.end - fde->program.at;
	const struct cursor *last = &pack->last.program;

	return pack->last.len && pack->last.cie.program.at == fde->cie.program.at &&
	       (size_t)(last->end - last->at) == len && !memcmp(last->at, fde->program.at, len);
}

/* Moves the bytes [from, to) of the section to the end of what stays. */
static void keep_bytes(struct pack *pack, uint64_t from, uint64_t to)
{
	memmove(pack->sec->mem + pack->end, pack->sec->mem + from, to - from);
	pack->end += to - from;
}

/* Takes the FDE at an offset. Its CIE has been moved before. False: the index is full. */
static bool pack_fde(struct cfi *cfi, struct pack *pack, uint64_t off, uint64_t cie, size_t *cap)
{
	struct cfi_entry entry;
	struct cfi_fde fde;
	uint32_t to;

	if (!moved_to(pack, cie, &to))
		return true;
	memcpy(pack->sec->mem + off + 4, &to, sizeof(to));
	if (cfi_entry__read(cfi, pack->sec, off, 0, &entry) ||
	    cfi_entry__parse(cfi, pack->sec, &entry, &fde))
		return true;
	if (!is_repeated(pack, &fde)) {
		pack->last_off = pack->end;
		keep_bytes(pack, off, entry.next);
		pack->last = fde;
		pack->last.program.at -= off - pack->last_off;
		pack->last.program.end -= off - pack->last_off;
	}
	return add_place(pack->sec, cap, &fde, pack->last_off);
}

static void index_packed(struct cfi *cfi, struct cfi_section *sec)
{
	struct pack pack = { .sec = sec };
	struct cfi_entry entry;
	uint64_t at = 0, cie, next;
	size_t cap = 0;
	bool room = true;

	for (; room && !cfi_entry__read(cfi, sec, at, 0, &entry); at = next) {
		next = entry.next;
		bool is_cie = cfi_entry__is_cie(sec, &entry, &cie);

		if (entry.wide || entry.cur.bad)
			continue; /* no compiler needs a wide one here */
		if (!is_cie) {
			room = pack_fde(cfi, &pack, at, cie, &cap);
			continue;
		}
		add_move(&pack, at);
		keep_bytes(&pack, at, next);
	}
	free(pack.moves);
	sec->size = pack.end;
}

static void index_whole(struct cfi *cfi, struct cfi_section *sec)
{
	struct cfi_entry entry;
	struct cfi_fde fde;
	size_t cap = 0;
	bool room = true;

	for (uint64_t at = 0; room && !cfi_entry__read(cfi, sec, at, 0, &entry); at = entry.next) {
		uint64_t off = at;

		if (!cfi_entry__parse(cfi, sec, &entry, &fde))
			room = add_place(sec, &cap, &fde, off);
	}
}

void cfi_index__build(struct cfi *cfi, struct cfi_section *sec, bool pack)
{
	sec->lowest = lowest_address(cfi);
	if (pack)
		index_packed(cfi, sec);
	else
		index_whole(cfi, sec);
	if (sec->index_cnt)
		qsort(sec->index, sec->index_cnt, sizeof(*sec->index), by_start);
}
