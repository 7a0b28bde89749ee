/* SPDX-License-Identifier: GPL-2.0 */
/* The GNU build-id note of a file, of the vdso, or of the kernel's own notes. */
#include "symbol/elf/buildid.h"

#include <elf.h>
#include <string.h>

#include "symbol/elf/elf.h"

#define NOTES_MAX 4096 /* headers looked at: some files carry megabytes of other notes */

static uint64_t padded(uint32_t size)
{
	return ((uint64_t)size + 3) & ~3ull;
}

static bool keep_hex(const struct image *img, uint64_t off, size_t len, char *hex)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char id[BUILD_ID_MAX];
	size_t i;

	if (!len || len > sizeof(id) || image__read(img, off, id, len))
		return false;
	for (i = 0; i < len; i++) {
		hex[2 * i] = digits[id[i] >> 4];
		hex[2 * i + 1] = digits[id[i] & 15];
	}
	hex[2 * len] = 0;
	return true;
}

bool buildid__find(const struct image *img, uint64_t off, uint64_t size, char *hex)
{
	uint64_t at = 0;
	unsigned i;

	if (!image__holds(img, off, size))
		return false;
	for (i = 0; i < NOTES_MAX && size - at >= sizeof(Elf64_Nhdr); i++) {
		Elf64_Nhdr note; /* the same in both classes */
		char name[4];
		uint64_t whole;

		if (image__read(img, off + at, &note, sizeof(note)))
			return false;
		whole = sizeof(note) + padded(note.n_namesz) + padded(note.n_descsz);
		if (whole > size - at)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(name) &&
		    !image__read(img, off + at + sizeof(note), name, sizeof(name)) &&
		    !memcmp(name, "GNU", sizeof(name)))
			return keep_hex(img, off + at + sizeof(note) + sizeof(name), note.n_descsz,
					hex);
		at += whole;
	}
	return false;
}
