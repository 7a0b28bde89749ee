/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged unwind tables, of each kind and of three machines. What is read from them stays within
 * bounds, memory included.
 */
#include "symbol/unwind/cfi_parts.h"
#include "tests/fuzz/sections.h"

#define ROWS	  64
#define BYTES_MAX (4u << 20)

static struct {
	uint64_t rows, tables, places, packed;
	const char *broken;
} run;

static void damage_tables(struct fuzz *f, unsigned char *bytes, size_t *len)
{
	static const char *const prefixes[] = { ".eh_frame", ".debug_frame", ".ARM.ex", NULL };

	sections__damage(f, bytes, len, prefixes);
}

static void look(struct fuzz *f, struct cfi *cfi, size_t size)
{
	for (unsigned i = 0; i < ROWS; i++) {
		uint64_t offset = fuzz__chance(f, 8) ? fuzz__number(f) : fuzz__below(f, size + 1);
		const struct cfi_row *row = cfi__row(cfi, offset, fuzz__chance(f, 2));

		run.rows++;
		if (!row || !row->has_table)
			continue;
		run.tables++;
		for (unsigned j = 0; j < row->rule_cnt; j++)
			if (cfi__rules(cfi, row)[j].reg >= CFI_REG_MAX)
				run.broken = "an unknown register";
	}
	if (cfi__bytes(cfi) > BYTES_MAX)
		run.broken = "unbounded memory";
}

/* Counts the memory, too, which is no larger than the file. */
static void use(struct corpus *c)
{
	uint8_t *mem = malloc(c->len ? c->len : 1);
	struct cfi *cfi;

	if (!mem)
		abort();
	memcpy(mem, c->bytes, c->len);
	cfi = cfi__new(-1, (struct image_part){}, mem, c->len);
	if (!cfi)
		return;
	look(&c->fuzz, cfi, c->len);
	cfi__free(cfi);
}

/* Packs .debug_frame, as a compressed file in .gnu_debugdata has it. Its instructions stay. */
static void pack(struct corpus *c)
{
	uint8_t *mem = malloc(c->len ? c->len : 1);
	const struct elf_section *from;
	struct cfi_section sec = {};
	struct cfi_fde fde;
	struct cfi *cfi;
	struct elf elf;

	if (!mem)
		abort();
	memcpy(mem, c->bytes, c->len);
	cfi = cfi__new(-1, (struct image_part){}, mem, c->len);
	if (!cfi || elf__open(&elf, &cfi->img))
		return cfi__free(cfi);
	from = elf__section(&elf, ".debug_frame");
	if (from && !(from->flags & SHF_COMPRESSED) &&
	    image__holds(&cfi->img, from->offset, from->size)) {
		sec.size = from->size;
		sec.mem = malloc(sec.size ? sec.size : 1);
		if (image__read(&cfi->img, from->offset, sec.mem, sec.size))
			run.broken = "a section that cannot be read";
		else
			cfi_index__build(cfi, &sec, true);
		if (sec.size > from->size)
			run.broken = "a section that cannot be packed";
		for (size_t i = 0; i < sec.index_cnt; i++) {
			run.packed += !cfi_entry__fde(cfi, &sec, sec.index[i].off, &fde);
			run.places++;
		}
	}
	free(sec.mem);
	free(sec.index);
	elf__close(&elf);
	cfi__free(cfi);
}

int main(void)
{
	struct corpus *c = corpus__load("cfi", 40);

	c->damage = damage_tables;
	while (corpus__next(c) && !run.broken) {
		use(c);
		pack(c);
	}
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.tables && run.tables < run.rows, "%llu of %llu rows have a table",
	   (unsigned long long)run.tables, (unsigned long long)run.rows);
	ok(run.packed && run.packed == run.places, "%llu of %llu packed entries can be read",
	   (unsigned long long)run.packed, (unsigned long long)run.places);
	corpus__end(c);
	return tap__done();
}
