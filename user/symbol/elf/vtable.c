/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A vtable begins with the offset to the whole object and a pointer to the class's type_info; an
 * object's vtable pointer points behind both. The second word of the type_info points to the
 * mangled name. In programs compiled without RTTI that pointer is 0, and the symbol of the vtable
 * has the name.
 *
 * All of this is constant data of an untrusted program. Pages that the process has not touched yet
 * are read from its file. A program may have copies of its libraries' vtables and type_infos (copy
 * relocations), but not of the names: the file that holds the name defines the class.
 */
#include "symbol/elf/vtable.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files/proc.h"
#include "symbol/names/resolve.h"

/*
 * --- one object by address: one pass over .symtab, then .dynsym; only names of symbols with a
 * matching address are read
 */

#define ENTRIES_MAX (1u << 20)

struct object_search {
	const char *prefix;
	uint64_t vaddr, start; /* start: of the found object */
	struct names names;    /* borrowed */
	char *buf;
	size_t cap;
};

static int is_it(void *ctx, const Elf64_Sym *sym)
{
	struct object_search *search = ctx;
	size_t len;

	if (ELF64_ST_TYPE(sym->st_info) != STT_OBJECT || search->vaddr < sym->st_value ||
	    search->vaddr - sym->st_value >= sym->st_size)
		return 0;
	search->start = sym->st_value;
	len = names__get(&search->names, sym->st_name, search->buf, search->cap);
	return len && len < search->cap - 1 &&
	       !strncmp(search->buf, search->prefix, strlen(search->prefix));
}

static bool is_in_table(const struct elf *elf, struct object_search *search, uint32_t type)
{
	const struct elf_section *sec = elf__section_of_type(elf, type);
	const struct elf_section *strings = elf__strings_of(elf, sec);

	if (!strings)
		return false;
	names__borrow(&search->names, &elf->img, strings->offset, strings->size, 0);
	return elf__each_symbol(elf, sec, ENTRIES_MAX, is_it, search) > 0;
}

bool elfobject__find(const struct elf *elf, const char *prefix, uint64_t vaddr, char *buf,
		     size_t cap, uint64_t *ret_offset)
{
	struct object_search search = { prefix, vaddr, .buf = buf, .cap = cap };
	bool ret;

	names__init(&search.names);
	ret = is_in_table(elf, &search, SHT_SYMTAB) || is_in_table(elf, &search, SHT_DYNSYM);
	names__free(&search.names);
	*ret_offset = vaddr - search.start;
	return ret;
}

/* --- classes */

#define WORD   sizeof(uint64_t)
#define PIECE  64 /* bytes of a name; the page size is a multiple of it */
#define PREFIX "_ZTS"

struct reading {
	struct process_env *env;
	const struct process *process;
	uint64_t zeroed_max; /* bytes behind a segment's file part that count as its data (.bss) */
};

/* The place of an address in a file. */
struct place {
	struct mapped *mapped;
	uint64_t vaddr, offset;
};

/* Bias of the region's file: address in memory minus address as linked. */
static bool bias_of(const struct region *region, uint64_t *ret)
{
	const struct module *module = region->mapped->module;
	uint64_t vaddr;

	if (elf__vaddr(module->loads, module->load_cnt, region->offset, &vaddr))
		return false;
	*ret = region->start - vaddr;
	return true;
}

/* Whether addr is data of the file that the code region is mapped from. */
static bool is_beside(struct reading *rd, const struct region *region, uint64_t addr,
		      struct place *ret)
{
	struct mapped *mapped = region->mapped;
	uint64_t bias;

	if (mapped->kind != MAPPED_FILE || !mapped->module)
		return false;
	process__load(rd->env, rd->process, mapped);
	if (!bias_of(region, &bias))
		return false;
	for (size_t i = 0; i < mapped->module->load_cnt; i++) {
		const struct elf_segment *seg = &mapped->module->loads[i];
		uint64_t delta = addr - bias - seg->vaddr;

		if (delta >= seg->file_size + rd->zeroed_max)
			continue;
		*ret = (struct place){ mapped, addr - bias, seg->offset + delta };
		return true;
	}
	return false;
}

