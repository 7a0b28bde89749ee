/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few things of an ELF file that placing a probe needs: where named functions lie, and their
 * code.
 *
 * Read by pread() with every offset checked against the file's size, never mapped: the file belongs
 * to a program that nobody trusts, and it may shrink meanwhile. Only 64-bit files of this byte
 * order.
 */
#ifndef JANK_SYMBOL_ELF_ELFFUNC_H
#define JANK_SYMBOL_ELF_ELFFUNC_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELFFUNC_NAMES_MAX 64

struct elffunc {
	int fd;
	uint64_t base; /* where in the file it begins: all other offsets count from there */
	uint64_t size;
	uint16_t machine; /* EM_* */
	Elf64_Phdr *phdrs;
	Elf64_Shdr *shdrs;
	size_t phdr_cnt, shdr_cnt;
	uint16_t shstrndx;
};

/* A function; value 0: not there. */
struct elffunc_place {
	uint64_t value; /* as linked */
	uint64_t size;	/* 0: not known */
};

/* Takes over fd, also on failure. 0, or -ENOEXEC, -errno. */
int elffunc__open(int fd, struct elffunc *ret);
/* The same of an ELF file that is a part of another one: a library in an APK. */
int elffunc__open_within(int fd, uint64_t base, uint64_t size, struct elffunc *ret);
void elffunc__close(struct elffunc *elf);

/* Looks up defined functions in .dynsym, or where it has none of them, in .symtab. Returns how many
 * were found, or -errno; ret[i] belongs to names[i]. cnt at most ELFFUNC_NAMES_MAX. */
int elffunc__find(const struct elffunc *elf, const char *const *names, size_t cnt,
		  struct elffunc_place *ret);

/* The same, each name by itself: in .dynsym, or else in .symtab. */
int elffunc__find_each(const struct elffunc *elf, const char *const *names, size_t cnt,
		       struct elffunc_place *ret);

bool elffunc__has_section(const struct elffunc *elf, const char *name);

/*
 * Opens the small ELF file in .gnu_debugdata, with the symbols that this one was stripped of; its
 * code is not there. 0, -ENOENT, -ENOEXEC, -EFBIG or -errno.
 */
int elffunc__open_debugdata(const struct elffunc *elf, struct elffunc *ret);

/*
 * Reads code at an address as linked: at most len bytes, fewer at a segment's end. Returns how
 * many, or -errno; *ret_offset is where in the file. Only from executable segments.
 */
int elffunc__code(const struct elffunc *elf, uint64_t value, uint8_t *buf, size_t len,
		  uint64_t *ret_offset);

#endif
