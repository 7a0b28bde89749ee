/* SPDX-License-Identifier: GPL-2.0 */
/* Functions in ELF files: a valid file, and misleading ones. */
#include "symbol/elf/elffunc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define UTILS "/usr/lib/x86_64-linux-gnu/android/libutils.so"

static const char *const names[] = { "epoll_wait", "epoll_pwait",
				     "_ZN7android6Looper8pollOnceEiPiS1_PPv" };

/* Runs every query on a file; true when nothing misbehaved. */
static bool use_elf(const char *path)
{
	struct elffunc_place places[3];
	struct elffunc elf;
	uint8_t code[256];
	uint64_t offset;
	bool sane = true;
	int len;

	if (elffunc__open(open(path, O_RDONLY | O_NONBLOCK), &elf))
		return true;
	if (elffunc__find(&elf, names, 3, places) > 0) {
		for (int i = 0; i < 3; i++) {
			len = elffunc__code(&elf, places[i].value, code, sizeof(code), &offset);
			sane &= len <= (int)sizeof(code) &&
				(len <= 0 || offset + (uint64_t)len <= elf.elf.img.size);
		}
	}
	elffunc__close(&elf);
	return sane;
}

static void test_good_elf(void)
{
	struct elffunc_place places[3];
	struct elffunc elf;

	if (access(UTILS, R_OK)) {
		skip(4, "Android's libutils is not installed");
		return;
	}
	is_int(elffunc__open(open(UTILS, O_RDONLY), &elf), 0, "a valid file opens");
	is_int(elffunc__find(&elf, names, 3, places), 1, "one of three names is defined in it");
	ok(places[2].value && places[2].size && !places[0].value,
	   "the Looper's; the others are imports");
	elffunc__close(&elf);
	is_int(elffunc__open(open("/dev/null", O_RDONLY), &elf), -ENOEXEC,
	       "a device is no ELF file");
}

struct damage {
	const char *what;
	size_t offset, len;
	uint64_t value;
};

#define FILE_MAX (1u << 20)

/*
 * Random bytes in the header, the section table and the dynamic symbol table; some files truncated.
 */
static bool survives_damage(const unsigned char *data, size_t len)
{
	static unsigned char bad[FILE_MAX];
	bool sane = true;

	srand(1);
	for (int i = 0; i < 1500; i++) {
		size_t cut = i % 3 ? len : (size_t)rand() % len;

		memcpy(bad, data, len);
		for (int j = 0; j < 8; j++) {
			size_t at = j < 2   ? (size_t)rand() % 64
				    : j < 5 ? len - 1 - (size_t)rand() % 2000
					    : (size_t)rand() % 12000;
			bad[at] = (unsigned char)rand();
		}
		sane &= use_elf(scratch__write("libc.so.6", bad, cut));
	}
	return sane;
}

static void test_bad_elf(void)
{
	static const struct damage damages[] = {
		{ "another magic", 0, 1, 0 },
		{ "32 bits", EI_CLASS, 1, ELFCLASS32 },
		{ "the other byte order", EI_DATA, 1, ELFDATA2MSB },
		{ "sections beyond the end", offsetof(Elf64_Ehdr, e_shoff), 8, 1ull << 40 },
		{ "sections at the end of the address space", offsetof(Elf64_Ehdr, e_shoff), 8,
		  ~0ull - 8 },
		{ "segments beyond the end", offsetof(Elf64_Ehdr, e_phoff), 8, ~0ull },
		{ "too many segments", offsetof(Elf64_Ehdr, e_phnum), 2, 0xffff },
		{ "too many sections", offsetof(Elf64_Ehdr, e_shnum), 2, 0xffff },
		{ "segments of another size", offsetof(Elf64_Ehdr, e_phentsize), 2, 1 },
	};
	static unsigned char data[FILE_MAX], bad[FILE_MAX];
	FILE *file = fopen(UTILS, "r");
	size_t len = file ? fread(data, 1, sizeof(data), file) : 0;

	if (!len) {
		skip(1, "Android's libutils is not installed");
		return;
	}
	fclose(file);
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		memcpy(bad, data, len);
		memcpy(bad + damages[i].offset, &damages[i].value, damages[i].len);
		ok(use_elf(scratch__write("libc.so.6", bad, len)), "%s", damages[i].what);
	}
	ok(survives_damage(data, len), "1,500 damaged files");
}

int main(void)
{
	scratch__init();
	test_good_elf();
	test_bad_elf();
	return tap__done();
}
