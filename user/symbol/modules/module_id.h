/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What makes the tables of two files the same, so that they are read and kept once.
 *
 * Fifty containers of one image have fifty copies of its libc, each with a device and an inode of
 * its own. They are one module where all of these agree: the build id, the size, the owner, and
 * what our reader takes from the headers (class, machine, entry, segments, all sections and their
 * names), hence where every table lies and how long it is.
 *
 * Why that is enough: a build id is made from what was linked; perf's cache and debuginfod believe
 * it alone. Files that have it by mistake (a constant given by hand, stripped or edited later)
 * differ in size or in a section. Whoever forges it on purpose, to have another's functions called
 * by wrong names, must own a file of the same owner: no user can make one of root's or of another
 * user's. Root of a container without a user namespace can; it is as good as root. Ids of less than
 * 8 bytes, or of zeros, are no one's: such a file, one without an id, and what is no ELF file, is
 * told by device, inode and time, as far as these go.
 */
#ifndef JANK_SYMBOL_MODULES_MODULE_ID_H
#define JANK_SYMBOL_MODULES_MODULE_ID_H

#include "symbol/elf/image.h"
#include <sys/stat.h>
#include <uthash.h>

/* A file by fstat, and which part of it is meant. */
struct module_file {
	uint64_t dev, inode, mtime_ns, size;
	struct image_part part;
};

/* A key without pads: to be compared, and hashed, as it is. */
struct module_id {
	uint64_t digest[2];	 /* 0: by the file alone */
	struct module_file file; /* with a digest: no device, inode and time; the part's own size */
};

/*
 * The files looked at lately, so that one that is met again is not read again; the one met longest
 * ago is forgotten first. Zeroed: none.
 */
#define MODULE_IDS_MAX 8192
struct module_ids {
	struct known_file *table;
};

/* The file, as fstat says. */
struct module_id module_id__of_file(const struct stat *st, struct image_part part);

/*
 * What a file (an id without a digest) was found to be when it was looked at; false: it wasn't, or
 * that is forgotten.
 */
bool module_ids__find(struct module_ids *ids, const struct module_id *file, struct module_id *ret);

/*
 * Looks at a file, which is open as fd (borrowed), and keeps what it was found to be. What can't be
 * told by what it holds, or was written to since, is the file itself.
 */
struct module_id module_ids__look(struct module_ids *ids, const struct module_id *file, int fd);

/* The identity of an ELF image in memory: its bytes. */
struct module_id module_id__of_memory(const void *mem, size_t size);

bool module_id__is(const struct module_id *a, const struct module_id *b);
bool module_id__is_shared(const struct module_id *id); /* it has a digest */

size_t module_ids__bytes(const struct module_ids *ids);
void module_ids__free(struct module_ids *ids); /* leaves it empty */

#endif
