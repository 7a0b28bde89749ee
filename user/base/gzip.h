/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compresses bytes that come in parts, as gzip. One thread at a time. */
#ifndef JANK_BASE_GZIP_H
#define JANK_BASE_GZIP_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <zlib.h>

struct gzip {
	z_stream z;
	bool open;
};

/* level: Z_DEFAULT_COMPRESSION, or 1 to 9. 0 or -ENOMEM. */
int gzip__begin(struct gzip *gzip, int level);
void gzip__free(struct gzip *gzip); /* accepts one that was never begun, all zero */

/*
 * Adds bytes to out, compressed. flush: Z_NO_FLUSH, zlib may keep some; Z_SYNC_FLUSH, all are in
 * out; Z_FINISH, they were the last. 0 or -ENOMEM.
 */
int gzip__add(struct gzip *gzip, const struct strbuf *plain, int flush, struct strbuf *out);

#endif
