/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files there are of which build id, below directories, and in the archives (APKs) there. */
#ifndef JANK_SYMBOL_MODULES_OFFLINE_INDEX_H
#define JANK_SYMBOL_MODULES_OFFLINE_INDEX_H

#include "base/zip.h"
#include "symbol/elf/elf.h"
#include <sys/stat.h>
#include <uthash.h>

#define PATHS_MAX	     8	  /* of one build id */
#define OFFLINE_UNPACKED_MIB 256u /* of one compressed library */

struct build_file {
	char *path;
	struct zip_member *member; /* of that archive, which it is; NULL: the file itself */
};

struct build_files {
	UT_hash_handle hh;
	struct build_file files[PATHS_MAX]; /* in the order in which they were found */
	size_t cnt;
	char build_id[];
};

/*
 * Adds every ELF file below dir that has a build id, and those of every archive. Links are not
 * followed. 0 or -errno.
 */
int offline_index__add(struct build_files **index, const char *dir);

/* Adds those of one archive; one that can't be read holds none. 0 or -ENOMEM. */
int offline_index__add_archive(struct build_files **index, const char *path);

void offline_index__free(struct build_files **index);

/*
 * Opens a file of it: ret_part says where in what is opened it lies. What is compressed is unpacked
 * into memory. A descriptor that is the caller's, or -errno (-EFBIG: it is too large for that,
 * -EBADMSG: broken).
 */
int offline_index__open(const struct build_file *file, struct stat *st,
			struct image_part *ret_part);

/* The build id of an ELF file: false when it has none. hex: BUILD_ID_HEX_SZ bytes. */
bool offline_index__build_id(int fd, struct image_part part, char *hex);

#endif
