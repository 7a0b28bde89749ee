/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads ELF symbol tables with bounds checks. A name is searched in the string table first, so that
 * tables without it (the usual case) cost one pass over their strings and no memory.
 */
#include "symbol/elf/elffunc.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/file.h"
#include "base/xz.h"

#define PHDRS_MAX   256
#define STRINGS_MAX (256ull << 20)
#define SYMBOLS_MAX (16ull << 20)
#define NAME_MAX_SZ 256
#define PLACES_MAX  256
#define CHUNK	    (64u << 10)

#define HOST_DATA (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)

/* Fails, without a partial result, when the file ends early. */
static int elffunc__read(const struct elffunc *elf, uint64_t offset, void *buf, uint64_t len)
{
	if (offset > elf->size || len > elf->size - offset)
		return -ENOEXEC;
	return file__read_exactly(elf->fd, buf, len, elf->base + offset);
}

/* Reads a table that the header describes. *ret stays NULL when it is empty. */
static int read_table(const struct elffunc *elf, uint64_t offset, size_t cnt, size_t entry_sz,
		      void **ret)
{
	void *table;
	int err;

	if (!cnt)
		return 0;
	table = calloc(cnt, entry_sz);
	if (!table)
		return -ENOMEM;
	err = elffunc__read(elf, offset, table, cnt * entry_sz);
	if (err) {
		free(table);
		return err;
	}
	*ret = table;
	return 0;
}

static bool is_ours(const Elf64_Ehdr *head)
{
	return !memcmp(head->e_ident, ELFMAG, SELFMAG) && head->e_ident[EI_CLASS] == ELFCLASS64 &&
	       head->e_ident[EI_DATA] == HOST_DATA &&
	       (head->e_type == ET_DYN || head->e_type == ET_EXEC) &&
	       head->e_phentsize == sizeof(Elf64_Phdr) && head->e_phnum <= PHDRS_MAX;
}

static int read_headers(struct elffunc *elf)
{
	bool has_sections;
	Elf64_Ehdr head;
	int err;

	err = elffunc__read(elf, 0, &head, sizeof(head));
	if (err)
		return err;
	if (!is_ours(&head))
		return -ENOEXEC;
	elf->machine = head.e_machine;
	elf->phdr_cnt = head.e_phnum;
	err = read_table(elf, head.e_phoff, elf->phdr_cnt, sizeof(Elf64_Phdr),
			 (void **)&elf->phdrs);
	if (err)
		return err;
	elf->shstrndx = head.e_shstrndx;
	has_sections = head.e_shoff && head.e_shentsize == sizeof(Elf64_Shdr);
	elf->shdr_cnt = has_sections ? head.e_shnum : 0;
	return read_table(elf, head.e_shoff, elf->shdr_cnt, sizeof(Elf64_Shdr),
			  (void **)&elf->shdrs);
}

int elffunc__open_within(int fd, uint64_t base, uint64_t size, struct elffunc *ret)
{
	struct elffunc elf = { .fd = fd, .base = base };
	struct stat st;
	int err = apart__stat(fd, &st);

	if (!err && (!S_ISREG(st.st_mode) || st.st_size < 0 || base > (uint64_t)st.st_size))
		err = -ENOEXEC;
	if (!err) {
		elf.size = (uint64_t)st.st_size - base;
		if (elf.size > size)
			elf.size = size;
		err = read_headers(&elf);
	}
	if (err) {
		elffunc__close(&elf);
		return err;
	}
	*ret = elf;
	return 0;
}

int elffunc__open(int fd, struct elffunc *ret)
{
	return elffunc__open_within(fd, 0, UINT64_MAX, ret);
}

void elffunc__close(struct elffunc *elf)
{
	if (elf->fd >= 0)
		close(elf->fd);
	free(elf->phdrs);
	free(elf->shdrs);
	*elf = (struct elffunc){ .fd = -1 };
}

/* Offsets of the names in a string table, also as the tail of a longer string. */
struct places {
	struct {
		uint32_t offset, name;
	} at[PLACES_MAX];
	size_t cnt;
};

