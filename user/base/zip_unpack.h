/* SPDX-License-Identifier: GPL-2.0 */
/* Unpacks what is compressed in an archive, within bounds: a few bytes of it can claim gigabytes. */
#ifndef JANK_BASE_ZIP_UNPACK_H
#define JANK_BASE_ZIP_UNPACK_H

#include "base/zip_entry.h"

/*
 * The first bytes of a compressed member, at most len, as far as it is whole. fd: the archive's, borrowed. How many; -EBADMSG:
 * it is broken from the first on, or -errno.
 */
int zip_unpack__head(int fd, const struct zip_member *member, void *buf, size_t len);

/*
 * All of it, in a file without a name, in memory. A descriptor that is the caller's; -EFBIG: more than max bytes, -EBADMSG: not
 * what the archive says, or -errno.
 */
int zip_unpack__file(int fd, const struct zip_member *member, uint64_t max);

#endif
