/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parser of CIEs and FDEs, the entries of .eh_frame and .debug_frame. */
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbol/unwind/cfi_parts.h"

#define HEAD 256 /* bytes of the first read: most entries are shorter */
#define WIDE 0xffffffffu

#define ENC_FORM     0x0f
#define ENC_RELATIVE 0x70
#define ENC_PCREL    0x10
#define ENC_DATAREL  0x30
#define ENC_INDIRECT 0x80
#define ENC_OMIT     0xff

static bool make_scratch(struct cfi *cfi, size_t len, unsigned which)
{
	free(cfi->scratch[which]);
	cfi->scratch[which] = malloc(len);
	cfi->scratch_sz[which] = cfi->scratch[which] ? len : 0;
	return cfi->scratch[which];
}

/*
 * Returns bytes of a section: in place, or read into one of the two scratch buffers. Fewer near its
 * end.
 */
static const uint8_t *bytes_at(struct cfi *cfi, const struct cfi_section *sec, uint64_t off,
			       size_t *len, unsigned which)
{
	if (off >= sec->size)
		return NULL;
	if (*len > sec->size - off)
		*len = sec->size - off;
	if (sec->mem)
		return sec->mem + off;
	if (*len > cfi->scratch_sz[which] && !make_scratch(cfi, *len, which))
		return NULL;
	return image__read(&cfi->img, sec->off + off, cfi->scratch[which], *len)
		       ? NULL
		       : cfi->scratch[which];
}

static int read_entry(struct cfi *cfi, const struct cfi_section *sec, uint64_t off, unsigned which,
		      struct cfi_entry *ret)
{
	size_t got = HEAD, want;
	const uint8_t *bytes = bytes_at(cfi, sec, off, &got, which);
	struct cursor head = { bytes, bytes ? bytes + got : NULL, false };
	uint64_t len;

	if (!bytes)
		return -ENODATA;
	len = cursor__fixed(&head, 4);
	ret->wide = len == WIDE;
	if (ret->wide)
		len = cursor__fixed(&head, 8);
	if (head.bad || !len)
		return -ENODATA; /* 0 ends .eh_frame */
	if (len > CFI_ENTRY_MAX - 16)
		return -E2BIG;
	want = len + (head.at - bytes);
	if (want > got) {
		size_t head_len = head.at - bytes;

		got = want;
		bytes = bytes_at(cfi, sec, off, &got, which);
		if (!bytes || got < want)
			return -ENODATA;
		head.at = bytes + head_len;
	}
	ret->begin = head.at;
	ret->cur = (struct cursor){ head.at, bytes + want, false };
	ret->off = off + (head.at - bytes);
	ret->addr = sec->addr + ret->off;
	ret->next = off + want;
	return 0;
}

/* Returns true when the entry is a CIE; else ret_cie gets the offset of its CIE. */
static bool is_cie(const struct cfi_section *sec, struct cfi_entry *entry, uint64_t *ret_cie)
{
	uint64_t id = cursor__fixed(&entry->cur, entry->wide ? 8 : 4);

	if (sec->eh) {
		*ret_cie = entry->off - id;
		return !id;
	}
	*ret_cie = id;
	return id == (entry->wide ? ~0ull : WIDE);
}

static uint64_t number_of(const struct cfi *cfi, struct cursor *cur, uint8_t form)
{
	switch (form) {
	case DW_EH_PE_absptr:
		return cursor__fixed(cur, cfi->is64 ? 8 : 4);
	case DW_EH_PE_uleb128:
		return cursor__uleb(cur);
	case DW_EH_PE_udata2:
		return cursor__fixed(cur, 2);
	case DW_EH_PE_udata4:
		return cursor__fixed(cur, 4);
	case DW_EH_PE_udata8:
		return cursor__fixed(cur, 8);
	case DW_EH_PE_sleb128:
		return cursor__sleb(cur);
	case DW_EH_PE_sdata2:
		return cursor__signed(cur, 2);
	case DW_EH_PE_sdata4:
		return cursor__signed(cur, 4);
	case DW_EH_PE_sdata8:
		return cursor__signed(cur, 8);
	}
	cur->bad = true;
	return 0;
}

uint64_t cfi_entry__pointer(const struct cfi *cfi, struct cursor *cur, uint8_t enc, uint64_t addr,
			    uint64_t data)
{
	uint64_t ret = number_of(cfi, cur, enc & ENC_FORM);

	if (enc & ENC_INDIRECT)
		cur->bad = true;
	if ((enc & ENC_RELATIVE) == ENC_PCREL)
		ret += addr;
	else if ((enc & ENC_RELATIVE) == ENC_DATAREL && data)
		ret += data;
	else if (enc & ENC_RELATIVE)
		cur->bad = true;
	return cfi->is64 ? ret : (uint32_t)ret;
}

