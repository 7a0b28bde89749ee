/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a file that may be hostile: a descriptor, or memory.
 *
 * Files are read with pread and never mapped. Their owner may truncate them at any time, and an
 * access to a mapping would then kill us with SIGBUS. pread also keeps them out of our resident
 * memory.
 */
#ifndef JANK_SYMBOL_ELF_IMAGE_H
#define JANK_SYMBOL_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
	int fd;		 /* borrowed; -1: in memory */
	const void *mem; /* borrowed */
	uint64_t begin;	 /* position of offset 0 in the file */
	uint64_t size;
};

/* A part of a file: a library inside an archive; size 0: the whole file. */
struct image_part {
	uint64_t begin, size;
};

/* The image of an open regular file. Returns 0, -errno of fstat, or -EINVAL for another type. */
int image__of_fd(struct image *img, int fd);

/*
 * The image of a part of a file, cut at the end of the file. -ENODATA: the file ends before the
 * part begins.
 */
int image__of_part(struct image *img, int fd, struct image_part part);

void image__of_mem(struct image *img, const void *mem, size_t size);

/* Time of the last write to the file, in ns of its file system's clock; 0: unknown. */
uint64_t image__written_ns(int fd);

/* Whether [off, off + len) lies inside. */
bool image__holds(const struct image *img, uint64_t off, uint64_t len);

/* Reads exactly len bytes. Returns 0, -ENODATA when the image ends earlier, or -errno. */
int image__read(const struct image *img, uint64_t off, void *buf, size_t len);

#endif
