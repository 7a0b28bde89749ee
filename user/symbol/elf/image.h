/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a file that may be hostile: a descriptor, or memory.
 *
 * Files are read with pread, never mapped: their owner may truncate them at any time, and a mapping
 * would then kill us with SIGBUS. It also keeps them out of our resident memory.
 */
#ifndef JANK_SYMBOL_ELF_IMAGE_H
#define JANK_SYMBOL_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
	int fd;		 /* borrowed; -1: memory */
	const void *mem; /* borrowed */
	uint64_t begin;	 /* in the file, of what offset 0 is */
	uint64_t size;
};

/* What of a file is meant: a library that lies in an archive, or all of it (size 0). */
struct image_part {
	uint64_t begin, size;
};

/* The image of an open regular file. -errno of fstat, or -EINVAL when it is something else. */
int image__of_fd(struct image *img, int fd);

/* The same of a part of it, as far as the file reaches. -ENODATA: it doesn't reach there. */
int image__of_part(struct image *img, int fd, struct image_part part);

void image__of_mem(struct image *img, const void *mem, size_t size);

/* When a file was last written to, in ns of its own clock; 0: that can't be told. */
uint64_t image__written_ns(int fd);

/* Whether [off, off + len) lies inside. */
bool image__holds(const struct image *img, uint64_t off, uint64_t len);

/* Exactly len bytes, or -ENODATA when the image ends before, or -errno. */
int image__read(const struct image *img, uint64_t off, void *buf, size_t len);

#endif
