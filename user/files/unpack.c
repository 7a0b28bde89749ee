/* SPDX-License-Identifier: GPL-2.0-or-later */
/* zlib's inflate, one piece at a time, and liblzma's stream decoder, into a growing buffer. */
#include "files/unpack.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>

#define PIECE (64u << 10)

/* --- deflated bytes */

struct inflater {
	z_stream z;
	struct image img;
	uint64_t at, left; /* the packed bytes that are not read yet */
	unsigned char piece[PIECE];
};

/* base/alloc.h counts its failure. */
static void *allocate(void *ctx, unsigned cnt, unsigned size)
{
	(void)ctx;
	return calloc(cnt, size);
}

static void *allocate_xz(void *ctx, size_t cnt, size_t size)
{
	(void)ctx;
	return calloc(cnt, size);
}

static void release(void *ctx, void *at)
{
	(void)ctx;
	free(at);
}

/* NULL: out of memory. */
static struct inflater *begin(const struct deflated *from)
{
	struct inflater *ret = malloc(sizeof(*ret)); /* too large for a thread's stack */

	if (!ret)
		return NULL;
	ret->z = (z_stream){ .zalloc = allocate, .zfree = release };
	ret->img = from->img;
	ret->at = from->at;
	ret->left = from->packed;
	if (inflateInit2(&ret->z, from->is_raw ? -MAX_WBITS : MAX_WBITS) == Z_OK)
		return ret;
	free(ret);
	return NULL;
}

static void end(struct inflater *inflater)
{
	inflateEnd(&inflater->z);
	free(inflater);
}

static int refill(struct inflater *in)
{
	size_t len = in->left < PIECE ? in->left : PIECE;
	int err;

	if (in->z.avail_in || !len) /* the bytes read so far may hold the end */
		return 0;
	err = image__read(&in->img, in->at, in->piece, len);
	if (err)
		return err;
	in->at += len;
	in->left -= len;
	in->z.next_in = in->piece;
	in->z.avail_in = len;
	return 0;
}

/*
 * Fills the buffer, or up to the end of the data. Returns the number of bytes, or -errno. *ended:
 * the packed data is complete.
 */
static int fill(struct inflater *in, void *buf, size_t len, bool *ended)
{
	int status = Z_OK, err;

	in->z.next_out = buf;
	in->z.avail_out = len;
	while (in->z.avail_out && status == Z_OK) {
		err = refill(in);
		if (err)
			return err;
		status = inflate(&in->z, Z_NO_FLUSH);
	}
	*ended = status == Z_STREAM_END;
	return status == Z_OK || *ended ? (int)(len - in->z.avail_out) : -EBADMSG;
}

int inflate__bytes(const struct deflated *from, void *buf, size_t len)
{
	struct inflater *in = begin(from);
	bool ended;
	int ret;

	if (!in)
		return -ENOMEM;
	ret = fill(in, buf, len, &ended);
	if (ret < 0 && in->z.avail_out < len)
		ret = (int)(len - in->z.avail_out);
	end(in);
	return ret;
}

static int copy(struct inflater *in, int to, uint64_t size)
{
	unsigned char *piece = malloc(PIECE);
	int err = piece ? 0 : -ENOMEM;
	uint64_t done = 0;
	bool ended = false;

	while (!err && !ended) {
		int len = fill(in, piece, PIECE, &ended);

		if (len < 0)
			err = len;
		else if ((uint64_t)len > size - done)
			err = -EBADMSG;
		else
			err = file__write_all(to, piece, len);
		done += len;
	}
	free(piece);
	return err ?: done == size ? 0 : -EBADMSG;
}

int inflate__file(const struct deflated *from, int to, uint64_t size)
{
	struct inflater *in = begin(from);
	int err = in ? copy(in, to, size) : -ENOMEM;

	if (in)
		end(in);
	return err;
}

/* --- xz */

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
	static const lzma_allocator counted = { .alloc = allocate_xz, .free = release };
	lzma_stream xz = { .allocator = &counted };
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
