/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the archive from its end: end record, directory, entry. The traced program controls every
 * byte of it.
 */
#include "files/zip.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/apart.h"
#include "files/file.h"
#include "files/unpack.h"

#define END_SZ	      22 /* followed by a comment of up to 65,535 bytes */
#define ENTRY_SZ      46 /* in the directory, followed by three texts */
#define LOCAL_SZ      30 /* before the content, followed by two texts */
#define DIRECTORY_MAX (64u << 20)
#define STORED	      0
#define DEFLATED      8
#define ENCRYPTED     1 /* a flag */

bool zip_entry__is_archive(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".apk");
}

static uint16_t get16(const uint8_t *from)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return le16toh(value);
}

static uint32_t get32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return le32toh(value);
}

/* The end record is the last part of the file, except for its own comment. */
static int find_directory(int fd, uint64_t size, uint64_t *ret_offset, uint64_t *ret_len)
{
	size_t len = size < END_SZ + 0xffff ? (size_t)size : END_SZ + 0xffff;
	uint8_t *tail = malloc(len + 1);
	int err = -ENOMEM;

	if (!tail)
		return err;
	err = len < END_SZ ? -ENOEXEC : file__read_exactly(fd, tail, len, size - len);
	for (size_t at = len - END_SZ + 1; !err && at-- > 0;) {
		if (memcmp(tail + at, "PK\5\6", 4) || at + END_SZ + get16(tail + at + 20) != len)
			continue;
		*ret_len = get32(tail + at + 12);
		*ret_offset = get32(tail + at + 16);
		if (*ret_offset > size || *ret_len > size - *ret_offset || *ret_len > DIRECTORY_MAX)
			err = -ENOEXEC;
		free(tail);
		return err;
	}
	free(tail);
	return err ? err : -ENOEXEC;
}

/* Size of the directory entry at `directory`; 0: there is no entry. */
static size_t entry_sz(const uint8_t *directory, size_t len)
{
	size_t whole;

	if (len < ENTRY_SZ || memcmp(directory, "PK\1\2", 4))
		return 0;
	whole = ENTRY_SZ + (size_t)get16(directory + 28) + get16(directory + 30) +
		get16(directory + 32);
	return whole <= len ? whole : 0;
}

/*
 * The last entry that begins before the offset. Contents follow each other, so no other entry can
 * hold it.
 */
static const uint8_t *nearest_entry(const uint8_t *directory, size_t len, uint64_t offset)
{
	const uint8_t *best = NULL;
	size_t whole;

	while ((whole = entry_sz(directory, len))) {
		if (get32(directory + 42) <= offset &&
		    (!best || get32(directory + 42) > get32(best + 42)))
			best = directory;
		directory += whole;
		len -= whole;
	}
	return best;
}

static int take_name(const uint8_t *entry, char ret[ZIP_NAME_MAX])
{
	size_t len = get16(entry + 28);

	if (len >= ZIP_NAME_MAX || memchr(entry + ENTRY_SZ, 0, len))
		return -ENOENT;
	memcpy(ret, entry + ENTRY_SZ, len);
	ret[len] = 0;
	return 0;
}

/* Finds where the content begins: after the local header, which has texts of its own. */
static int find_content(int fd, const uint8_t *entry, uint64_t *ret)
{
	uint64_t begin = get32(entry + 42);
	uint8_t local[LOCAL_SZ];
	int err = file__read_exactly(fd, local, sizeof(local), begin);

	if (err)
		return err;
	if (memcmp(local, "PK\3\4", 4))
		return -ENOEXEC;
	*ret = begin + LOCAL_SZ + get16(local + 26) + get16(local + 28);
	return 0;
}

