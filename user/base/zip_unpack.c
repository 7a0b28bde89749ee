/* SPDX-License-Identifier: GPL-2.0 */
/* zlib's raw inflation, a piece at a time. What comes out is bounded by what the archive says of it, as is what goes in. */
#include "base/zip_unpack.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"

#define PIECE (64u << 10)

/* What is left of the packed bytes. */
struct source {
	int fd;
	uint64_t at, left;
	unsigned char piece[PIECE];
};

static int begin(z_stream *z, struct source *source, int fd, const struct zip_member *member)
{
	*z = (z_stream){ 0 };
	source->fd = fd;
	source->at = member->offset;
	source->left = member->packed;
	return inflateInit2(z, -MAX_WBITS) == Z_OK ? 0 : -ENOMEM;
}

static int refill(z_stream *z, struct source *source)
{
	size_t len = source->left < PIECE ? source->left : PIECE;
	int err;

	if (z->avail_in || !len) /* what was taken in may hold the end */
		return 0;
	err = file__read_exactly(source->fd, source->piece, len, source->at);
	if (err)
		return err;
	source->at += len;
	source->left -= len;
	z->next_in = source->piece;
	z->avail_in = len;
	return 0;
}

/* Fills a buffer, or up to the end. How many bytes, or -errno. *ended: the packed bytes say that there are no more. */
static int fill(z_stream *z, struct source *source, void *buf, size_t len, bool *ended)
{
	int status = Z_OK, err;

	z->next_out = buf;
	z->avail_out = len;
	while (z->avail_out && status == Z_OK) {
		err = refill(z, source);
		if (err)
			return err;
		status = inflate(z, Z_NO_FLUSH);
	}
	*ended = status == Z_STREAM_END;
	return status == Z_OK || *ended ? (int)(len - z->avail_out) : -EBADMSG;
}

int zip_unpack__head(int fd, const struct zip_member *member, void *buf, size_t len)
{
	struct source source;
	bool ended;
	z_stream z;
	int ret = begin(&z, &source, fd, member);

	if (ret)
		return ret;
	ret = fill(&z, &source, buf, len, &ended);
	if (ret < 0 && z.avail_out < len)
		ret = (int)(len - z.avail_out);
	inflateEnd(&z);
	return ret;
}

static int copy(z_stream *z, struct source *source, int to, uint64_t size)
{
	unsigned char piece[PIECE];
	uint64_t done = 0;
	bool ended = false;
	int err;

	while (!ended) {
		int len = fill(z, source, piece, sizeof(piece), &ended);

		if (len < 0)
			return len;
		if ((uint64_t)len > size - done)
			return -EBADMSG;
		err = file__write_all(to, piece, len);
		if (err)
			return err;
		done += len;
	}
	return done == size ? 0 : -EBADMSG;
}

int zip_unpack__file(int fd, const struct zip_member *member, uint64_t max)
{
	struct source source;
	z_stream z;
	int to, err;

	if (member->size > max)
		return -EFBIG;
	to = memfd_create("unpacked", MFD_CLOEXEC);
	if (to < 0)
		return -errno;
	err = begin(&z, &source, fd, member);
	if (!err) {
		err = copy(&z, &source, to, member->size);
		inflateEnd(&z);
	}
	if (!err)
		return to;
	close(to);
	return err;
}
