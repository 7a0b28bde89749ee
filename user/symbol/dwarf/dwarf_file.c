/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that libdw reads. They are mapped: libdw takes sections whole, and those of a large file
 * would not fit into memory. A file that is truncated meanwhile ends jankbpf-name by SIGBUS, which
 * is started again; at the second end it does not read the file any more.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/must.h"
#include "files/unread.h"
#include "symbol/dwarf/dwarf_parts.h"

#define LINES_MAX   (4u << 20) /* bytes of a line table; libdw needs up to 96 for each of them */
#define DEFLATE_MAX 1032       /* bytes that a compressed byte can become */
#define PAGE_SZ	    65536      /* the largest of any machine */

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

/*
 * Zeros follow the file: libdw 0.188 reads on behind a string without an end in the file names of
 * .debug_line.
 */
static void *map(struct dwarf_file *file)
{
	uint64_t skip = file->img.begin % PAGE_SZ;
	size_t size = file->img.size + skip;
	char *mem = mmap(NULL, size + PAGE_SZ, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		return NULL;
	/* libelf writes to the headers of sections that it unpacks */
	if (mmap(mem, size, PROT_READ | (file->unpacked ? PROT_WRITE : 0), MAP_PRIVATE | MAP_FIXED,
		 file->img.fd, file->img.begin - skip) == MAP_FAILED) {
		munmap(mem, size + PAGE_SZ);
		return NULL;
	}
	file->mapped = true;
	file->mem = mem;
	file->mem_size = size + PAGE_SZ;
	return mem + skip;
}

/* Files of a file system that may never answer cannot be mapped. */
static void *read_whole(struct dwarf_file *file)
{
	size_t size = file->img.size;

	file->mem = size < DWARF_FILE_MAX ? must__malloc(size + 1) : NULL;
	if (!file->mem || image__read(&file->img, 0, file->mem, size))
		return NULL;
	((char *)file->mem)[size] = 0;
	file->mem_size = size + 1;
	return file->mem;
}

static const Elf_Data *line_section(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr head;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;

		if (name && !strcmp(name, ".debug_line"))
			return elf_rawdata(scn, NULL);
	}
	return NULL;
}

bool dwarf_file__lines_fit(const struct dwarf_file *file, uint64_t off)
{
	const Elf_Data *data = file->lines;
	uint64_t wide;
	uint32_t len;

	if (!data || !data->d_buf || off > data->d_size ||
	    data->d_size - off < sizeof(len) + sizeof(wide))
		return false;
	memcpy(&len, (const char *)data->d_buf + off, sizeof(len));
	memcpy(&wide, (const char *)data->d_buf + off + sizeof(len), sizeof(wide));
	return len == UINT32_MAX ? wide <= LINES_MAX : len <= LINES_MAX;
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
	if (!file->dwarf) {
		dwarf_file__close(file);
		return false;
	}
	dwarf_new_oom_handler(file->dwarf, end_process);
	file->lines = line_section(file->elf); /* when libdw has unpacked it */
	return true;
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
	file->lines = NULL;
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
