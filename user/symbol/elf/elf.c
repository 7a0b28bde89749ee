/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads ELF headers of untrusted files. See elf.h. */
#include "symbol/elf/elf.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- notes of a file, of the vdso, or of the kernel */

#define NOTE_HEADERS_MAX 4096 /* examined: some files have megabytes of other notes */

static uint64_t padded(uint32_t size)
{
	return ((uint64_t)size + 3) & ~3ull;
}

static bool keep_hex(const struct image *img, uint64_t off, size_t len, char *hex)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char id[BUILD_ID_MAX];
	size_t i;

	if (!len || len > sizeof(id) || image__read(img, off, id, len))
		return false;
	for (i = 0; i < len; i++) {
		hex[2 * i] = digits[id[i] >> 4];
		hex[2 * i + 1] = digits[id[i] & 15];
	}
	hex[2 * len] = 0;
	return true;
}

bool elf_note__find(const struct image *img, struct image_part notes, uint32_t type,
		    const char owner[4], struct image_part *ret)
{
	uint64_t at = 0;
	unsigned i;

	if (!image__holds(img, notes.begin, notes.size))
		return false;
	for (i = 0; i < NOTE_HEADERS_MAX && notes.size - at >= sizeof(Elf64_Nhdr); i++) {
		uint64_t begin = notes.begin + at, whole;
		Elf64_Nhdr note; /* the same in both classes */
		char name[4];

		if (image__read(img, begin, &note, sizeof(note)))
			return false;
		whole = sizeof(note) + padded(note.n_namesz) + padded(note.n_descsz);
		if (whole > notes.size - at)
			return false;
		*ret = (struct image_part){ begin + sizeof(note) + sizeof(name), note.n_descsz };
		if (note.n_type == type && note.n_namesz == sizeof(name) &&
		    !image__read(img, begin + sizeof(note), name, sizeof(name)) &&
		    !memcmp(name, owner, sizeof(name)))
			return true;
		at += whole;
	}
	return false;
}

bool buildid__find(const struct image *img, uint64_t off, uint64_t size, char *hex)
{
	struct image_part id;

	return elf_note__find(img, (struct image_part){ off, size }, NT_GNU_BUILD_ID, "GNU", &id) &&
	       keep_hex(img, id.begin, id.size, hex);
}

#define PHDRS_MAX     512
#define NAMES_MAX     (1u << 20)
#define NOTES_MAX     32 /* note segments or sections searched; usual are two to six */
#define PIECE_ENTRIES 32 /* entries of a table of segments or sections, read at once */
#define SYMBOLS_CHUNK 4096
#define PAGE_MAX      65536 /* mappings are aligned to pages of 4 to 64 KiB; segments need not be */

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

/* The fields of the header that are used, for both classes. */
struct header {
	uint64_t phoff, shoff;
	uint32_t phnum, shnum, shstrndx;
};

static int read_header(struct elf *elf, struct header *ret)
{
	unsigned char ident[EI_NIDENT];
	Elf64_Ehdr e64;
	Elf32_Ehdr e32;

	if (image__read(&elf->img, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) ||
	    ident[EI_DATA] != NATIVE_DATA)
		return -ENOEXEC;
	elf->is64 = ident[EI_CLASS] == ELFCLASS64;
	if (elf->is64) {
		if (image__read(&elf->img, 0, &e64, sizeof(e64)))
			return -ENOEXEC;
		elf->type = e64.e_type;
		elf->machine = e64.e_machine;
		elf->entry = e64.e_entry;
		*ret = (struct header){ e64.e_phoff, e64.e_shoff, e64.e_phnum, e64.e_shnum,
					e64.e_shstrndx };
	} else {
		if (image__read(&elf->img, 0, &e32, sizeof(e32)))
			return -ENOEXEC;
		elf->type = e32.e_type;
		elf->machine = e32.e_machine;
		elf->entry = e32.e_entry;
		*ret = (struct header){ e32.e_phoff, e32.e_shoff, e32.e_phnum, e32.e_shnum,
					e32.e_shstrndx };
	}
	return 0;
}