static void search_chunk(const char *chunk, size_t len, uint32_t base, const char *name,
			 uint32_t name_nr, struct places *places)
{
	size_t want = strlen(name) + 1;
	const char *at = chunk;

	while (places->cnt < PLACES_MAX &&
	       (at = memmem(at, len - (size_t)(at - chunk), name, want)) != NULL) {
		places->at[places->cnt].offset = base + (uint32_t)(at - chunk);
		places->at[places->cnt++].name = name_nr;
		at++;
	}
}

/* Chunks overlap by less than the shortest name, so no occurrence is found twice or missed. */
static int search_strings(const struct elffunc *elf, const Elf64_Shdr *strings,
			  const char *const *names, size_t cnt, char *chunk, struct places *places)
{
	uint64_t left = strings->sh_size, at = 0;

	if (left > STRINGS_MAX)
		return -ENOEXEC;
	while (left) {
		size_t n = left < CHUNK ? left : CHUNK;
		int err = elffunc__read(elf, strings->sh_offset + at, chunk, n);

		if (err)
			return err;
		for (uint32_t i = 0; i < cnt; i++) {
			size_t skip = at ? NAME_MAX_SZ - 1 - strlen(names[i]) : 0;

			if (skip < n)
				search_chunk(chunk + skip, n - skip, (uint32_t)(at + skip),
					     names[i], i, places);
		}
		if (n == left)
			break;
		at += n - (NAME_MAX_SZ - 1);
		left -= n - (NAME_MAX_SZ - 1);
	}
	return 0;
}

static void match(const Elf64_Sym *sym, const struct places *places, struct elffunc_place *ret)
{
	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || sym->st_shndx == SHN_UNDEF || !sym->st_value)
		return;
	for (size_t i = 0; i < places->cnt; i++) {
		struct elffunc_place *func = &ret[places->at[i].name];

		if (places->at[i].offset == sym->st_name && !func->value)
			*func = (struct elffunc_place){ sym->st_value, sym->st_size };
	}
}

static int search_symbols(const struct elffunc *elf, const Elf64_Shdr *table, char *chunk,
			  const struct places *places, struct elffunc_place *ret)
{
	uint64_t left = table->sh_size / sizeof(Elf64_Sym), at = table->sh_offset;

	if (left > SYMBOLS_MAX)
		return -ENOEXEC;
	while (left) {
		size_t n = left < CHUNK / sizeof(Elf64_Sym) ? left : CHUNK / sizeof(Elf64_Sym);
		int err = elffunc__read(elf, at, chunk, n * sizeof(Elf64_Sym));

		if (err)
			return err;
		for (size_t i = 0; i < n; i++) {
			Elf64_Sym sym;

			memcpy(&sym, chunk + i * sizeof(sym), sizeof(sym));
			match(&sym, places, ret);
		}
		at += n * sizeof(Elf64_Sym);
		left -= n;
	}
	return 0;
}

/* Searches one symbol table with its strings. */
static int search_table(const struct elffunc *elf, const Elf64_Shdr *table,
			const char *const *names, size_t cnt, char *chunk,
			struct elffunc_place *ret)
{
	const Elf64_Shdr *strings;
	struct places places = { .cnt = 0 };
	int err;

	if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= elf->shdr_cnt)
		return -ENOEXEC;
	strings = &elf->shdrs[table->sh_link];
	if (strings->sh_type != SHT_STRTAB)
		return -ENOEXEC;
	err = search_strings(elf, strings, names, cnt, chunk, &places);
	if (err || !places.cnt)
		return err;
	return search_symbols(elf, table, chunk, &places, ret);
}

static const Elf64_Shdr *section(const struct elffunc *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->shdr_cnt; i++) {
		if (elf->shdrs[i].sh_type == type)
			return &elf->shdrs[i];
	}
	return NULL;
}

/* Searches .dynsym; when it has fewer than `enough` of the names, also .symtab. */
static int find(const struct elffunc *elf, const char *const *names, size_t cnt, size_t enough,
		struct elffunc_place *ret)
{
	static const uint32_t types[] = { SHT_DYNSYM, SHT_SYMTAB };
	size_t found = 0;
	char *chunk;
	int err = 0;

