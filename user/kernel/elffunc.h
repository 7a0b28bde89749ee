/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few things of an ELF file that placing a probe needs: where named functions lie, and their code.
 *
 * Read by pread() with every offset checked against the file's size, never mapped: the file belongs to
 * a program that nobody trusts, and it may shrink meanwhile. Only 64-bit files of this byte order.
 */
#ifndef JANK_ELFFUNC_H
#define JANK_ELFFUNC_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

struct elffunc {
	int fd;
	uint64_t size;
	uint16_t machine; /* EM_* */
	Elf64_Phdr *phdrs;
	Elf64_Shdr *shdrs;
	size_t phdr_cnt, shdr_cnt;
};

/* A function; value 0: not there. */
struct elffunc_place {
	uint64_t value; /* as linked */
	uint64_t size;	/* 0: not known */
};

/* Takes over fd, also on failure. 0, or -ENOEXEC, -errno. */
int elffunc__open(int fd, struct elffunc *ret);
void elffunc__close(struct elffunc *elf);

/* Looks up defined functions in .dynsym, or where it has none of them, in .symtab. Returns how many
 * were found, or -errno; ret[i] belongs to names[i]. cnt at most 16. */
int elffunc__find(const struct elffunc *elf, const char *const *names, size_t cnt,
		  struct elffunc_place *ret);

/* Reads code at an address as linked: at most len bytes, fewer at a segment's end. Returns how many, or
 * -errno; *ret_offset is where in the file. Only from executable segments. */
int elffunc__code(const struct elffunc *elf, uint64_t value, uint8_t *buf, size_t len,
		  uint64_t *ret_offset);

#endif