/* Some entries of the table of segments or sections, as in the file. */
union piece {
	Elf64_Phdr p64[PIECE_ENTRIES];
	Elf32_Phdr p32[PIECE_ENTRIES];
	Elf64_Shdr s64[PIECE_ENTRIES];
	Elf32_Shdr s32[PIECE_ENTRIES];
};

/* Reads at most cnt entries from off on, up to the end of the file. Returns their number. */
static size_t read_piece(const struct elf *elf, uint64_t off, size_t entry, size_t cnt,
			 union piece *ret)
{
	uint64_t left = off < elf->img.size ? elf->img.size - off : 0;

	if (cnt > PIECE_ENTRIES)
		cnt = PIECE_ENTRIES;
	if (cnt > left / entry)
		cnt = left / entry;
	return cnt && !image__read(&elf->img, off, ret, cnt * entry) ? cnt : 0;
}

static Elf64_Phdr phdr_of(const struct elf *elf, const union piece *piece, size_t i)
{
	const Elf32_Phdr *p32 = &piece->p32[i];

	if (elf->is64)
		return piece->p64[i];
	return (Elf64_Phdr){ .p_type = p32->p_type,
			     .p_flags = p32->p_flags,
			     .p_offset = p32->p_offset,
			     .p_vaddr = p32->p_vaddr,
			     .p_filesz = p32->p_filesz };
}

static struct elf_segment segment_of(const Elf64_Phdr *ph)
{
	return (struct elf_segment){
		.offset = ph->p_offset,
		.vaddr = ph->p_vaddr,
		.file_size = ph->p_filesz,
		.exec = ph->p_flags & PF_X,
	};
}

static void add_segment(struct elf *elf, const Elf64_Phdr *ph, size_t *notes)
{
	if (ph->p_type == PT_NOTE && !elf->build_id[0] && (*notes)++ < NOTES_MAX)
		buildid__find(&elf->img, ph->p_offset, ph->p_filesz, elf->build_id);
	if (!ph->p_filesz || !image__holds(&elf->img, ph->p_offset, ph->p_filesz))
		return;
	elf->has_interp |= ph->p_type == PT_INTERP;
	if (ph->p_type == PT_GNU_EH_FRAME)
		elf->eh_hdr = segment_of(ph);
	if (ph->p_type == PT_ARM_EXIDX)
		elf->exidx = segment_of(ph);
	if (ph->p_type == PT_LOAD && elf->load_cnt < ELF_LOADS_MAX)
		elf->loads[elf->load_cnt++] = segment_of(ph);
}

static void read_segments(struct elf *elf, const struct header *hdr)
{
	size_t size = elf->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), notes = 0, done, cnt, i;
	size_t all = hdr->phnum < PHDRS_MAX ? hdr->phnum : PHDRS_MAX;
	union piece piece;

	for (done = 0; hdr->phoff <= elf->img.size && done < all; done += cnt) {
		cnt = read_piece(elf, hdr->phoff + done * size, size, all - done, &piece);
		if (!cnt)
			return;
		for (i = 0; i < cnt; i++) {
			Elf64_Phdr ph = phdr_of(elf, &piece, i);

			add_segment(elf, &ph, &notes);
		}
	}
}

static struct elf_section section_of(const struct elf *elf, const union piece *piece, size_t i)
{
	const Elf64_Shdr *s64 = &piece->s64[i];
	const Elf32_Shdr *s32 = &piece->s32[i];

	return elf->is64 ? (struct elf_section){ .addr = s64->sh_addr,
						 .offset = s64->sh_offset,
						 .size = s64->sh_size,
						 .flags = s64->sh_flags,
						 .name = s64->sh_name,
						 .type = s64->sh_type,
						 .link = s64->sh_link,
						 .entry_size = s64->sh_entsize }
			 : (struct elf_section){ .addr = s32->sh_addr,
						 .offset = s32->sh_offset,
						 .size = s32->sh_size,
						 .flags = s32->sh_flags,
						 .name = s32->sh_name,
						 .type = s32->sh_type,
						 .link = s32->sh_link,
						 .entry_size = s32->sh_entsize };
}

