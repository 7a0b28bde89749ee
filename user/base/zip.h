/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that Android maps straight from an APK, where they are stored uncompressed and
 * page-aligned.
 */
#ifndef JANK_BASE_ZIP_H
#define JANK_BASE_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZIP_NAME_MAX 240

struct zip_entry {
	char name[ZIP_NAME_MAX]; /* "lib/arm64-v8a/libx.so" */
	uint64_t offset, size;	 /* its content in the file */
};

/* Whether libraries may be mapped out of a file with this name. */
bool zip_entry__is_archive(const char *path);

/* An archive's directory, to be asked more than once. */
struct zip_directory {
	int fd; /* borrowed */
	uint8_t *bytes;
	size_t len;
};

/*
 * Reads it. 0, -ENOEXEC: no zip file (or one of more than 4 GiB, or with more than 64 MiB of
 * names), or -errno.
 */
int zip_directory__read(struct zip_directory *dir, int fd);
void zip_directory__free(struct zip_directory *dir);

/* As zip_entry__at, in time that grows with dir->len. */
int zip_directory__at(const struct zip_directory *dir, uint64_t offset, struct zip_entry *ret);

/* A file in it, compressed or not. */
struct zip_member {
	char name[ZIP_NAME_MAX];
	uint64_t offset, packed; /* its content in the archive */
	uint64_t size;		 /* unpacked, as the archive says */
	bool deflated;
};

/*
 * The member at *at, a place in the directory (0: the first), which goes on to the next. 1; 0:
 * there are no more; -ENOENT or -errno: that one can't be had (encrypted, packed otherwise,
 * broken), others may follow.
 */
int zip_directory__next(const struct zip_directory *dir, size_t *at, struct zip_member *ret);

/*
 * The stored file that holds the archive's byte at offset. 0, -ENOENT: none, -ENOEXEC: no zip file
 * (or one of more than 4 GiB), or -errno.
 */
int zip_entry__at(int fd, uint64_t offset, struct zip_entry *ret);

/*
 * Unpacks what is compressed in an archive, within bounds: a few bytes of it can claim gigabytes.
 */

/*
 * The first bytes of a compressed member, at most len, as far as it is whole. fd: the archive's,
 * borrowed. How many; -EBADMSG: it is broken from the first on, or -errno.
 */
int zip_unpack__head(int fd, const struct zip_member *member, void *buf, size_t len);

/*
 * All of it, in a file without a name, in memory. A descriptor that is the caller's; -EFBIG: more
 * than max bytes, -EBADMSG: not what the archive says, or -errno.
 */
int zip_unpack__file(int fd, const struct zip_member *member, uint64_t max);

#endif
