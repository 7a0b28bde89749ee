/* SPDX-License-Identifier: GPL-2.0 */
/* The name of what a file is on: "vda1", a device mapper's "vg-home", "tmpfs", "nfs4 server:/export". */
#ifndef JANK_DEVNAME_H
#define JANK_DEVNAME_H

#include <sys/types.h>

#include "base/strbuf.h"
#include "kernel/mountinfo.h"

/* Adds a block device's name, by sysfs ("/sys"); any bytes. Nothing is added where there is none such. */
void devname__add_block(struct strbuf *sb, const char *sys, dev_t dev);

/* The same of a file's device: without a block device the file system's type, and who serves it. */
void devname__add(struct strbuf *sb, const char *sys, const struct mountinfo *mi, dev_t dev);

#endif