	if (cnt > ELFFUNC_NAMES_MAX)
		return -EINVAL;
	for (size_t i = 0; i < cnt; i++) {
		if (!*names[i] || strlen(names[i]) >= NAME_MAX_SZ - 1)
			return -EINVAL;
	}
	chunk = malloc(CHUNK);
	if (!chunk)
		return -ENOMEM;
	memset(ret, 0, cnt * sizeof(*ret));
	for (size_t t = 0; t < 2 && found < enough; t++) {
		const Elf64_Shdr *table = section(elf, types[t]);

		if (table)
			err = search_table(elf, table, names, cnt, chunk, ret);
		found = 0;
		for (size_t i = 0; i < cnt; i++)
			found += ret[i].value != 0;
	}
	free(chunk);
	return found ? (int)found : err;
}

int elffunc__find(const struct elffunc *elf, const char *const *names, size_t cnt,
		  struct elffunc_place *ret)
{
	return find(elf, names, cnt, 1, ret);
}

int elffunc__find_each(const struct elffunc *elf, const char *const *names, size_t cnt,
		       struct elffunc_place *ret)
{
	return find(elf, names, cnt, cnt, ret);
}

int elffunc__code(const struct elffunc *elf, uint64_t value, uint8_t *buf, size_t len,
		  uint64_t *ret_offset)
{
	for (size_t i = 0; i < elf->phdr_cnt; i++) {
		const Elf64_Phdr *p = &elf->phdrs[i];
		uint64_t into = value - p->p_vaddr;
		int err;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || value < p->p_vaddr ||
		    into >= p->p_filesz || p->p_offset > elf->size ||
		    into >= elf->size - p->p_offset)
			continue;
		if (len > p->p_filesz - into)
			len = p->p_filesz - into;
		if (len > elf->size - p->p_offset - into)
			len = elf->size - p->p_offset - into;
		err = elffunc__read(elf, p->p_offset + into, buf, len);
		if (err)
			return err;
		*ret_offset = p->p_offset + into;
		return (int)len;
	}
	return -ENOENT;
}

/* --- sections by name, and .gnu_debugdata, which contains the missing symbols */

#define NAME_SZ	     64
#define PACKED_MAX   (16u << 20)
#define UNPACKED_MAX (32u << 20)

/*
 * Compares a name in the file. A name that the end of the table or of the file cuts off never
 * matches.
 */
static bool is_named(const struct elffunc *elf, const Elf64_Shdr *names, uint32_t at,
		     const char *name)
{
	size_t len = strlen(name) + 1;
	char buf[NAME_SZ];

	return len <= sizeof(buf) && at < names->sh_size && len <= names->sh_size - at &&
	       at <= UINT64_MAX - names->sh_offset &&
	       !elffunc__read(elf, names->sh_offset + at, buf, len) && !memcmp(buf, name, len);
}

/* A section by its name, or NULL. */
static const Elf64_Shdr *elffunc__section(const struct elffunc *elf, const char *name)
{
	const Elf64_Shdr *names;

	if (elf->shstrndx >= elf->shdr_cnt)
		return NULL;
	names = &elf->shdrs[elf->shstrndx];
	for (size_t i = 0; i < elf->shdr_cnt; i++) {
		if (is_named(elf, names, elf->shdrs[i].sh_name, name))
			return &elf->shdrs[i];
	}
	return NULL;
}

bool elffunc__has_section(const struct elffunc *elf, const char *name)
{
	return elffunc__section(elf, name) != NULL;
}

/* Makes an unnamed file of the bytes, for elffunc__open. */
static int open_bytes(const void *bytes, size_t len, struct elffunc *ret)
{
	int fd = memfd_create("jank-debugdata", MFD_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = file__write_all(fd, bytes, len);
	if (err) {
		close(fd);
		return err;
	}
	return elffunc__open(fd, ret);
}

int elffunc__open_debugdata(const struct elffunc *elf, struct elffunc *ret)
{
	const Elf64_Shdr *section = elffunc__section(elf, ".gnu_debugdata");
	void *packed, *bytes;
	size_t len;
	int err;

	if (!section)
		return -ENOENT;
	if (section->sh_size > PACKED_MAX)
		return -EFBIG;
	packed = malloc(section->sh_size ? section->sh_size : 1);
	if (!packed)
		return -ENOMEM;
	err = elffunc__read(elf, section->sh_offset, packed, section->sh_size);
	err = err ?: xz__unpack(packed, section->sh_size, UNPACKED_MAX, &bytes, &len);
	free(packed);
	if (err)
		return err;
	err = open_bytes(bytes, len, ret);
	free(bytes);
	return err;
}