/* The data of a file lies next to its code, mostly behind it. */
static bool find_place(struct reading *rd, uint64_t addr, struct place *ret)
{
	const struct proc_maps *maps = &rd->process->maps;
	size_t low = 0, high = maps->cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (maps->regions[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return (low && is_beside(rd, &maps->regions[low - 1], addr, ret)) ||
	       (low < maps->cnt && is_beside(rd, &maps->regions[low], addr, ret));
}

static bool read_file(struct reading *rd, const struct place *place, void *buf, size_t len)
{
	int fd = process__open(rd->env, rd->process, place->mapped);
	struct image img;
	bool ret;

	if (fd < 0)
		return false;
	ret = !module__image(place->mapped->module, fd, &img) &&
	      !image__read(&img, place->offset, buf, len);
	close(fd);
	return ret;
}

/* Reads constant data within one page: from memory, else from the file. */
static bool read_data(struct reading *rd, uint64_t addr, void *buf, size_t len)
{
	int res = memory__read(rd->env->proc, rd->process->living, addr, buf, len);
	struct place place;

	return !res ||
	       (res == -ENODATA && find_place(rd, addr, &place) && read_file(rd, &place, buf, len));
}

static bool read_name(struct reading *rd, uint64_t addr, char *buf, size_t cap)
{
	size_t len = 0;

	while (len + PIECE <= cap) {
		size_t step = PIECE - (addr + len) % PIECE;
		char *end;

		if (!read_data(rd, addr + len, buf + len, step))
			return false;
		end = memchr(buf + len, 0, step);
		if (end)
			return end > buf;
		len += step;
	}
	return false;
}

/* "typeinfo name for X" and "vtable for X" */
static size_t class_of_symbol(const char *symbol, char *buf, size_t cap)
{
	size_t len = demangle__name(symbol, buf, cap);
	char *at = len ? strstr(buf, " for ") : NULL;

	if (!at)
		return 0;
	at += strlen(" for ");
	len -= at - buf;
	memmove(buf, at, len + 1);
	return len;
}

/* A star before the name means that it is compared by address only. */
static size_t class_by_rtti(struct reading *rd, uint64_t vptr, char *buf, size_t cap,
			    uint64_t *ret_name)
{
	char name[sizeof(PREFIX) - 1 + VTABLE_NAME_MAX + PIECE] = PREFIX;
	char *mangled = name + sizeof(PREFIX) - 1;
	uint64_t type;

	if (vptr % WORD || !read_data(rd, vptr - WORD, &type, WORD) || type % WORD ||
	    !read_data(rd, type + WORD, ret_name, WORD) ||
	    !read_name(rd, *ret_name, mangled, VTABLE_NAME_MAX + PIECE))
		return 0;
	if (*mangled == '*')
		memmove(mangled, mangled + 1, strlen(mangled));
	return class_of_symbol(name, buf, cap);
}

/* Writes the symbol's name; false: there is none. */
static bool find_symbol(struct reading *rd, const struct place *place, const char *prefix,
			char symbol[VTABLE_NAME_MAX], uint64_t *ret_offset)
{
	struct image img;
	struct elf elf;
	bool ret = false;
	int fd = process__open(rd->env, rd->process, place->mapped);

	if (fd < 0)
		return false;
	if (!module__image(place->mapped->module, fd, &img) && !elf__open(&elf, &img)) {
		ret = elfobject__find(&elf, prefix, place->vaddr, symbol, VTABLE_NAME_MAX,
				      ret_offset);
		elf__close(&elf);
	}
	close(fd);
	return ret;
}

static size_t class_by_symbol(struct reading *rd, const struct place *place, char *buf, size_t cap)
{
	char symbol[VTABLE_NAME_MAX];
	uint64_t offset;

	return find_symbol(rd, place, "_ZTV", symbol, &offset) ? class_of_symbol(symbol, buf, cap)
							       : 0;
}

size_t vtable__class(struct process_env *env, const struct process *process, uint64_t vptr,
		     char *buf, size_t cap, struct mapped **ret)
{
	struct reading rd = { .env = env, .process = process };
	struct place place = { 0 };
	uint64_t name;
	size_t len;

	len = class_by_rtti(&rd, vptr, buf, cap, &name);
	if (len)
		find_place(&rd, name, &place);
	else if (find_place(&rd, vptr, &place))
		len = class_by_symbol(&rd, &place, buf, cap);
	*ret = place.mapped;
	return len;
}

/* --- variables */

#define ZEROED_MAX (1ull << 30) /* the symbol's size decides */

size_t variable__name(struct process_env *env, const struct process *process, uint64_t addr,
		      char *buf, size_t cap, struct mapped **ret, uint64_t *ret_offset)
{
	struct reading rd = { .env = env, .process = process, .zeroed_max = ZEROED_MAX };
	char symbol[VTABLE_NAME_MAX];
	struct place place;
	size_t len;

	if (!find_place(&rd, addr, &place) || !find_symbol(&rd, &place, "", symbol, ret_offset))
		return 0;
	*ret = place.mapped;
	len = demangle__name(symbol, buf, cap);
	if (len)
		return len;
	len = strnlen(symbol, cap - 1);
	memcpy(buf, symbol, len);
	buf[len] = '\0';
	return len;
}
