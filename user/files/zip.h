/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ZIP archives. Android maps libraries directly from an APK, in which they are stored uncompressed
 * and page-aligned.
 */
#ifndef JANK_FILES_ZIP_H
#define JANK_FILES_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZIP_NAME_MAX 240

struct zip_entry {
	char name[ZIP_NAME_MAX]; /* "lib/arm64-v8a/libx.so" */
	uint64_t offset, size;	 /* of its content in the file */
};

/* True if libraries may be mapped from a file with this name. */
bool zip_entry__is_archive(const char *path);

/* An archive's directory, for several lookups. */
struct zip_directory {
	int fd; /* borrowed */
	uint8_t *bytes;
	size_t len;
};

/*
 * Reads the directory of the archive fd. 0; -ENOEXEC: not a zip file (or larger than 4 GiB, or with
 * more than 64 MiB of names); or -errno.
 */
int zip_directory__read(struct zip_directory *dir, int fd);
void zip_directory__free(struct zip_directory *dir);

/* Like zip_entry__at, in time that grows with dir->len. */
int zip_directory__at(const struct zip_directory *dir, uint64_t offset, struct zip_entry *ret);

/* A file in the archive, compressed or not. */
struct zip_member {
	char name[ZIP_NAME_MAX];
	uint64_t offset, packed; /* position and size of its content in the archive */
	uint64_t size;		 /* unpacked size that the archive states */
	bool deflated;
};

/*
 * Reads the member at position *at of the directory (0: the first) and advances *at. 1: read; 0: no
 * more members; -ENOENT or -errno: this member is not usable (encrypted, other compression,
 * broken), but others may follow.
 */
int zip_directory__next(const struct zip_directory *dir, size_t *at, struct zip_member *ret);

/* The first member with this name. 0; -ENOENT: none, or it is not usable; or -errno. */
int zip_directory__find(const struct zip_directory *dir, const char *name, struct zip_member *ret);

/*
 * Finds the stored file that holds the archive's byte at offset. 0; -ENOENT: none; -ENOEXEC: not a
 * zip file (or larger than 4 GiB); or -errno.
 */
int zip_entry__at(int fd, uint64_t offset, struct zip_entry *ret);

/* --- decompression, see unpack.h */

/*
 * Unpacks the first bytes of a compressed member, at most len, up to the first error. fd: the
 * archive, borrowed. Returns the number of bytes; -EBADMSG: broken from the first byte on; or
 * -errno.
 */
int zip_unpack__head(int fd, const struct zip_member *member, void *buf, size_t len);

/*
 * Unpacks a whole member into a memfd. Returns a descriptor that the caller closes; -EFBIG: more
 * than max bytes; -EBADMSG: the content differs from what the archive states; or -errno.
 */
int zip_unpack__file(int fd, const struct zip_member *member, uint64_t max);

#endif
