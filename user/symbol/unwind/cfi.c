/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a module's unwind tables and caches the row of each requested address. See cfi.h. */
#include "symbol/unwind/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/code/insn.h"
#include "base/must.h"
#include "symbol/elf/debugfile.h"
#include "symbol/unwind/cfi_parts.h"

#define ROWS_MAX    16384
#define ENTRY_BYTES 64 /* of _start and similar code */
#define MANAGED_BYTES                                                                              \
	(512u << 10) /* no C compiler leaves a larger gap without a table in a file that has one */

static void add_memory(struct cfi *cfi, uint8_t *mem, const struct elf_section *from, uint64_t size,
		       bool eh, bool pack)
{
	struct cfi_section *sec = &cfi->sections[cfi->section_cnt];

	*sec = (struct cfi_section){ .eh = eh, .mem = mem, .addr = from->addr, .size = size };
	cfi->cie_of = NULL; /* memory may have been freed, and be there again */
	cfi_index__build(cfi, sec, pack);
	if (!sec->index_cnt) {
		free(sec->index);
		free(mem);
		cfi->cie_of = NULL;
		return;
	}
	mem = pack ? realloc(mem, sec->size) : NULL;
	if (mem)
		sec->mem = mem;
	cfi->cie_of = NULL;
	cfi->section_cnt++;
}

/* Unpacks a section that zlib compressed; NULL: not possible. */
static uint8_t *inflated(const struct elf *elf, const struct elf_section *sec, const uint8_t *raw,
			 uint64_t *ret_size)
{
	size_t head = elf->is64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	uint32_t type;
	uLongf size;
	uint8_t *ret;

	if (sec->size < head)
		return NULL;
	memcpy(&type, raw, sizeof(type));
	size = elf->is64 ? ((const Elf64_Chdr *)raw)->ch_size : ((const Elf32_Chdr *)raw)->ch_size;
	if (type != ELFCOMPRESS_ZLIB || !size || size > CFI_SECTION_MAX)
		return NULL;
	ret = malloc(size);
	if (ret && uncompress(ret, &size, raw + head, sec->size - head) != Z_OK) {
		free(ret);
		ret = NULL;
	}
	*ret_size = size;
	return ret;
}

static void add_section(struct cfi *cfi, const struct elf *elf, const char *name, bool eh)
{
	const struct elf_section *sec = elf__section(elf, name);
	uint64_t size = sec ? sec->size : 0;
	uint8_t *raw, *mem;

	if (!size || size > CFI_SECTION_MAX || cfi->section_cnt == CFI_SECTIONS)
		return;
	raw = mem = malloc(size);
	if (!raw || image__read(&elf->img, sec->offset, raw, size)) {
		free(raw);
		return;
	}
	if (sec->flags & SHF_COMPRESSED) {
		mem = inflated(elf, sec, raw, &size);
		free(raw);
	}
	if (mem)
		add_memory(cfi, mem, sec, size, eh, false);
}

static void parse(struct cfi *cfi)
{
	struct elf elf;

	if (elf__open(&elf, &cfi->img))
		return;
	cfi->loads = must__calloc(elf.load_cnt, sizeof(*cfi->loads));
	cfi->is_elf = true;
	cfi->is64 = elf.is64;
	cfi->machine = elf.machine;
	cfi->entry = elf.entry;
	cfi->load_cnt = elf.load_cnt;
	memcpy(cfi->loads, elf.loads, elf.load_cnt * sizeof(*cfi->loads));
	cfi->has_go = !gopclntab__open(&cfi->go, &elf);
	cfi->keeps_fp = cfi->has_go || elf__section(&elf, ".gopclntab");
	cfi_search__open(cfi, &elf);
	exidx__open(cfi, &elf);
	if (!cfi->search.cnt)
		add_section(cfi, &elf, ".eh_frame", true);
	add_section(cfi, &elf, ".debug_frame", false);
	cfi->debug_wanted = true;
	cfi->packed_wanted = elf__section(&elf, ".gnu_debugdata");
	elf__close(&elf);
}

/*
 * Reads .debug_frame of the compressed file in .gnu_debugdata, where ART's compiler puts it. Keeps
 * the unpacked memory, of which the section is two thirds, so that both are never there at once.
 */
static void add_packed(struct cfi *cfi, const struct elf *elf)
{
	const struct elf_section *sec;
	struct elf inner;
	struct image img;
	void *data;
	size_t size;

	if (cfi->section_cnt == CFI_SECTIONS || debugdata__unpack(elf, &data, &size))
		return;
	image__of_mem(&img, data, size);
	sec = elf__open(&inner, &img) ? NULL : elf__section(&inner, ".debug_frame");
	if (sec && sec->size && !(sec->flags & SHF_COMPRESSED) && inner.is64 == cfi->is64 &&
	    inner.machine == cfi->machine && image__holds(&img, sec->offset, sec->size)) {
		memmove(data, (uint8_t *)data + sec->offset, sec->size);
		add_memory(cfi, data, sec, sec->size, false, true);
		data = NULL;
	}
	free(data);
	if (sec)
		elf__close(&inner);
}

