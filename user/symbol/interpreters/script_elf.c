/* SPDX-License-Identifier: GPL-2.0 */
/* One pass through .dynsym, which keeps them where the file is stripped; else through .symtab. */
#include "symbol/interpreters/script_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX   (1u << 20)
#define CHUNK_ENTRIES 256
#define STRINGS_MAX   (16u << 20)
#define VERSION_MAX   16
#define NEAR_MAX      8192 /* so far before rb_mutex_lock lies the function that it leads to, at most */

struct search {
	const struct elf *elf;
	const char *strings; /* the table's names, NUL at the end */
	size_t strings_sz;
	Elf64_Sym runtime, code_type, version; /* CPython's */
	Elf64_Sym ruby_vm, ruby_version, lock; /* Ruby's */
};

static void take(struct search *search, const Elf64_Sym *sym)
{
	const struct {
		const char *name;
		Elf64_Sym *to;
	} wanted[] = {
		{ "_PyRuntime", &search->runtime },
		{ "PyCode_Type", &search->code_type },
		{ "Py_Version", &search->version },
		{ "ruby_current_vm_ptr", &search->ruby_vm },
		{ "ruby_version", &search->ruby_version },
		{ "rb_mutex_lock", &search->lock },
	};
	uint8_t type = ELF64_ST_TYPE(sym->st_info);

	if ((type != STT_OBJECT && type != STT_FUNC) || !sym->st_value ||
	    sym->st_name >= search->strings_sz)
		return;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!strcmp(search->strings + sym->st_name, wanted[i].name))
			*wanted[i].to = *sym;
}

static bool has_python(const struct search *search)
{
	return search->runtime.st_value && search->code_type.st_value && search->version.st_value;
}

static bool has_ruby(const struct search *search)
{
	return search->ruby_vm.st_value && search->ruby_version.st_value && search->lock.st_value;
}

static bool has_all(const struct search *search)
{
	return has_python(search) || has_ruby(search);
}

static void search_symbols(struct search *search, const struct elf_section *sec)
{
	uint64_t left = sec->size / sizeof(Elf64_Sym), off = sec->offset;
	Elf64_Sym syms[CHUNK_ENTRIES];

	if (left > ENTRIES_MAX)
		left = ENTRIES_MAX;
	while (left && !has_all(search)) {
		size_t cnt = left < CHUNK_ENTRIES ? left : CHUNK_ENTRIES;

		if (image__read(&search->elf->img, off, syms, cnt * sizeof(*syms)))
			return;
		for (size_t i = 0; i < cnt; i++)
			take(search, &syms[i]);
		off += cnt * sizeof(*syms);
		left -= cnt;
	}
}

static int search_table(struct search *search, uint32_t type)
{
	const struct elf_section *sec = elf__section_of_type(search->elf, type), *strings;
	char *names;
	int res;

	if (!sec || sec->link >= search->elf->section_cnt)
		return 0;
	strings = &search->elf->sections[sec->link];
	if (strings->type != SHT_STRTAB || strings->size > STRINGS_MAX ||
	    !image__holds(&search->elf->img, strings->offset, strings->size))
		return 0;
	names = calloc(1, strings->size + 1);
	if (!names)
		return -ENOMEM;
	res = image__read(&search->elf->img, strings->offset, names, strings->size);
	search->strings = names;
	search->strings_sz = strings->size;
	if (!res)
		search_symbols(search, sec);
	free(names);
	return res;
}

/* A constant's bytes, as they lie in the file. */
static int read_constant(const struct elf *elf, uint64_t vaddr, void *buf, size_t len)
{
	for (size_t i = 0; i < elf->load_cnt; i++) {
		const struct elf_segment *seg = &elf->loads[i];

		if (vaddr >= seg->vaddr && vaddr - seg->vaddr < seg->file_size)
			return image__read(&elf->img, seg->offset + (vaddr - seg->vaddr), buf, len);
	}
	return -ENOENT;
}

/* "3.1.2" as 0x03010200. */
static int read_ruby_version(const struct elf *elf, uint64_t vaddr, uint32_t *ret)
{
	char text[VERSION_MAX] = {};
	unsigned major, minor, patch;
	int res = read_constant(elf, vaddr, text, sizeof(text) - 1);

	if (res)
		return res;
	if (sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch) != 3)
		return -ENOENT;
	*ret = (major & 0xff) << 24 | (minor & 0xff) << 16 | (patch & 0xff) << 8;
	return 0;
}

/*
 * rb_mutex_lock may do nothing but jump to a function that has no name, shortly before it: that one's callers see no
 * rb_mutex_lock. Where the jump leads; or the function itself.
 */
static uint64_t lock_begin(const struct elf *elf, uint64_t vaddr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[16];
	size_t at = 0;
	int32_t disp;
	uint64_t to;

	if (read_constant(elf, vaddr, code, sizeof(code)))
		return vaddr;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (code[at] == 0xbe) /* mov $1,%esi */
		at += 5;
	memcpy(&disp, code + at + 1, sizeof(disp));
	to = vaddr + at + 5 + disp;
	return code[at] == 0xe9 && to < vaddr && vaddr - to < NEAR_MAX ? to : vaddr;
}

static int make_ruby(const struct elf *elf, const struct search *search, struct script_elf *ret)
{
	*ret = (struct script_elf){
		.is_ruby = true,
		.runtime = search->ruby_vm.st_value,
		.lock_begin = lock_begin(elf, search->lock.st_value),
		.lock_end = search->lock.st_value + search->lock.st_size,
	};
	return read_ruby_version(elf, search->ruby_version.st_value, &ret->version);
}

int script_elf__find(const struct elf *elf, struct script_elf *ret)
{
	struct search search = { .elf = elf };
	uint64_t version;
	int res;

	if (!elf->is64)
		return -ENOENT;
	res = search_table(&search, SHT_DYNSYM);
	if (!res && !has_all(&search))
		res = search_table(&search, SHT_SYMTAB);
	if (res || !has_all(&search))
		return res ?: -ENOENT;
	if (!has_python(&search))
		return make_ruby(elf, &search, ret);
	res = read_constant(elf, search.version.st_value, &version, sizeof(version));
	if (res)
		return res;
	*ret = (struct script_elf){ .runtime = search.runtime.st_value,
				    .code_type = search.code_type.st_value,
				    .version = version };
	return 0;
}
