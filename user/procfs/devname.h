/* SPDX-License-Identifier: GPL-2.0 */
/* The name of what a file is on: "vda1", a device mapper's "vg-home", "tmpfs", "nfs4 server:/export". */
#ifndef JANK_PROCFS_DEVNAME_H
#define JANK_PROCFS_DEVNAME_H

#include "base/strbuf.h"
#include "procfs/mountinfo.h"
#include <sys/types.h>

/* The same of a file's device: without a block device the file system's type, and who serves it. */
void devname__add(struct strbuf *sb, const char *sys, const struct mountinfo *mi, dev_t dev);

#endif
