/* SPDX-License-Identifier: GPL-2.0 */
/* What a descriptor of a thread is, in words: "tcp 127.0.0.1:80->127.0.0.1:5012", "eventfd 12", a path. */
#ifndef JANK_PROCFS_FDTARGET_H
#define JANK_PROCFS_FDTARGET_H

#include "base/strbuf.h"
#include <stdint.h>

/*
 * Adds what descriptor fd of the thread is now; any bytes, where it has a path. inode: what its file's
 * number must be, or 0. 0; -ESTALE: it is another file's by now; -EBADF: closed; or -errno. Nothing is
 * added on failure.
 */
int fdtarget__add(struct strbuf *sb, uint32_t pid, uint32_t tid, int32_t fd, uint64_t inode);

/* The part that reads the link and the fdinfo of what is no socket, for tests. */
void fdtarget__add_link(struct strbuf *sb, const char *link, const char *fdinfo);

#endif
