/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A valid ELF file that repeats itself: thousands of sections over one hole of many megabytes. It
 * takes no room on a disk, and must not take more of our time than an honest one.
 */
#include <elf.h>
#include <fcntl.h>
#include <time.h>

#include "symbol/modules/module.h"
#include "tests/unit/scratch.h"

#define HOLE	    (1u << 20)
#define HOLE_SZ	    (96u << 20)
#define SECTION_MAX 16000
#define MAX_MS	    3000 /* with the sanitizers; minutes if each section were read */

static const Elf64_Shdr dynsym = {
	.sh_type = SHT_DYNSYM, .sh_offset = HOLE, .sh_size = 48, .sh_link = 2, .sh_entsize = 24
};
static const Elf64_Shdr strings = { .sh_type = SHT_STRTAB, .sh_offset = HOLE, .sh_size = 64 };

static int make_file(uint32_t type, unsigned cnt)
{
	Elf64_Ehdr head = { .e_type = ET_DYN,
			    .e_machine = EM_X86_64,
			    .e_shoff = sizeof(head),
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = 3 + cnt };
	Elf64_Shdr *sections = calloc(3 + cnt, sizeof(*sections));
	int fd = open(scratch__path("costly"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t size = (3 + cnt) * sizeof(*sections);

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	sections[1] = dynsym;
	sections[2] = strings;
	for (unsigned i = 3; i < 3 + cnt; i++)
		sections[i] = (Elf64_Shdr){
			.sh_type = type, .sh_offset = HOLE, .sh_size = HOLE_SZ, .sh_link = 1
		};
	if (fd < 0 || ftruncate(fd, HOLE + HOLE_SZ) ||
	    pwrite(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    pwrite(fd, sections, size, sizeof(head)) != (ssize_t)size)
		abort();
	free(sections);
	return fd;
}

static void check(uint32_t type, unsigned cnt, const char *what)
{
	int fd = make_file(type, cnt);
	struct modules modules = { 0 };
	struct module *module = modules__get(&modules, &(struct module_id){ 0 });
	struct image img;
	clock_t begin = clock();
	long took_ms;

	if (image__of_fd(&img, fd))
		abort();
	module__build(module, &img, NULL);
	took_ms = (clock() - begin) / (CLOCKS_PER_SEC / 1000);
	ok(module->loads && took_ms < MAX_MS, "%u sections of %s: %ld ms", cnt, what, took_ms);
	module->loaded = true;
	modules__free(&modules);
	close(fd);
}

int main(void)
{
	scratch__init();
	check(SHT_RELA, 1, "relocations");
	check(SHT_RELA, 1000, "relocations");
	check(SHT_NOTE, SECTION_MAX, "notes");
	return tap__done();
}
