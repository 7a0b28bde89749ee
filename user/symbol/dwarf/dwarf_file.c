/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that libdw reads. They are mapped: libdw takes sections whole, and those of a large file
 * would not fit into memory. A file that is truncated meanwhile ends jankbpf-name by SIGBUS, which
 * is started again; at the second end it does not read the file any more.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files/unread.h"
#include "symbol/dwarf/dwarf_parts.h"

#define DEFLATE_MAX 1032  /* bytes that a compressed byte can become */
#define PAGE_SZ	    65536 /* the largest of any machine */

/* The size of a compressed section in memory; 0: not to be read. */
static uint64_t unpacked_size(const struct elf *elf, const struct elf_section *sec)
{
	Elf64_Chdr c64 = {};
	Elf32_Chdr c32 = {};

	if (image__read(&elf->img, sec->offset, elf->is64 ? (void *)&c64 : (void *)&c32,
			elf->is64 ? sizeof(c64) : sizeof(c32)))
		return 0;
	return elf->is64 ? c64.ch_size : c32.ch_size;
}

/* A few compressed bytes may expand to gigabytes. */
static bool add_unpacked(const struct elf *elf, size_t *ret)
{
	for (size_t i = 0; i < elf->section_cnt; i++) {
		const struct elf_section *sec = &elf->sections[i];
		const char *name = sec->name < elf->names_len ? elf->names + sec->name : "";
		uint64_t size;

		if (!strncmp(name, ".zdebug_", strlen(".zdebug_"))) /* the old form */
			return false;
		if (!(sec->flags & SHF_COMPRESSED))
			continue;
		size = unpacked_size(elf, sec);
		if (!size || size / DEFLATE_MAX > sec->size || size > DWARF_FILE_MAX - *ret)
			return false;
		*ret += size;
	}
	return true;
}

bool dwarf_file__init(struct dwarf_file *file, const struct elf *elf)
{
	*file = (struct dwarf_file){ .img = elf->img };
	file->img.fd = -1;
	if (elf->img.fd < 0 || !elf__section(elf, ".debug_info") ||
	    !elf__section(elf, ".debug_abbrev") || !add_unpacked(elf, &file->unpacked))
		return false;
	file->img.fd = fcntl(elf->img.fd, F_DUPFD_CLOEXEC, 3);
	if (file->img.fd < 0)
		unread__add(UNREAD_NO_FD, elf->build_id);
	return file->img.fd >= 0;
}

static void *map(struct dwarf_file *file)
{
	uint64_t skip = file->img.begin % PAGE_SZ;
	char *mem;

	file->mem_size = file->img.size + skip;
	/* libelf writes to the headers of sections that it unpacks */
	mem = mmap(NULL, file->mem_size, PROT_READ | (file->unpacked ? PROT_WRITE : 0), MAP_PRIVATE,
		   file->img.fd, file->img.begin - skip);
	file->mapped = mem != MAP_FAILED;
	if (!file->mapped)
		return NULL;
	file->mem = mem;
	return mem + skip;
}

/* Files of a file system that may never answer cannot be mapped. */
static void *read_whole(struct dwarf_file *file)
{
	file->mem_size = file->img.size;
	file->mem = file->mem_size <= DWARF_FILE_MAX ? malloc(file->mem_size) : NULL;
	if (!file->mem || image__read(&file->img, 0, file->mem, file->mem_size))
		return NULL;
	return file->mem;
}

/* libdw cannot go on without memory: its handler must not return. */
static _Noreturn void end_process(void)
{
	_exit(1);
}

bool dwarf_file__open(struct dwarf_file *file)
{
	char *mem;

	if (file->img.fd < 0)
		return false;
	elf_version(EV_CURRENT);
	mem = map(file);
	if (!mem)
		mem = read_whole(file);
	file->elf = mem ? elf_memory(mem, file->img.size) : NULL;
	file->dwarf = file->elf ? dwarf_begin_elf(file->elf, DWARF_C_READ, NULL) : NULL;
	if (file->dwarf)
		dwarf_new_oom_handler(file->dwarf, end_process);
	else
		dwarf_file__close(file);
	return file->dwarf;
}

void dwarf_file__close(struct dwarf_file *file)
{
	dwarf_end(file->dwarf);
	elf_end(file->elf);
	if (file->mapped)
		munmap(file->mem, file->mem_size);
	else
		free(file->mem);
	file->dwarf = NULL;
	file->elf = NULL;
	file->mem = NULL;
	file->mapped = false;
}

void dwarf_file__free(struct dwarf_file *file)
{
	dwarf_file__close(file);
	if (file->img.fd >= 0)
		close(file->img.fd);
	file->img.fd = -1;
}

size_t dwarf_file__bytes(const struct dwarf_file *file)
{
	return file->dwarf ? file->unpacked + (file->mapped ? 0 : file->mem_size) : 0;
}
