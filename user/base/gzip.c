/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/gzip.h"

#include <errno.h>

#define WINDOW (15 + 16) /* zlib: the largest one; a header of gzip, without time or name */
#define MEMORY 8

int gzip__begin(struct gzip *gzip, int level)
{
	gzip->open = deflateInit2(&gzip->z, level, Z_DEFLATED, WINDOW, MEMORY,
				  Z_DEFAULT_STRATEGY) == Z_OK;
	return gzip->open ? 0 : -ENOMEM;
}

void gzip__free(struct gzip *gzip)
{
	if (gzip->open)
		deflateEnd(&gzip->z);
	gzip->open = false;
}

int gzip__add(struct gzip *gzip, const struct strbuf *plain, int flush, struct strbuf *out)
{
	unsigned char part[16 << 10];

	gzip->z.next_in = (unsigned char *)plain->data;
	gzip->z.avail_in = (unsigned)plain->len;
	do {
		gzip->z.next_out = part;
		gzip->z.avail_out = sizeof(part);
		deflate(&gzip->z, flush);
		strbuf__add(out, part, sizeof(part) - gzip->z.avail_out);
	} while (!gzip->z.avail_out);
	return plain->failed || out->failed ? -ENOMEM : 0;
}
