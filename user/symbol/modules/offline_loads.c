/* SPDX-License-Identifier: GPL-2.0 */
/* The layout of a file from its sections' addresses. See offline_loads.h. */
#include "symbol/modules/offline_loads.h"

#include <elf.h>
#include <stdlib.h>

#define PAGE 4096

static bool has_code(const struct module *module)
{
	for (size_t i = 0; i < module->load_cnt; i++)
		if (module->loads[i].exec)
			return true;
	return false;
}

static int by_address(const void *va, const void *vb)
{
	const struct elf_section *a = va, *b = vb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

/* The next offset from `from` on that lies in its page as addr does. */
static uint64_t place(uint64_t from, uint64_t addr)
{
	return from + ((addr - from) & (PAGE - 1));
}

static size_t restore(const struct elf *elf, struct elf_segment *loads)
{
	uint64_t end = 0;
	size_t cnt = 0;

	qsort(elf->sections, elf->section_cnt, sizeof(*elf->sections), by_address);
	for (size_t i = 0; i < elf->section_cnt && cnt < ELF_LOADS_MAX; i++) {
		const struct elf_section *sec = &elf->sections[i];

		if (!(sec->flags & SHF_ALLOC) || !sec->size || sec->flags & SHF_TLS)
			continue;
		end = place(end, sec->addr);
		if (sec->flags & SHF_EXECINSTR)
			loads[cnt++] = (struct elf_segment){ .offset = end,
							     .vaddr = sec->addr,
							     .file_size = sec->size,
							     .exec = true };
		end += sec->size;
	}
	return cnt;
}

void offline_loads__restore(struct module *module, int fd)
{
	struct elf_segment *loads;
	struct image img;
	struct elf elf;

	if (has_code(module) || module__image(module, fd, &img) || elf__open(&elf, &img))
		return;
	loads = calloc(ELF_LOADS_MAX, sizeof(*loads));
	if (loads) {
		free(module->loads);
		module->loads = loads;
		module->load_cnt = restore(&elf, loads);
	}
	elf__close(&elf);
}
