/* SPDX-License-Identifier: GPL-2.0 */
/* Libraries that Android maps straight from an APK, where they are stored uncompressed and page-aligned. */
#ifndef JANK_ZIP_ENTRY_H
#define JANK_ZIP_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#define ZIP_NAME_MAX 240

struct zip_entry {
	char name[ZIP_NAME_MAX]; /* "lib/arm64-v8a/libx.so" */
	uint64_t offset, size;	 /* its content in the file */
};

/* Whether libraries may be mapped out of a file with this name. */
bool zip_entry__is_archive(const char *path);

/* The stored file that holds the archive's byte at offset. 0, -ENOENT: none, -ENOEXEC: no zip file (or one
 * of more than 4 GiB), or -errno. */
int zip_entry__at(int fd, uint64_t offset, struct zip_entry *ret);

#endif
