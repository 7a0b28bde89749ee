/* SPDX-License-Identifier: GPL-2.0 */
/* Which files there are of which build id, below directories. */
#ifndef JANK_SYMBOL_OFFLINE_INDEX_H
#define JANK_SYMBOL_OFFLINE_INDEX_H

#include <uthash.h>

#include "symbol/elf.h"

#define PATHS_MAX 8 /* of one build id */

struct build_files {
	UT_hash_handle hh;
	char *paths[PATHS_MAX]; /* in the order in which they were found */
	size_t cnt;
	char build_id[];
};

/* Adds every ELF file below dir that has a build id. Links are not followed. 0 or -errno. */
int offline_index__add(struct build_files **index, const char *dir);

void offline_index__free(struct build_files **index);

/* The build id of an ELF file: false when it has none. hex: BUILD_ID_HEX_SZ bytes. */
bool offline_index__build_id(int fd, char *hex);

#endif
