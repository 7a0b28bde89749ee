/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decompression with limits: a few packed bytes can expand to gigabytes. */
#ifndef JANK_FILES_UNPACK_H
#define JANK_FILES_UNPACK_H

#include "files/file.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Deflated bytes in a file. They are read in pieces, never whole. */
struct deflated {
	struct image img;
	uint64_t at, packed; /* position in the image, and number of bytes */
	bool is_raw;	     /* without zlib's header, as in a zip */
};

/*
 * Unpacks at most len bytes into buf, up to the end or the first error. Returns the number of
 * bytes; -EBADMSG: broken from the first byte on; or -errno.
 */
int inflate__bytes(const struct deflated *from, void *buf, size_t len);

/*
 * Unpacks everything into the file `to`. Returns 0; -EBADMSG: broken, or not exactly `size` bytes;
 * or -errno.
 */
int inflate__file(const struct deflated *from, int to, uint64_t size);

/*
 * Unpacks xz into malloc'ed memory, which the caller frees. -EFBIG: more than max bytes, or the
 * decoder needs more than 32 MiB; -EINVAL: the data is broken.
 */
int xz__unpack(const void *packed, size_t len, size_t max, void **ret, size_t *ret_len);

#endif
