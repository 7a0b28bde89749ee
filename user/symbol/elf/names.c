/* SPDX-License-Identifier: GPL-2.0 */
/* Names of a symbol table, in an arena or left in their file. See names.h. */
#include "symbol/elf/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_MAX                                                                                   \
	(1u << 20)     /* a string table up to here is copied, a larger one stays in its file */
#define FIRST_READ 256 /* most names are shorter */

void names__init(struct names *names)
{
	memset(names, 0, sizeof(*names));
	names->img.fd = -1;
}

void names__free(struct names *names)
{
	if (names->owns_fd)
		close(names->img.fd);
	free(names->arena);
	names__init(names);
}

void names__borrow(struct names *names, const struct image *img, uint64_t off, uint64_t size,
		   char end)
{
	names__free(names);
	names->img = *img;
	names->off = off;
	names->size = size;
	names->end = end;
}

static int copy_to_arena(struct names *names)
{
	char *arena = malloc(names->size ? names->size : 1);
	int ret;

	if (!arena)
		return -ENOMEM;
	ret = image__read(&names->img, names->off, arena, names->size);
	if (ret) {
		free(arena);
		return ret;
	}
	names->arena = arena;
	names->cap = names->size;
	names->off = 0;
	image__of_mem(&names->img, arena, names->size);
	return 0;
}

int names__keep(struct names *names)
{
	int fd;

	if (names->arena || names->owns_fd)
		return 0;
	if (names->img.fd < 0 || names->size <= COPY_MAX)
		return copy_to_arena(names);
	fd = fcntl(names->img.fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	names->img.fd = fd;
	names->owns_fd = true;
	return 0;
}

static int grow(struct names *names, size_t need)
{
	size_t cap = names->cap ? names->cap : 4096;
	char *arena;

	while (cap < need)
		cap += cap / 2;
	if (cap == names->cap)
		return 0;
	arena = realloc(names->arena, cap);
	if (!arena)
		return -ENOMEM;
	names->arena = arena;
	names->cap = cap;
	return 0;
}

int64_t names__add(struct names *names, const char *str, size_t len)
{
	int64_t off = names->size;

	if (len >= NAME_MAX_LEN)
		len = NAME_MAX_LEN - 1;
	if (names->size + len + 1 > NAMES_ARENA_MAX)
		return -E2BIG;
	if (grow(names, names->size + len + 1))
		return -ENOMEM;
	memcpy(names->arena + off, str, len);
	names->arena[off + len] = 0;
	names->size += len + 1;
	image__of_mem(&names->img, names->arena, names->size);
	return off;
}

void names__shrink(struct names *names)
{
	char *arena = names->arena ? realloc(names->arena, names->size ? names->size : 1) : NULL;

	if (!arena)
		return;
	names->arena = arena;
	names->cap = names->size ? names->size : 1;
	image__of_mem(&names->img, arena, names->size);
}

static size_t length(const char *buf, size_t max, char end)
{
	size_t len = 0;

	while (len < max && buf[len] && buf[len] != end)
		len++;
	return len;
}

size_t names__get(const struct names *names, uint64_t off, char *buf, size_t cap)
{
	size_t left, want, len;

	buf[0] = 0;
	if (off >= names->size)
		return 0;
	left = names->size - off < cap - 1 ? names->size - off : cap - 1;
	want = left < FIRST_READ ? left : FIRST_READ;
	if (image__read(&names->img, names->off + off, buf, want))
		want = 0;
	len = length(buf, want, names->end);
	if (len == want && want < left) {
		if (!image__read(&names->img, names->off + off, buf, left))
			want = left;
		len = length(buf, want, names->end);
	}
	buf[len] = 0;
	return len;
}

size_t names__bytes(const struct names *names)
{
	return names->cap;
}
