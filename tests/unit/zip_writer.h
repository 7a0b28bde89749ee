/* SPDX-License-Identifier: GPL-2.0 */
/* A zip archive in memory, for tests: stored entries at chosen offsets, as in an APK. */
#ifndef JANK_ZIP_WRITER_H
#define JANK_ZIP_WRITER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ZIP_WRITER_MAX (1u << 20)

struct zip_writer {
	uint8_t bytes[ZIP_WRITER_MAX];
	size_t len;
	uint8_t directory[4096];
	size_t directory_len;
	uint16_t cnt;
};

static inline void zip__put(uint8_t *to, size_t *len, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[(*len)++] = i < 8 ? (uint8_t)(value >> 8 * i) : 0;
}

static inline void zip__put_bytes(uint8_t *to, size_t *len, const void *from, size_t size)
{
	memcpy(to + *len, from, size);
	*len += size;
}

/* The common part of an entry's header and its copy in the directory. */
static inline void zip__put_common(uint8_t *to, size_t *len, uint16_t method, uint32_t packed,
				   uint32_t size, size_t name_len, size_t extra_len)
{
	zip__put(to, len, 20, 2);
	zip__put(to, len, 0, 2);
	zip__put(to, len, method, 2);
	zip__put(to, len, 0, 4); /* time */
	zip__put(to, len, 0, 4); /* check sum: not checked */
	zip__put(to, len, packed, 4);
	zip__put(to, len, size, 4);
	zip__put(to, len, name_len, 2);
	zip__put(to, len, extra_len, 2);
}

/* Adds stored content at a multiple of align, by a longer extra field. Returns its offset. */
static inline size_t zip__add_packed(struct zip_writer *zip, const char *name, const void *content,
				     size_t packed, size_t size, uint16_t method, size_t align)
{
	size_t header = zip->len, name_len = strlen(name), begin = zip->len + 30 + name_len;
	size_t extra = (align - begin % align) % align;

	zip__put(zip->bytes, &zip->len, 0x04034b50, 4);
	zip__put_common(zip->bytes, &zip->len, method, (uint32_t)packed, (uint32_t)size, name_len,
			extra);
	zip__put_bytes(zip->bytes, &zip->len, name, name_len);
	memset(zip->bytes + zip->len, 0, extra);
	zip->len += extra;
	begin = zip->len;
	zip__put_bytes(zip->bytes, &zip->len, content, packed);

	zip__put(zip->directory, &zip->directory_len, 0x02014b50, 4);
	zip__put(zip->directory, &zip->directory_len, 20, 2);
	zip__put_common(zip->directory, &zip->directory_len, method, (uint32_t)packed,
			(uint32_t)size, name_len, 0);
	zip__put(zip->directory, &zip->directory_len, 0, 10); /* comment, disk, attributes */
	zip__put(zip->directory, &zip->directory_len, header, 4);
	zip__put_bytes(zip->directory, &zip->directory_len, name, name_len);
	zip->cnt++;
	return begin;
}

static inline size_t zip__add(struct zip_writer *zip, const char *name, const void *content,
			      size_t size, uint16_t method, size_t align)
{
	return zip__add_packed(zip, name, content, size, size, method, align);
}

static inline void zip__finish(struct zip_writer *zip, const char *comment)
{
	size_t directory = zip->len;

	zip__put_bytes(zip->bytes, &zip->len, zip->directory, zip->directory_len);
	zip__put(zip->bytes, &zip->len, 0x06054b50, 4);
	zip__put(zip->bytes, &zip->len, 0, 4);
	zip__put(zip->bytes, &zip->len, zip->cnt, 2);
	zip__put(zip->bytes, &zip->len, zip->cnt, 2);
	zip__put(zip->bytes, &zip->len, zip->directory_len, 4);
	zip__put(zip->bytes, &zip->len, directory, 4);
	zip__put(zip->bytes, &zip->len, strlen(comment), 2);
	zip__put_bytes(zip->bytes, &zip->len, comment, strlen(comment));
}

#endif
