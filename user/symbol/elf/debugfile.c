/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds separate debug files below our own root, then below the process's root. A file is accepted
 * only when its build id matches or, without build ids, the checksum in the link.
 */
#include "symbol/elf/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "files/apart.h"
#include "files/bucket.h"
#include "files/file.h"
#include "files/unpack.h"
#include "files/unread.h"

/*
 * Limits of a checksum, and of all in total, which any number of modules may ask for. A file may be
 * sparse. zlib's crc32 takes some 100 ms for CHECKSUM_MAX. Files on a file system that may never
 * answer (O_PATH: openfile.c) are not read for it: it could take half a second for each piece.
 */
#define CHECKSUM_MAX (128ull << 20)
#define CHECKSUM_NS  (2 * NS_PER_SEC)
static const struct bucket_rate checksum_rate = { 2 * CHECKSUM_MAX, CHECKSUM_MAX / 64 };
static struct bucket checksums; /* bytes */

struct link {
	char name[NAME_MAX + 1];
	uint32_t crc;
};

static int read_link(const struct elf *elf, struct link *ret)
{
	const struct elf_section *sec = elf__section(elf, ".gnu_debuglink");
	size_t len;

	if (!sec || sec->size < 8)
		return -ENOENT;
	memset(ret, 0, sizeof(*ret));
	len = sec->size < sizeof(ret->name) ? sec->size : sizeof(ret->name);
	if (image__read(&elf->img, sec->offset, ret->name, len))
		return -ENOENT;
	len = strnlen(ret->name, len);
	if (!len || len == sizeof(ret->name) || strchr(ret->name, '/'))
		return -ENOENT;
	len = (len + 4) & ~(size_t)3;
	if (len + sizeof(ret->crc) > sec->size)
		return -ENOENT;
	return image__read(&elf->img, sec->offset + len, &ret->crc, sizeof(ret->crc));
}

/* Computes the checksum. False: a read failed, or it takes too long. */
static bool sum_up(const struct image *img, uint64_t until_ns, uLong *ret)
{
	enum { PIECE = 1 << 16 };
	unsigned char *buf = malloc(PIECE);
	uint64_t off = 0;

	*ret = crc32(0, NULL, 0);
	while (buf && off < img->size && clock__mono_ns() < until_ns) {
		size_t len = img->size - off < PIECE ? img->size - off : PIECE;

		if (image__read(img, off, buf, len))
			break;
		*ret = crc32(*ret, buf, len);
		off += len;
	}
	free(buf);
	return off == img->size;
}

/* path: for the message */
static bool checksum_is(const struct image *img, const struct link *link, const char *path)
{
	uint64_t now_ns = clock__mono_ns();
	uLong crc;

	if (fcntl(img->fd, F_GETFL) & O_PATH || img->size > CHECKSUM_MAX ||
	    img->size > bucket__left(&checksums, checksum_rate, now_ns)) {
		unread__add(UNREAD_CHECKSUM, path);
		return false;
	}
	bucket__take(&checksums, img->size);
	if (sum_up(img, now_ns + CHECKSUM_NS, &crc))
		return crc == link->crc;
	unread__add(UNREAD_CHECKSUM, path);
	return false;
}

/* link: NULL: only by the build id */
static bool belongs(int fd, const struct elf *elf, const struct link *link, const char *path)
{
	struct image img;
	struct elf debug;
	bool ret;

	if (image__of_fd(&img, fd) || elf__open(&debug, &img))
		return false;
	ret = debug.is64 == elf->is64 && debug.machine == elf->machine;
	if (elf->build_id[0] || debug.build_id[0])
		ret = ret && !strcmp(elf->build_id, debug.build_id);
	else
		ret = ret && link && checksum_is(&img, link, path);
	elf__close(&debug);
	return ret;
}

/*
 * The content of a debug file is used for the module in all processes. Any user can create such a
 * file: beside a link to a library of root, or in the root of their own namespace. So its owner
 * must be one that could have changed the module itself.
 */
static bool is_owners(const struct elf *elf, const struct stat *st)
{
	struct stat module;

	return !st->st_uid || st->st_uid == geteuid() ||
	       (elf->img.fd >= 0 && !apart__stat(elf->img.fd, &module) &&
		st->st_uid == module.st_uid);
}

/*
 * Tries the path below our root, then below the process's root. ours: path is in our own directory
 * of debug files.
 */
