/* SPDX-License-Identifier: GPL-2.0 */
/* Unpacks .gnu_debugdata within bounds: a few bytes of xz can claim gigabytes. */
#include "symbol/debugdata.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#define PACKED_MAX   (16u << 20)
#define UNPACKED_MAX (32u << 20)
#define DECODER_MAX  (32u << 20) /* of the decoder's own memory: its dictionary */

static int grow(lzma_stream *xz, unsigned char **out, size_t *cap)
{
	size_t used = *cap - xz->avail_out, more = *cap ? 2 * *cap : 256 * 1024;
	unsigned char *p;

	if (xz->avail_out)
		return 0;
	if (more > UNPACKED_MAX)
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

static int unpack(const void *packed, size_t size, unsigned char **out, size_t *ret_size)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	lzma_ret status = lzma_stream_decoder(&xz, DECODER_MAX, 0);
	size_t cap = 0;
	int ret = 0;

	if (status != LZMA_OK)
		return -ENOMEM;
	xz.next_in = packed;
	xz.avail_in = size;
	while (!ret && status == LZMA_OK) {
		ret = grow(&xz, out, &cap);
		if (!ret)
			status = lzma_code(&xz, LZMA_FINISH);
	}
	*ret_size = xz.total_out;
	lzma_end(&xz);
	if (!ret && status != LZMA_STREAM_END)
		ret = status == LZMA_MEMLIMIT_ERROR ? -EFBIG : -EINVAL;
	return ret;
}

int debugdata__unpack(const struct elf *elf, void **ret_data, size_t *ret_size)
{
	const struct elf_section *sec = elf__section(elf, ".gnu_debugdata");
	unsigned char *out = NULL;
	void *packed;
	int ret;

	if (!sec)
		return -ENOENT;
	if (sec->size > PACKED_MAX)
		return -EFBIG;
	packed = malloc(sec->size ? sec->size : 1);
	if (!packed)
		return -ENOMEM;
	ret = image__read(&elf->img, sec->offset, packed, sec->size);
	if (!ret)
		ret = unpack(packed, sec->size, &out, ret_size);
	free(packed);
	if (ret)
		free(out);
	else
		*ret_data = out;
	return ret;
}