/* Parses the data for the letters after 'z'. */
static void parse_augmentation(const struct cfi *cfi, struct cursor *cur, const char *aug,
			       struct cfi_cie *ret)
{
	struct cursor data;
	uint64_t len = cursor__uleb(cur);

	data.at = cursor__skip(cur, len);
	data.end = cur->at;
	data.bad = !data.at;
	for (; *aug && !data.bad; aug++) {
		uint8_t enc;

		if (*aug == 'R') {
			ret->fde_enc = cursor__fixed(&data, 1);
		} else if (*aug == 'L') {
			cursor__fixed(&data, 1);
		} else if (*aug == 'P') {
			enc = cursor__fixed(&data, 1);
			if (enc != ENC_OMIT)
				number_of(cfi, &data, enc & ENC_FORM);
		} else if (*aug == 'S') {
			ret->signal = true;
		} else if (*aug != 'B') { /* arm64: return addresses are signed with the B key */
			data.bad = true;
		}
	}
	cur->bad |= data.bad;
}

static int parse_cie(struct cfi *cfi, const struct cfi_section *sec, uint64_t off,
		     struct cfi_cie *ret)
{
	struct cfi_entry entry;
	struct cursor *cur = &entry.cur;
	const char *aug;
	uint64_t unused;
	uint8_t version;
	int res = read_entry(cfi, sec, off, 1, &entry);

	if (res)
		return res;
	*ret = (struct cfi_cie){ .fde_enc = DW_EH_PE_absptr };
	if (!is_cie(sec, &entry, &unused))
		return -EBADMSG;
	version = cursor__fixed(cur, 1);
	aug = (const char *)cur->at;
	if (version == 2 || version > 4 || !version || !memchr(aug, 0, cur->end - cur->at))
		return -EBADMSG;
	cursor__skip(cur, strlen(aug) + 1);
	if (version == 4 && (cursor__fixed(cur, 1) != (cfi->is64 ? 8 : 4) || cursor__fixed(cur, 1)))
		return -EBADMSG;
	ret->code_align = cursor__uleb(cur);
	ret->data_align = cursor__sleb(cur);
	ret->ra = version == 1 ? cursor__fixed(cur, 1) : cursor__uleb(cur);
	ret->has_aug = *aug == 'z';
	if (ret->has_aug)
		parse_augmentation(cfi, cur, aug + 1, ret);
	else if (*aug)
		return -EBADMSG;
	ret->program = *cur;
	return cur->bad || ret->ra >= CFI_REG_MAX ? -EBADMSG : 0;
}

int cfi_entry__fde(struct cfi *cfi, const struct cfi_section *sec, uint64_t off,
		   struct cfi_fde *ret)
{
	struct cfi_entry entry;
	struct cursor *cur = &entry.cur;
	uint64_t cie;
	int res = read_entry(cfi, sec, off, 0, &entry);

	if (res)
		return res;
	if (is_cie(sec, &entry, &cie))
		return -ENOENT;
	res = parse_cie(cfi, sec, cie, &ret->cie);
	if (res)
		return res;
	ret->start = cfi_entry__pointer(cfi, cur, ret->cie.fde_enc,
					entry.addr + (cur->at - entry.begin), 0);
	ret->len = number_of(cfi, cur, ret->cie.fde_enc & ENC_FORM);
	if (!cfi->is64)
		ret->len = (uint32_t)ret->len;
	if (ret->cie.has_aug)
		cursor__skip(cur, cursor__uleb(cur));
	ret->program = *cur;
	ret->program_addr = entry.addr + (cur->at - entry.begin);
	return cur->bad ? -EBADMSG : 0;
}

/*
 * --- Index: from an address to its FDE, by the file's own search table or by an index built here
 */

#define PAIR	   8  /* bytes of an entry of the search table */
#define PIECE	   64 /* pairs that the last read gets at once */
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

	while (high - low > PIECE) { /* the wanted pair is in [low, high) */
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

/* Iterates over the FDEs of a section. Skips those that the linker dropped: they begin at 0. */
static bool next_fde(struct cfi *cfi, const struct cfi_section *sec, uint64_t *at,
		     struct cfi_place *ret, uint64_t *ret_start)
{
	struct cfi_entry entry;
	struct cfi_fde fde;

	while (!read_entry(cfi, sec, *at, 0, &entry)) {
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
