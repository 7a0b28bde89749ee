/* SPDX-License-Identifier: GPL-2.0 */
/* What a record says of the machine that it was made on. */
#ifndef JANK_PROCFS_HOST_H
#define JANK_PROCFS_HOST_H

#include "base/err.h"
#include "model/block.h"

int host__read(struct host_info *ret, struct err *err); /* host__free releases its strings */
void host__free(struct host_info *host);

#endif