struct cfi *cfi__new(int fd, struct image_part part, void *mem, size_t size)
{
	struct cfi *cfi = must__calloc(1, sizeof(*cfi));

	cfi->mem = mem;
	cfi->part = part;
	image__of_mem(&cfi->img, mem, size);
	if (fd >= 0)
		cfi__set_fd(cfi, fd);
	parse(cfi);
	return cfi;
}

/* One segment says that offsets are addresses. */
struct cfi *cfi__of_table(const struct cfi_table *table)
{
	const struct elf_section at = {};
	struct cfi *cfi = must__calloc(1, sizeof(*cfi));

	cfi->loads = must__malloc(sizeof(*cfi->loads));
	cfi->loads[0] = (struct elf_segment){ .vaddr = table->begin,
					      .offset = table->begin,
					      .file_size = table->end - table->begin };
	cfi->load_cnt = 1;
	cfi->is_elf = cfi->no_file = true;
	cfi->is64 = table->is64;
	cfi->machine = table->machine;
	image__of_mem(&cfi->img, NULL, 0);
	add_memory(cfi, table->mem, &at, table->size, table->eh, false);
	return cfi;
}

static void clear(struct cfi *cfi)
{
	free(cfi->slots);
	free(cfi->rules);
	free(cfi->exprs);
	cfi->slots = NULL;
	cfi->rules = NULL;
	cfi->exprs = NULL;
	cfi->slot_cnt = cfi->row_cnt = cfi->rule_cnt = cfi->rule_cap = 0;
	cfi->expr_len = cfi->expr_cap = 0;
}

void cfi__free(struct cfi *cfi)
{
	if (!cfi)
		return;
	for (size_t i = 0; i < cfi->section_cnt; i++) {
		free(cfi->sections[i].mem);
		free(cfi->sections[i].index);
	}
	cfi__set_fd(cfi, -1);
	clear(cfi);
	free(cfi->mem);
	free(cfi->loads);
	free(cfi->scratch[0]);
	free(cfi->scratch[1]);
	free(cfi);
}

void cfi__watch(struct cfi *cfi)
{
	cfi->watched = true;
}

static bool is_open(const struct cfi *cfi)
{
	return cfi__has_fd(cfi) &&
	       (!cfi->watched || image__written_ns(cfi->img.fd) == cfi->written_ns);
}

void cfi__set_fd(struct cfi *cfi, int fd)
{
	if (cfi->mem)
		return;
	if (cfi->img.fd >= 0)
		close(cfi->img.fd);
	if (fd < 0 || image__of_part(&cfi->img, fd, cfi->part)) {
		if (fd >= 0)
			close(fd);
		image__of_mem(&cfi->img, NULL, 0);
	}
	if (cfi->img.fd >= 0)
		cfi->written_ns = image__written_ns(cfi->img.fd);
}

bool cfi__has_fd(const struct cfi *cfi)
{
	return !cfi->mem && cfi->img.fd >= 0;
}

uint16_t cfi__machine(const struct cfi *cfi)
{
	return cfi->machine;
}

bool cfi__wants_debug(struct cfi *cfi)
{
	bool ret = cfi->debug_wanted;

	cfi->debug_wanted = false;
	return ret;
}

void cfi__add_debug(struct cfi *cfi, const struct image *img)
{
	struct elf elf;

	if (elf__open(&elf, img))
		return;
	if (elf.is64 == cfi->is64 && elf.machine == cfi->machine)
		add_section(cfi, &elf, ".debug_frame", false);
	elf__close(&elf);
	clear(cfi); /* an address without a table may have one now */
}

/* Returns 0 when the row comes from this FDE. place: its code; NULL: as it says itself. */
static int try_fde(struct cfi *cfi, const struct cfi_section *sec, uint64_t off,
		   const struct cfi_place *place, uint64_t vaddr, struct cfi_row *row,
		   uint64_t *ret_end)
{
	struct cfi_fde fde;
	int ret = cfi_entry__fde(cfi, sec, off, &fde);

	if (ret)
		return ret;
	if (place) {
		fde.start = sec->lowest + place->start;
		fde.len = place->len;
	}
	*ret_end = fde.start + fde.len;
	if (vaddr - fde.start >= fde.len)
		return -ENOENT;
	ret = cfi_program__run(cfi, &fde, vaddr, row);
	row->has_table = !ret;
	row->since_start = vaddr - fde.start;
	return ret;
}

static void look_up(struct cfi *cfi, uint64_t vaddr, struct cfi_row *row)
{
	uint64_t off, next, end = UINT64_MAX;

	if (cfi->search.cnt && cfi_search__find(cfi, vaddr, &off, &next)) {
		if (!try_fde(cfi, &cfi->file, off, NULL, vaddr, row, &end))
			return;
		row->managed = vaddr >= end && next > end && next != UINT64_MAX &&
			       next - end >= MANAGED_BYTES;
	}
	for (size_t i = 0; i < cfi->section_cnt; i++) {
		const struct cfi_place *place = cfi_index__find(&cfi->sections[i], vaddr);

		if (place && !try_fde(cfi, &cfi->sections[i], place->off, place, vaddr, row, &end))
			return;
	}
}

