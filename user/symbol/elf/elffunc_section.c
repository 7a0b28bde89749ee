/* SPDX-License-Identifier: GPL-2.0 */
/* Sections by name, and the one that holds a file's missing symbols. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/xz.h"
#include "symbol/elf/elffunc.h"

#define NAME_SZ	     64
#define PACKED_MAX   (16u << 20)
#define UNPACKED_MAX (32u << 20)

/* Names are compared where they stand; one that is cut off by the table's or the file's end is none. */
static bool is_named(const struct elffunc *elf, const Elf64_Shdr *names, uint32_t at,
		     const char *name)
{
	size_t len = strlen(name) + 1;
	char buf[NAME_SZ];

	return len <= sizeof(buf) && at < names->sh_size && len <= names->sh_size - at &&
	       at <= UINT64_MAX - names->sh_offset &&
	       !elffunc__read(elf, names->sh_offset + at, buf, len) && !memcmp(buf, name, len);
}

const Elf64_Shdr *elffunc__section(const struct elffunc *elf, const char *name)
{
	const Elf64_Shdr *names;

	if (elf->shstrndx >= elf->shdr_cnt)
		return NULL;
	names = &elf->shdrs[elf->shstrndx];
	for (size_t i = 0; i < elf->shdr_cnt; i++) {
		if (is_named(elf, names, elf->shdrs[i].sh_name, name))
			return &elf->shdrs[i];
	}
	return NULL;
}

bool elffunc__has_section(const struct elffunc *elf, const char *name)
{
	return elffunc__section(elf, name) != NULL;
}

/* A file without a name, for elffunc__open. */
static int open_bytes(const void *bytes, size_t len, struct elffunc *ret)
{
	int fd = memfd_create("jank-debugdata", MFD_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = file__write_all(fd, bytes, len);
	if (err) {
		close(fd);
		return err;
	}
	return elffunc__open(fd, ret);
}

int elffunc__open_debugdata(const struct elffunc *elf, struct elffunc *ret)
{
	const Elf64_Shdr *section = elffunc__section(elf, ".gnu_debugdata");
	void *packed, *bytes;
	size_t len;
	int err;

	if (!section)
		return -ENOENT;
	if (section->sh_size > PACKED_MAX)
		return -EFBIG;
	packed = malloc(section->sh_size ? section->sh_size : 1);
	if (!packed)
		return -ENOMEM;
	err = elffunc__read(elf, section->sh_offset, packed, section->sh_size);
	err = err ?: xz__unpack(packed, section->sh_size, UNPACKED_MAX, &bytes, &len);
	free(packed);
	if (err)
		return err;
	err = open_bytes(bytes, len, ret);
	free(bytes);
	return err;
}
