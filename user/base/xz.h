/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xz decompression with limits: a few bytes of xz can expand to gigabytes. */
#ifndef JANK_BASE_XZ_H
#define JANK_BASE_XZ_H

#include <stddef.h>

/*
 * Unpacks into malloc'ed memory, which the caller frees. -EFBIG: more than max bytes, or the
 * decoder needs more than 32 MiB; -EINVAL: the data is broken.
 */
int xz__unpack(const void *packed, size_t len, size_t max, void **ret, size_t *ret_len);

#endif
