/* SPDX-License-Identifier: GPL-2.0 */
/* Small file helpers. All return 0 or -errno; EINTR is retried. */
#ifndef JANK_BASE_FILE_H
#define JANK_BASE_FILE_H

#include "base/strbuf.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Appends a file's content, at most max bytes (-EFBIG beyond). Works on /proc. */
int file__read(const char *path, size_t max, struct strbuf *sb);
int file__read_at(int dirfd, const char *path, size_t max, struct strbuf *sb);

/*
 * As pread, also of an O_PATH descriptor that openfile.h gave, which is read apart. Up to len bytes, 0 at the end, or -errno;
 * never -EINTR.
 */
ssize_t file__pread(int fd, void *to, size_t len, uint64_t offset);

/* Exactly len bytes from offset on; -ENOEXEC: the file ends before,
 * as none does that holds what its headers say. */
int file__read_exactly(int fd, void *to, size_t len, uint64_t offset);

/* All of it or -errno: on failure a part may be written. */
int file__write_all(int fd, const void *data, size_t len);

/* mkdir -p; only directories made here get `mode`. An existing one is fine. */
int file__mkdirs(const char *path, mode_t mode);

#endif