static size_t shdr_size(const struct elf *elf)
{
	return elf->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

static void read_section_names(struct elf *elf, uint32_t shstrndx)
{
	const struct elf_section *sec;

	if (shstrndx >= elf->section_cnt)
		return;
	sec = &elf->sections[shstrndx];
	if (sec->type != SHT_STRTAB || sec->size > NAMES_MAX ||
	    !image__holds(&elf->img, sec->offset, sec->size))
		return;
	elf->names = malloc(sec->size + 1);
	if (!elf->names)
		return;
	if (image__read(&elf->img, sec->offset, elf->names, sec->size))
		return;
	elf->names[sec->size] = 0;
	elf->names_len = sec->size;
}

/* Counts that do not fit into the header are in section 0. */
static int extended_counts(const struct elf *elf, struct header *hdr)
{
	struct elf_section first;
	union piece piece;

	if (!hdr->shoff || hdr->shoff > elf->img.size)
		return -ENOENT;
	if (hdr->shnum && hdr->shstrndx != SHN_XINDEX)
		return 0;
	if (!read_piece(elf, hdr->shoff, shdr_size(elf), 1, &piece))
		return -ENODATA;
	first = section_of(elf, &piece, 0);
	if (!hdr->shnum)
		hdr->shnum = first.size < ELF_SECTIONS_MAX ? first.size : ELF_SECTIONS_MAX;
	if (hdr->shstrndx == SHN_XINDEX)
		hdr->shstrndx = first.link;
	return 0;
}

static int read_sections(struct elf *elf, struct header *hdr)
{
	size_t size = shdr_size(elf), cnt, i;
	union piece piece;

	if (extended_counts(elf, hdr))
		return 0;
	if (hdr->shnum > ELF_SECTIONS_MAX)
		hdr->shnum = ELF_SECTIONS_MAX;
	if (!image__holds(&elf->img, hdr->shoff, hdr->shnum * size))
		return 0;
	elf->sections = calloc(hdr->shnum ? hdr->shnum : 1, sizeof(*elf->sections));
	if (!elf->sections)
		return -ENOMEM;
	while (elf->section_cnt < hdr->shnum) {
		cnt = read_piece(elf, hdr->shoff + elf->section_cnt * size, size,
				 hdr->shnum - elf->section_cnt, &piece);
		for (i = 0; i < cnt; i++)
			elf->sections[elf->section_cnt++] = section_of(elf, &piece, i);
		if (!cnt)
			break;
	}
	read_section_names(elf, hdr->shstrndx);
	return 0;
}

/* A separate debug file lacks the contents of segments, but has the note sections. */
static void read_build_id(struct elf *elf)
{
	size_t notes = 0, i;

	for (i = 0; i < elf->section_cnt && !elf->build_id[0]; i++) {
		const struct elf_section *sec = &elf->sections[i];

		if (sec->type == SHT_NOTE && notes++ < NOTES_MAX)
			buildid__find(&elf->img, sec->offset, sec->size, elf->build_id);
	}
}

int elf__open(struct elf *elf, const struct image *img)
{
	struct header hdr;
	int ret;

	memset(elf, 0, sizeof(*elf));
	elf->img = *img;
	ret = read_header(elf, &hdr);
	if (ret)
		return ret;
	ret = read_sections(elf, &hdr);
	if (ret)
		return ret;
	read_build_id(elf);
	read_segments(elf, &hdr);
	return 0;
}

void elf__close(struct elf *elf)
{
	free(elf->sections);
	free(elf->names);
	memset(elf, 0, sizeof(*elf));
}

const struct elf_section *elf__section_of_type(const struct elf *elf, uint32_t type)
{
	size_t i;

	for (i = 0; i < elf->section_cnt; i++) {
		const struct elf_section *sec = &elf->sections[i];

		if (sec->type == type && image__holds(&elf->img, sec->offset, sec->size))
			return sec;
	}
	return NULL;
}

const struct elf_section *elf__section(const struct elf *elf, const char *name)
{
	size_t i;

	for (i = 0; i < elf->section_cnt; i++) {
		const struct elf_section *sec = &elf->sections[i];

		if (sec->name < elf->names_len && !strcmp(elf->names + sec->name, name))
			return sec->type != SHT_NOBITS &&
					       image__holds(&elf->img, sec->offset, sec->size)
				       ? sec
				       : NULL;
	}
	return NULL;
}

const struct elf_section *elf__strings_of(const struct elf *elf, const struct elf_section *table)
{
	const struct elf_section *ret;

	if (!table || table->link >= elf->section_cnt)
		return NULL;
	ret = &elf->sections[table->link];
	return ret->type == SHT_STRTAB && image__holds(&elf->img, ret->offset, ret->size) ? ret
											  : NULL;
}

static Elf64_Sym symbol_of(const struct elf *elf, const void *chunk, size_t i)
{
	const Elf32_Sym *sym = (const Elf32_Sym *)chunk + i;

	if (elf->is64)
		return ((const Elf64_Sym *)chunk)[i];
	return (Elf64_Sym){ .st_name = sym->st_name,
			    .st_info = sym->st_info,
			    .st_shndx = sym->st_shndx,
			    .st_value = sym->st_value,
			    .st_size = sym->st_size };
}

int elf__each_symbol(const struct elf *elf, const struct elf_section *table, size_t max,
		     elf_symbol_fn fn, void *ctx)
{
	size_t size = elf->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	size_t left = table->size / size < max ? table->size / size : max, cnt;
	void *chunk = malloc(SYMBOLS_CHUNK * size);
	uint64_t off = table->offset;
	int ret = chunk ? 0 : -ENOMEM;

	for (; !ret && left; left -= cnt, off += cnt * size) {
		cnt = left < SYMBOLS_CHUNK ? left : SYMBOLS_CHUNK;
		ret = image__read(&elf->img, off, chunk, cnt * size);
		for (size_t i = 0; i < cnt && !ret; i++) {
			Elf64_Sym sym = symbol_of(elf, chunk, i);

			ret = fn(ctx, &sym);
		}
	}
	free(chunk);
	return ret;
}

int elf__read(const struct elf *elf, uint64_t vaddr, void *buf, size_t len)
{
	for (size_t i = 0; i < elf->load_cnt; i++) {
		const struct elf_segment *seg = &elf->loads[i];

		if (vaddr >= seg->vaddr && vaddr - seg->vaddr < seg->file_size &&
		    len <= seg->file_size - (vaddr - seg->vaddr))
			return image__read(&elf->img, seg->offset + (vaddr - seg->vaddr), buf, len);
	}
	return -ENOENT;
}

/*
 * A mapping covers whole pages, and so also bytes of the file before and after its segment. Prefer
 * the segment that really contains the offset, and an executable one, since addresses are of code.
 */
int elf__vaddr(const struct elf_segment *loads, size_t cnt, uint64_t offset, uint64_t *ret)
{
	const struct elf_segment *best = NULL;
	size_t i;

	for (i = 0; i < cnt; i++) {
		const struct elf_segment *seg = &loads[i];
		uint64_t begin = seg->offset & ~(uint64_t)(PAGE_MAX - 1);

		if (offset < begin || offset - begin >= seg->file_size + 2 * PAGE_MAX)
			continue;
		if (!best || (seg->exec && !best->exec))
			best = seg;
		if (seg->exec && offset >= seg->offset && offset - seg->offset < seg->file_size) {
			best = seg;
			break;
		}
	}
	if (!best)
		return -ENOENT;
	*ret = offset - best->offset + best->vaddr;
	return 0;
}