static struct cfi_row *slot_of(const struct cfi *cfi, uint64_t key)
{
	size_t i = (key * 0x9e3779b97f4a7c15ull) >> 32;

	for (;; i++) {
		struct cfi_row *slot = &cfi->slots[i & (cfi->slot_cnt - 1)];

		if (!slot->key || slot->key == key)
			return slot;
	}
}

static bool is_full(const struct cfi *cfi)
{
	return cfi->row_cnt >= ROWS_MAX || cfi->rule_cnt + CFI_REG_MAX > CFI_RULES_MAX ||
	       cfi->expr_len + CFI_REG_MAX * CFI_EXPR_MAX > CFI_EXPRS_MAX;
}

static void make_room(struct cfi *cfi)
{
	struct cfi_row *old;
	size_t old_cnt;

	if (is_full(cfi))
		clear(cfi);
	old = cfi->slots;
	old_cnt = cfi->slot_cnt;
	if (4 * (cfi->row_cnt + 1) <= 3 * cfi->slot_cnt)
		return;
	cfi->slot_cnt = old_cnt ? 2 * old_cnt : 64;
	cfi->slots = must__calloc(cfi->slot_cnt, sizeof(*cfi->slots));
	for (size_t i = 0; i < old_cnt; i++)
		if (old[i].key)
			*slot_of(cfi, old[i].key) = old[i];
	free(old);
}

/* Returns true when the file has more tables than before. */
static bool read_packed(struct cfi *cfi)
{
	size_t before = cfi->section_cnt;
	struct elf elf;

	if (!cfi->packed_wanted)
		return false;
	cfi->packed_wanted = false;
	if (elf__open(&elf, &cfi->img))
		return false;
	add_packed(cfi, &elf);
	elf__close(&elf);
	return cfi->section_cnt > before;
}

static void fill(struct cfi *cfi, uint64_t offset, bool exact, struct cfi_row *row)
{
	uint8_t code[8];
	uint64_t vaddr;

	if (!cfi->is_elf || elf__vaddr(cfi->loads, cfi->load_cnt, offset, &vaddr))
		return;
	row->at_entry = cfi->entry && vaddr - cfi->entry < ENTRY_BYTES;
	row->behind_call = offset >= sizeof(code) &&
			   !cfi__code(cfi, offset - sizeof(code), code, sizeof(code)) &&
			   is_behind_call(cfi->machine, code);
	look_up(cfi, vaddr - !exact, row);
	/* Second, as its entries have no end: they also cover code without a table. */
	if (!row->has_table)
		exidx__find(cfi, vaddr - !exact, exact, row);
	row->of_go = cfi->keeps_fp;
	row->managed |= !row->has_table && cfi->keeps_fp;
	/*
	 * Where frame pointers lead, only leaves need the depth; on arm64 all frames do
	 * (unwind_table.c).
	 */
	if (!row->has_table && cfi->has_go && (exact || cfi->machine == EM_AARCH64)) {
		cfi->go.img = cfi->img;
		row->has_depth =
			gopclntab__depth(&cfi->go, vaddr - !exact, &row->depth, &row->is_top);
	}
}

const struct cfi_row *cfi__row(struct cfi *cfi, uint64_t offset, bool exact)
{
	struct cfi_row fresh = { .key = offset << 2 | (exact ? 3 : 1) }, *slot;

	if (cfi->slot_cnt) {
		slot = slot_of(cfi, fresh.key);
		if (slot->key)
			return slot;
	}
	if (!cfi->mem && !cfi->no_file && !is_open(cfi))
		return NULL;
	make_room(cfi);
	fill(cfi, offset, exact, &fresh);
	/* arm's own tables say nothing of prologues, where only a leaf can be */
	if ((!fresh.has_table || (exact && cfi->exidx.cnt)) && read_packed(cfi)) {
		clear(cfi); /* other addresses have a table now, too */
		return cfi__row(cfi, offset, exact);
	}
	slot = slot_of(cfi, fresh.key);
	*slot = fresh;
	cfi->row_cnt++;
	return slot;
}

const struct cfi_rule *cfi__rules(const struct cfi *cfi, const struct cfi_row *row)
{
	return cfi->rules + row->rules;
}

const uint8_t *cfi__expr(const struct cfi *cfi, const struct cfi_rule *rule)
{
	return cfi->exprs + rule->value;
}

int cfi__code(const struct cfi *cfi, uint64_t offset, void *buf, size_t len)
{
	return image__read(&cfi->img, offset, buf, len);
}

size_t cfi__bytes(const struct cfi *cfi)
{
	size_t ret = sizeof(*cfi) + cfi->load_cnt * sizeof(*cfi->loads) + cfi->scratch_sz[0] +
		     cfi->scratch_sz[1] + cfi->slot_cnt * sizeof(*cfi->slots) +
		     cfi->rule_cap * sizeof(*cfi->rules) + cfi->expr_cap;

	for (size_t i = 0; i < cfi->section_cnt; i++)
		ret += cfi->sections[i].size +
		       cfi->sections[i].index_cnt * sizeof(struct cfi_place);
	return ret;
}
