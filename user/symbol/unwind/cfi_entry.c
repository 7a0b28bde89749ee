/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parser of CIEs and FDEs, the entries of .eh_frame and .debug_frame. */
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/must.h"
#include "symbol/unwind/cfi_parts.h"

#define HEAD 256 /* bytes of the first read: most entries are shorter */
#define WIDE 0xffffffffu

#define ENC_FORM     0x0f
#define ENC_RELATIVE 0x70
#define ENC_PCREL    0x10
#define ENC_DATAREL  0x30
#define ENC_INDIRECT 0x80
#define ENC_OMIT     0xff

static void make_scratch(struct cfi *cfi, size_t len, unsigned which)
{
	free(cfi->scratch[which]);
	cfi->scratch[which] = must__malloc(len);
	cfi->scratch_sz[which] = len;
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
	if (*len > cfi->scratch_sz[which])
		make_scratch(cfi, *len, which);
	return image__read(&cfi->img, sec->off + off, cfi->scratch[which], *len)
		       ? NULL
		       : cfi->scratch[which];
}

int cfi_entry__read(struct cfi *cfi, const struct cfi_section *sec, uint64_t off, unsigned which,
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

bool cfi_entry__is_cie(const struct cfi_section *sec, struct cfi_entry *entry, uint64_t *ret_cie)
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
	int res = cfi_entry__read(cfi, sec, off, 1, &entry);

	if (res)
		return res;
	*ret = (struct cfi_cie){ .fde_enc = DW_EH_PE_absptr };
	if (!cfi_entry__is_cie(sec, &entry, &unused))
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

/* The CIE of the last FDE in a section in memory, which most of its FDEs have. */
static int find_cie(struct cfi *cfi, const struct cfi_section *sec, uint64_t off,
		    struct cfi_cie *ret)
{
	int res;

	if (sec->mem && cfi->cie_of == sec->mem && cfi->cie_off == off) {
		*ret = cfi->cie;
		return 0;
	}
	res = parse_cie(cfi, sec, off, ret);
	if (!res && sec->mem) {
		cfi->cie_of = sec->mem;
		cfi->cie_off = off;
		cfi->cie = *ret;
	}
	return res;
}

int cfi_entry__parse(struct cfi *cfi, const struct cfi_section *sec, struct cfi_entry *entry,
		     struct cfi_fde *ret)
{
	struct cursor *cur = &entry->cur;
	uint64_t cie;
	int res;

	if (cfi_entry__is_cie(sec, entry, &cie))
		return -ENOENT;
	res = find_cie(cfi, sec, cie, &ret->cie);
	if (res)
		return res;
	ret->start = cfi_entry__pointer(cfi, cur, ret->cie.fde_enc,
					entry->addr + (cur->at - entry->begin), 0);
	ret->len = number_of(cfi, cur, ret->cie.fde_enc & ENC_FORM);
	if (!cfi->is64)
		ret->len = (uint32_t)ret->len;
	if (ret->cie.has_aug)
		cursor__skip(cur, cursor__uleb(cur));
	ret->program = *cur;
	ret->program_addr = entry->addr + (cur->at - entry->begin);
	return cur->bad ? -EBADMSG : 0;
}

int cfi_entry__fde(struct cfi *cfi, const struct cfi_section *sec, uint64_t off,
		   struct cfi_fde *ret)
{
	struct cfi_entry entry;
	int res = cfi_entry__read(cfi, sec, off, 0, &entry);

	return res ? res : cfi_entry__parse(cfi, sec, &entry, ret);
}
