/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Debug information that takes long to search: a function behind millions of empty entries. Each
 * look-up ends by its own bound. After a few the file is not read any more, so that a stack of its
 * addresses takes no longer.
 */
#include <fcntl.h>
#include <time.h>

#include "symbol/dwarf/dwarf.h"
#include "tests/unit/scratch.h"

#define ADDRESSES 200
#define MAX_MS                                                                                     \
	20000 /* some tenths of a second each, with the sanitizers; without a bound 40 s and more */

/* One unit: its root, `filler` empty blocks, and the function. */
static bool make(unsigned filler)
{
	static const char source[] =
		".text\n.globl f\nf: .skip 4096\nf_end:\n"
		".section .debug_abbrev,\"\",@progbits\n"
		" .byte 1, 0x11, 1, 0x11, 1, 0x12, 1, 0, 0\n"	       /* the unit: from, to */
		" .byte 2, 0x0b, 0, 0, 0\n"			       /* an empty block */
		" .byte 3, 0x2e, 0, 0x03, 8, 0x11, 1, 0x12, 1, 0, 0\n" /* a function */
		" .byte 0\n"
		".section .debug_info,\"\",@progbits\n"
		" .long end - begin\nbegin: .short 3\n .long 0\n .byte 8\n"
		" .byte 1\n .quad f\n .quad f_end\n"
		" .fill FILLER, 1, 2\n"
		" .byte 3\n .asciz \"f\"\n .quad f\n .quad f_end\n .byte 0\nend:\n";
	char cmd[256];

	scratch__write_text("a.S", source);
	snprintf(cmd, sizeof(cmd),
		 "cd $D && cc -c -DFILLER=%u a.S && cc -shared "
		 "-nostdlib -o lib a.o",
		 filler);
	return !system(cmd);
}

static void count_function(const struct dwarf_place *place, void *ctx)
{
	*(unsigned *)ctx += place->function && !strcmp(place->function, "f");
}

/*
 * How many of the function's addresses have its name, and how many look-ups report that they were
 * cut short.
 */
static unsigned look_up(uint64_t *ret_ms, unsigned *ret_cut)
{
	int fd = open(scratch__path("lib"), O_RDONLY | O_CLOEXEC);
	const struct elf_section *text;
	struct dwarf *dwarf = NULL;
	unsigned found = 0;
	struct image img;
	struct elf elf;
	clock_t begin;

	if (fd < 0 || image__of_fd(&img, fd) || elf__open(&elf, &img))
		abort();
	text = elf__section(&elf, ".text");
	dwarf = dwarf__new(&elf, NULL);
	begin = clock();
	*ret_cut = 0;
	for (uint64_t i = 0; dwarf && text && i < ADDRESSES; i++) {
		dwarf__find(dwarf, text->addr + i, count_function, &found);
		*ret_cut += dwarf__was_cut(dwarf);
	}
	*ret_ms = (clock() - begin) / (CLOCKS_PER_SEC / 1000);
	dwarf__free(dwarf);
	elf__close(&elf);
	close(fd);
	return found;
}

int main(void)
{
	unsigned cut;
	uint64_t ms;

	scratch__init();
	if (!make(1000))
		skip_all("no compiler");
	is_uint(look_up(&ms, &cut), ADDRESSES, "a function behind a thousand entries is found");
	is_uint(cut, 0, "and no look-up was cut short");
	diag("%u look-ups: %llu ms", ADDRESSES, (unsigned long long)ms);
	if (!make(8000000))
		skip_all("no compiler");
	is_uint(look_up(&ms, &cut), 0, "one behind millions is not");
	is_uint(cut, ADDRESSES, "and each look-up reports that it was cut short");
	ok(ms < MAX_MS, "%u look-ups end: %llu ms", ADDRESSES, (unsigned long long)ms);
	return tap__done();
}
