/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unpacks xz within bounds: a few bytes of it can claim gigabytes. */
#ifndef JANK_BASE_XZ_H
#define JANK_BASE_XZ_H

#include <stddef.h>

/*
 * Into malloc'ed memory. -EFBIG: more than max bytes, or a decoder of more than 32 MiB; -EINVAL:
 * broken.
 */
int xz__unpack(const void *packed, size_t len, size_t max, void **ret, size_t *ret_len);

#endif
