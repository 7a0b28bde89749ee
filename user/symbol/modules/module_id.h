/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identity of a module: decides whether two files have the same tables, which are then read and
 * kept once.
 *
 * Fifty containers of one image have fifty copies of its libc, each with its own device and inode.
 * They are one module when all of these agree: the build id, the size, the owner, and what our
 * reader takes from the headers. That is class, machine, entry, segments, and all sections with
 * their names; so every table has the same place and length.
 *
 * Why that is enough: a build id is computed from what was linked; perf's cache and debuginfod
 * trust it alone. Files with the same id by mistake (a constant set by hand, stripped or edited
 * later) differ in size or in a section. To forge an id on purpose, and so give wrong names to the
 * functions of others, one needs a file with the same owner. No user can create a file of root or
 * of another user. Root of a container without a user namespace can, but it is as powerful as root.
 *
 * Ids of less than 8 bytes, or of zeros, do not count. A file with such an id, without an id, or
 * that is not ELF is identified by device, inode and time, as far as these go.
 */
#ifndef JANK_SYMBOL_MODULES_MODULE_ID_H
#define JANK_SYMBOL_MODULES_MODULE_ID_H

#include "base/hash.h"
#include "files/file.h"
#include <sys/stat.h>

/* A file as fstat describes it, and the part of it that is the module. */
struct module_file {
	uint64_t dev, inode, mtime_ns, size;
	struct image_part part;
};

/* A key without padding: compared and hashed as bytes. */
struct module_id {
	uint64_t digest[2];	 /* 0: identified by the file alone */
	struct module_file file; /* with a digest: device, inode, time are 0; size of the part */
};

/*
 * Cache of files identified recently, so that they are not read again; the least recently used
 * entry is dropped first. Zeroed: empty.
 */
#define MODULE_IDS_MAX 8192
struct module_ids {
	struct known_file *table;
};

/* The id of a file, from fstat. */
struct module_id module_id__of_file(const struct stat *st, struct image_part part);

/*
 * The cached identity of a file (file: an id without a digest). Returns false when it was not
 * identified yet, or was dropped from the cache.
 */
bool module_ids__find(struct module_ids *ids, const struct module_id *file, struct module_id *ret);

/*
 * Identifies a file by its content and caches the result. fd: the file, open (borrowed). A file
 * without usable content, or that was written to since, is identified by the file alone.
 */
struct module_id module_ids__look(struct module_ids *ids, const struct module_id *file, int fd);

/* The identity of an ELF image in memory: a digest of its bytes. */
struct module_id module_id__of_memory(const void *mem, size_t size);

bool module_id__is(const struct module_id *a, const struct module_id *b);
bool module_id__is_shared(const struct module_id *id); /* has a digest */

size_t module_ids__bytes(const struct module_ids *ids);
void module_ids__free(struct module_ids *ids); /* leaves it empty */

#endif
