/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks over directories of binaries and debug files. See offline_index.h. */
#include "symbol/modules/offline_index.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/file.h"
#include "files/zip.h"

#define FILES_MAX    (1u << 20) /* examined below one directory */
#define LEVELS_MAX   64
#define MEMBERS_MAX  4096 /* libraries of one archive */
#define UNPACKED_MAX (OFFLINE_UNPACKED_MIB << 20)
#define HEAD_SZ	     (64u << 10) /* bytes of a library that contain its notes */

static bool build_id_of(const struct image *img, char *hex)
{
	struct elf elf;

	if (elf__open(&elf, img))
		return false;
	memcpy(hex, elf.build_id, sizeof(elf.build_id));
	elf__close(&elf);
	return hex[0];
}

bool offline_index__build_id(int fd, struct image_part part, char *hex)
{
	struct image img;

	return !image__of_part(&img, fd, part) && build_id_of(&img, hex);
}

/* The build id of a library in an archive. If compressed, only its beginning is unpacked. */
static bool member_build_id(int fd, const struct zip_member *member, char *hex)
{
	struct image img;
	void *head;
	int len;
	bool ret;

	if (!member->deflated)
		return member->size &&
		       offline_index__build_id(
			       fd, (struct image_part){ member->offset, member->size }, hex);
	head = malloc(HEAD_SZ);
	len = head ? zip_unpack__head(fd, member, head, HEAD_SZ) : 0;
	image__of_mem(&img, head, len > 0 ? len : 0);
	ret = len > 0 && build_id_of(&img, hex);
	free(head);
	return ret;
}

static struct build_files *files_of(struct build_files **index, const char *build_id)
{
	size_t len = strlen(build_id);
	struct build_files *files;

	HASH_FIND(hh, *index, build_id, len, files);
	if (files)
		return files;
	files = calloc(1, sizeof(*files) + len + 1);
	if (!files)
		return NULL;
	memcpy(files->build_id, build_id, len);
	HASH_ADD_KEYPTR(hh, *index, files->build_id, len, files);
	return files;
}

static int add_path(struct build_files **index, const char *build_id, const char *path,
		    const struct zip_member *member)
{
	struct build_files *files = files_of(index, build_id);
	struct build_file file = {};

	if (!files)
		return -ENOMEM;
	if (files->cnt == PATHS_MAX)
		return 0;
	file.path = strdup(path);
	if (member)
		file.member = malloc(sizeof(*member));
	if (!file.path || (member && !file.member)) {
		free(file.path);
		free(file.member);
		return -ENOMEM;
	}
	if (member)
		*file.member = *member;
	files->files[files->cnt++] = file;
	return 0;
}

static bool is_library(const char *name)
{
	size_t len = strlen(name);

	return len > 3 && !strcmp(name + len - 3, ".so");
}

int offline_index__add_archive(struct build_files **index, const char *path)
{
	char build_id[BUILD_ID_HEX_SZ];
	struct zip_directory dir;
	struct zip_member member;
	unsigned cnt = 0;
	int fd = openfile__path(path, NULL), more, ret = 0;
	size_t at = 0;

	if (fd < 0)
		return 0;
	if (zip_directory__read(&dir, fd)) {
		close(fd);
		return 0;
	}
	while (!ret && cnt < MEMBERS_MAX && (more = zip_directory__next(&dir, &at, &member)))
		if (more > 0 && is_library(member.name)) {
			cnt++;
			if (member_build_id(fd, &member, build_id))
				ret = add_path(index, build_id, path, &member);
		}
	zip_directory__free(&dir);
	close(fd);
	return ret;
}

static int add_file(struct build_files **index, const char *path)
{
	char build_id[BUILD_ID_HEX_SZ];
	int fd, ret = 0;

	if (zip_entry__is_archive(path))
		return offline_index__add_archive(index, path);
	fd = openfile__path(path, NULL);
	if (fd < 0)
		return 0;
	if (offline_index__build_id(fd, (struct image_part){}, build_id))
		ret = add_path(index, build_id, path, NULL);
	close(fd);
	return ret;
}

static int open_unpacked(int archive, const struct build_file *file, struct stat *st)
{
	int fd = zip_unpack__file(archive, file->member, UNPACKED_MAX);

	close(archive);
	if (fd >= 0 && !fstat(fd, st))
		return fd;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : -EIO;
}

int offline_index__open(const struct build_file *file, struct stat *st, struct image_part *ret_part)
{
	int fd = openfile__path(file->path, st);

	*ret_part = (struct image_part){};
	if (fd < 0 || !file->member)
		return fd;
	if (file->member->deflated)
		return open_unpacked(fd, file, st);
	*ret_part = (struct image_part){ file->member->offset, file->member->size };
	return fd;
}

int offline_index__add(struct build_files **index, const char *dir)
{
	char *const paths[] = { (char *)dir, NULL };
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	unsigned cnt = 0;
	FTSENT *entry;
	int ret = 0;

	if (!fts)
		return -errno;
	while (!ret && cnt < FILES_MAX && (entry = fts_read(fts))) {
		if (entry->fts_level > LEVELS_MAX)
			fts_set(fts, entry, FTS_SKIP);
		else if (entry->fts_info == FTS_F && cnt++ < FILES_MAX)
			ret = add_file(index, entry->fts_path);
	}
	fts_close(fts);
	return ret;
}

void offline_index__free(struct build_files **index)
{
	struct build_files *files, *next;

	HASH_ITER (hh, *index, files, next) {
		HASH_DEL(*index, files);
		while (files->cnt) {
			free(files->files[--files->cnt].path);
			free(files->files[files->cnt].member);
		}
		free(files);
	}
}
