/* SPDX-License-Identifier: GPL-2.0-or-later */
/* liblzma's stream decoder, into a growing buffer. */
#include "base/xz.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#define DECODER_MAX (32u << 20) /* memory of the decoder: its dictionary */

static int grow(lzma_stream *xz, size_t max, unsigned char **out, size_t *cap)
{
	size_t used = *cap - xz->avail_out, more = *cap ? 2 * *cap : 256 * 1024;
	unsigned char *p;

	if (xz->avail_out)
		return 0;
	if (more > max)
		return -EFBIG;
	p = realloc(*out, more);
	if (!p)
		return -ENOMEM;
	*out = p;
	*cap = more;
	xz->next_out = p + used;
	xz->avail_out = more - used;
	return 0;
}

static int unpack(const void *packed, size_t len, size_t max, unsigned char **out, size_t *ret_len)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	lzma_ret status = lzma_stream_decoder(&xz, DECODER_MAX, 0);
	size_t cap = 0;
	int ret = 0;

	if (status != LZMA_OK)
		return -ENOMEM;
	xz.next_in = packed;
	xz.avail_in = len;
	while (!ret && status == LZMA_OK) {
		ret = grow(&xz, max, out, &cap);
		if (!ret)
			status = lzma_code(&xz, LZMA_FINISH);
	}
	*ret_len = xz.total_out;
	lzma_end(&xz);
	if (!ret && status != LZMA_STREAM_END)
		ret = status == LZMA_MEMLIMIT_ERROR ? -EFBIG : -EINVAL;
	return ret;
}

int xz__unpack(const void *packed, size_t len, size_t max, void **ret, size_t *ret_len)
{
	unsigned char *out = NULL;
	int err = unpack(packed, len, max, &out, ret_len);

	if (err)
		free(out);
	else
		*ret = out;
	return err;
}