static int try_path(const struct elf *elf, const struct debugfile_places *places,
		    const struct link *link, const char *path, bool ours)
{
	struct stat st;
	int pass, fd;

	for (pass = 0; pass < 2; pass++) {
		if (pass && !places->root)
			break;
		fd = pass ? openfile__in_root(places->root, path, &st) : openfile__path(path, &st);
		if (fd < 0)
			continue;
		if (((ours && !pass) || is_owners(elf, &st)) && belongs(fd, elf, link, path))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

static int by_build_id(const struct elf *elf, const struct debugfile_places *places)
{
	char path[PATH_MAX];
	int len;

	if (strlen(elf->build_id) < 4)
		return -ENOENT;
	len = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", places->debug_dir,
		       elf->build_id, elf->build_id + 2);
	return len < (int)sizeof(path) ? try_path(elf, places, NULL, path, true) : -ENOENT;
}

static int by_link(const struct elf *elf, const struct debugfile_places *places)
{
	const struct {
		const char *before, *between;
	} forms[] = { { "", "/" }, { "", "/.debug/" }, { places->debug_dir, "/" } };
	const char *slash = places->path ? strrchr(places->path, '/') : NULL;
	char path[PATH_MAX];
	struct link link;
	int fd = -ENOENT;
	size_t i;

	if (!slash || places->path[0] != '/' || slash - places->path >= PATH_MAX ||
	    read_link(elf, &link))
		return -ENOENT;
	for (i = 0; fd < 0 && i < sizeof(forms) / sizeof(*forms); i++) {
		int len = snprintf(path, sizeof(path), "%s%.*s%s%s", forms[i].before,
				   (int)(slash - places->path), places->path, forms[i].between,
				   link.name);

		if (len < (int)sizeof(path))
			fd = try_path(elf, places, &link, path, i == 2);
	}
	return fd;
}

static bool has_build_id(int fd, const char *build_id)
{
	struct image img;
	struct elf elf;
	bool ret;

	if (image__of_fd(&img, fd) || elf__open(&elf, &img))
		return false;
	ret = !strcmp(elf.build_id, build_id);
	elf__close(&elf);
	return ret;
}

/* The section contains a name, its NUL, and the bytes of the build id. */
static bool read_alt_link(const struct elf *elf, char *hex)
{
	const struct elf_section *sec = elf__section(elf, ".gnu_debugaltlink");
	unsigned char buf[PATH_MAX + BUILD_ID_MAX];
	size_t name;

	if (!sec || sec->size > sizeof(buf) || image__read(&elf->img, sec->offset, buf, sec->size))
		return false;
	name = strnlen((char *)buf, sec->size) + 1;
	if (name + 2 > sec->size || sec->size - name > BUILD_ID_MAX)
		return false;
	for (size_t i = name; i < sec->size; i++, hex += 2)
		snprintf(hex, 3, "%02x", buf[i]);
	return true;
}

int debugfile__open_alt(const struct elf *elf, const char *debug_dir)
{
	char build_id[BUILD_ID_HEX_SZ], path[PATH_MAX];
	int fd;

	if (!read_alt_link(elf, build_id) ||
	    snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", debug_dir, build_id,
		     build_id + 2) >= (int)sizeof(path))
		return -ENOENT;
	fd = openfile__path(path, NULL);
	if (fd >= 0 && !has_build_id(fd, build_id)) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

/* Opens what a server has delivered; otherwise requests the file. */
static int by_fetch(const struct elf *elf, const struct debugfile_places *places)
{
	int fd = fetch__open(places->fetch, elf->build_id);

	if (fd < 0) {
		fetch__want(places->fetch, elf->build_id, places->asker);
		return -ENOENT;
	}
	if (belongs(fd, elf, NULL, NULL))
		return fd;
	close(fd);
	return -ENOENT;
}

int debugfile__open(const struct elf *elf, const struct debugfile_places *places)
{
	int fd = by_build_id(elf, places);

	if (fd < 0)
		fd = by_link(elf, places);
	return fd < 0 && places->fetch ? by_fetch(elf, places) : fd;
}

/* --- .gnu_debugdata: from the section to the unpacked file */

#define PACKED_MAX   (16u << 20)
#define UNPACKED_MAX (32u << 20)

int debugdata__unpack(const struct elf *elf, void **ret_data, size_t *ret_size)
{
	const struct elf_section *sec = elf__section(elf, ".gnu_debugdata");
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
		ret = xz__unpack(packed, sec->size, UNPACKED_MAX, ret_data, ret_size);
	free(packed);
	return ret;
}
