/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged DWARF: of a small program, compiled by two compilers in each version (make-corpus). Read
 * from a file, as always.
 */
#include <sys/mman.h>

#include "symbol/dwarf/dwarf.h"
#include "tests/fuzz/sections.h"

#define LOOK_UPS  8	      /* of a long file; each may read all of it */
#define BYTES_MAX (64u << 20) /* memory, for files of 64 KiB */

static struct {
	uint64_t functions, files, inlined;
	const char *broken;
	int fd;
} run;

static void damage_debug(struct fuzz *f, unsigned char *bytes, size_t *len)
{
	static const char *const prefixes[] = { ".debug_", ".zdebug_", NULL };

	sections__damage(f, bytes, len, prefixes);
}

static void take(const struct dwarf_place *place, void *ctx)
{
	unsigned *left = ctx;

	run.functions += place->function && *place->function;
	run.files += place->file && *place->file;
	run.inlined += place->inlined;
	if (!(*left)--)
		run.broken = "more functions than there may be";
}

static void look_up(struct dwarf *dwarf, const struct elf_segment *seg, bool is_long)
{
	uint64_t end = seg->file_size < CORPUS_INPUT_SZ ? seg->file_size : CORPUS_INPUT_SZ;
	uint64_t step = is_long ? end / LOOK_UPS + 1 : 5;

	for (uint64_t at = 0; at < end; at += step) {
		unsigned left = DWARF_INLINED_MAX + 1;

		dwarf__find(dwarf, seg->vaddr + at, take, &left);
	}
	if (dwarf__bytes(dwarf) > BYTES_MAX)
		run.broken = "unbounded memory";
	dwarf__shrink(dwarf);
	dwarf__find(dwarf, seg->vaddr, take, &(unsigned){ DWARF_INLINED_MAX + 1 });
}

static void use(const struct corpus *c)
{
	struct dwarf *dwarf;
	struct image img;
	struct elf elf;

	if (ftruncate(run.fd, 0) || pwrite(run.fd, c->bytes, c->len, 0) != (ssize_t)c->len ||
	    image__of_fd(&img, run.fd))
		abort();
	if (elf__open(&elf, &img))
		return;
	dwarf = dwarf__new(&elf, NULL);
	for (size_t i = 0; dwarf && i < elf.load_cnt; i++)
		if (elf.loads[i].exec)
			look_up(dwarf, &elf.loads[i], c->len > CORPUS_KEPT_SZ);
	dwarf__free(dwarf);
	elf__close(&elf);
}

int main(void)
{
	struct corpus *c = corpus__load("dwarf", 1000);

	c->damage = damage_debug;
	run.fd = memfd_create("dwarf", MFD_CLOEXEC);
	while (corpus__next(c) && !run.broken)
		use(c);
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.functions && run.files && run.inlined,
	   "%llu functions, %llu inlined, %llu with a file", (unsigned long long)run.functions,
	   (unsigned long long)run.inlined, (unsigned long long)run.files);
	corpus__end(c);
	close(run.fd);
	return tap__done();
}