static int take_entry(int fd, const uint8_t *entry, uint64_t offset, struct zip_entry *ret)
{
	int err;

	if (get16(entry + 10) != STORED)
		return -ENOENT;
	err = take_name(entry, ret->name);
	if (!err)
		err = find_content(fd, entry, &ret->offset);
	if (err)
		return err;
	ret->size = get32(entry + 20);
	return offset < ret->offset || offset - ret->offset >= ret->size ? -ENOENT : 0;
}

static int take_member(int fd, const uint8_t *entry, struct zip_member *ret)
{
	uint16_t method = get16(entry + 10);
	int err = take_name(entry, ret->name);

	if (err || get16(entry + 8) & ENCRYPTED || (method != STORED && method != DEFLATED))
		return -ENOENT;
	ret->packed = get32(entry + 20);
	ret->deflated = method == DEFLATED;
	ret->size = ret->deflated ? get32(entry + 24) : ret->packed;
	err = find_content(fd, entry, &ret->offset);
	return err ? err : 1;
}

int zip_directory__next(const struct zip_directory *dir, size_t *at, struct zip_member *ret)
{
	const uint8_t *entry = dir->bytes + *at;
	size_t whole = entry_sz(entry, dir->len - *at);

	*at += whole;
	return whole ? take_member(dir->fd, entry, ret) : 0;
}

int zip_directory__find(const struct zip_directory *dir, const char *name, struct zip_member *ret)
{
	const uint8_t *entry = dir->bytes;
	size_t left = dir->len, len = strlen(name), whole;
	int res;

	for (; (whole = entry_sz(entry, left)); entry += whole, left -= whole) {
		if (get16(entry + 28) != len || memcmp(entry + ENTRY_SZ, name, len))
			continue;
		res = take_member(dir->fd, entry, ret);
		return res > 0 ? 0 : res;
	}
	return -ENOENT;
}

int zip_directory__read(struct zip_directory *dir, int fd)
{
	uint64_t offset, len;
	struct stat st;
	int err;

	*dir = (struct zip_directory){ .fd = fd };
	if (apart__stat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return -ENOEXEC;
	err = find_directory(fd, (uint64_t)st.st_size, &offset, &len);
	if (err)
		return err;
	dir->bytes = malloc(len ? len : 1);
	if (!dir->bytes)
		return -ENOMEM;
	dir->len = len;
	err = file__read_exactly(fd, dir->bytes, len, offset);
	if (err)
		zip_directory__free(dir);
	return err;
}

void zip_directory__free(struct zip_directory *dir)
{
	free(dir->bytes);
	*dir = (struct zip_directory){ .fd = -1 };
}

int zip_directory__at(const struct zip_directory *dir, uint64_t offset, struct zip_entry *ret)
{
	const uint8_t *entry = nearest_entry(dir->bytes, dir->len, offset);

	return entry ? take_entry(dir->fd, entry, offset, ret) : -ENOENT;
}

int zip_entry__at(int fd, uint64_t offset, struct zip_entry *ret)
{
	struct zip_directory dir;
	int err = zip_directory__read(&dir, fd);

	if (err)
		return err;
	err = zip_directory__at(&dir, offset, ret);
	zip_directory__free(&dir);
	return err;
}

/* --- decompression */

static struct deflated content_of(int fd, const struct zip_member *member)
{
	return (struct deflated){ .img = { .fd = fd, .size = UINT64_MAX },
				  .at = member->offset,
				  .packed = member->packed,
				  .is_raw = true };
}

int zip_unpack__head(int fd, const struct zip_member *member, void *buf, size_t len)
{
	const struct deflated content = content_of(fd, member);

	return inflate__bytes(&content, buf, len);
}

int zip_unpack__file(int fd, const struct zip_member *member, uint64_t max)
{
	const struct deflated content = content_of(fd, member);
	int to, err;

	if (member->size > max)
		return -EFBIG;
	to = memfd_create("unpacked", MFD_CLOEXEC);
	if (to < 0)
		return -errno;
	err = inflate__file(&content, to, member->size);
	if (!err)
		return to;
	close(to);
	return err;
}
