/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Index of the files below directories by build id, including those in archives (APKs). */
#ifndef JANK_SYMBOL_MODULES_OFFLINE_INDEX_H
#define JANK_SYMBOL_MODULES_OFFLINE_INDEX_H

#include "base/hash.h"
#include "files/zip.h"
#include "symbol/elf/elf.h"
#include <sys/stat.h>

#define PATHS_MAX	     8	  /* files with one build id */
#define OFFLINE_UNPACKED_MIB 256u /* largest size of one unpacked library */

struct build_file {
	char *path;
	struct zip_member *member; /* the member, when path is an archive; NULL: the file itself */
};

struct build_files {
	UT_hash_handle hh;
	struct build_file files[PATHS_MAX]; /* in the order of discovery */
	size_t cnt;
	char build_id[];
};

/*
 * Adds every ELF file with a build id below dir, and those in every archive there. Does not follow
 * links. Returns 0 or -errno.
 */
int offline_index__add(struct build_files **index, const char *dir);

/* Adds those of one archive; ignores an unreadable archive. 0 or -ENOMEM. */
int offline_index__add_archive(struct build_files **index, const char *path);

void offline_index__free(struct build_files **index);

/*
 * Opens a file of the index. *ret_part: the position of the ELF file in it. Compressed members are
 * unpacked into memory. Returns a descriptor that the caller owns, or -errno (-EFBIG: too large to
 * unpack, -EBADMSG: broken).
 */
int offline_index__open(const struct build_file *file, struct stat *st,
			struct image_part *ret_part);

/* Reads the build id of an ELF file. hex: BUILD_ID_HEX_SZ bytes. Returns false when it has none. */
bool offline_index__build_id(int fd, struct image_part part, char *hex);

#endif
