/* SPDX-License-Identifier: GPL-2.0 */
/* A walk over directories of binaries and debug files. See offline_index.h. */
#include "symbol/offline_index.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/openfile.h"

#define FILES_MAX  (1u << 20) /* looked at below one directory */
#define LEVELS_MAX 64

bool offline_index__build_id(int fd, char *hex)
{
	struct image img;
	struct elf elf;

	if (image__of_fd(&img, fd) || elf__open(&elf, &img))
		return false;
	memcpy(hex, elf.build_id, sizeof(elf.build_id));
	elf__close(&elf);
	return hex[0];
}

static int add_path(struct build_files **index, const char *build_id, const char *path)
{
	size_t len = strlen(build_id);
	struct build_files *files;

	HASH_FIND(hh, *index, build_id, len, files);
	if (!files) {
		files = calloc(1, sizeof(*files) + len + 1);
		if (!files)
			return -ENOMEM;
		memcpy(files->build_id, build_id, len);
		HASH_ADD_KEYPTR(hh, *index, files->build_id, len, files);
	}
	if (files->cnt == PATHS_MAX)
		return 0;
	files->paths[files->cnt] = strdup(path);
	return files->paths[files->cnt] ? files->cnt++, 0 : -ENOMEM;
}

static int add_file(struct build_files **index, const char *path)
{
	char build_id[BUILD_ID_HEX_SZ];
	int fd = openfile__path(path, NULL), ret = 0;

	if (fd < 0)
		return 0;
	if (offline_index__build_id(fd, build_id))
		ret = add_path(index, build_id, path);
	close(fd);
	return ret;
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
		while (files->cnt)
			free(files->paths[--files->cnt]);
		free(files);
	}
}
