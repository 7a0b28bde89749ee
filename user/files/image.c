/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads at an offset, also of files that only the helper process reads; images. See file.h. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/apart.h"
#include "files/file.h"

ssize_t file__pread(int fd, void *to, size_t len, uint64_t offset)
{
	ssize_t n;

	do {
		n = pread(fd, to, len, (off_t)offset);
		n = n < 0 ? -errno : n;
		if (n == -EBADF)
			n = apart__pread(fd, to, len, offset);
	} while (n == -EINTR);
	return n;
}

int file__read_exactly(int fd, void *to, size_t len, uint64_t offset)
{
	char *at = to;

	while (len) {
		ssize_t n = file__pread(fd, at, len, offset);

		if (n <= 0)
			return n ? (int)n : -ENOEXEC;
		at += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int image__of_fd(struct image *img, int fd)
{
	struct stat st;
	int err = apart__stat(fd, &st);

	if (err)
		return err;
	if (!S_ISREG(st.st_mode) || st.st_size < 0)
		return -EINVAL;
	*img = (struct image){ .fd = fd, .size = st.st_size };
	return 0;
}

int image__of_part(struct image *img, int fd, struct image_part part)
{
	int ret = image__of_fd(img, fd);

	if (ret || !part.size)
		return ret;
	if (part.begin >= img->size)
		return -ENODATA;
	img->begin = part.begin;
	img->size -= part.begin;
	if (part.size < img->size)
		img->size = part.size;
	return 0;
}

void image__of_mem(struct image *img, const void *mem, size_t size)
{
	*img = (struct image){ .fd = -1, .mem = mem, .size = size };
}

uint64_t image__written_ns(int fd)
{
	struct stat st;

	return apart__stat(fd, &st) ? 0 : timespec__ns(st.st_mtim);
}

bool image__holds(const struct image *img, uint64_t off, uint64_t len)
{
	return off <= img->size && len <= img->size - off;
}

int image__read(const struct image *img, uint64_t off, void *buf, size_t len)
{
	uint64_t at = img->begin + off;
	size_t done = 0;

	if (!image__holds(img, off, len))
		return -ENODATA;
	if (img->fd < 0) {
		if (len)
			memcpy(buf, (const char *)img->mem + off, len);
		return 0;
	}
	while (done < len) {
		ssize_t n = file__pread(img->fd, (char *)buf + done, len - done, at + done);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return -ENODATA; /* truncated after it was opened */
		done += n;
	}
	return 0;
}
