/* SPDX-License-Identifier: GPL-2.0 */
/* By map_files, else by name in the process's root, else in ours. See mapped_file.h. */
#include "symbol/mapped_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "symbol/openfile.h"

static bool is_mapped_one(const struct mapped *mapped, const struct stat *st)
{
	return st->st_dev == mapped->dev && st->st_ino == mapped->inode;
}

/* map_files is the mapped file itself, wherever its name went. A name may by now be another
 * file's. */
int mapped_file__open(const char *proc, uint32_t pid, const struct mapped *mapped, struct stat *st)
{
	const char *name = mapped->archive ? mapped->archive->path : mapped->path;
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%u/map_files/%llx-%llx", proc, pid,
		 (unsigned long long)mapped->start, (unsigned long long)mapped->end);
	fd = openfile__path(path, st);
	if (fd >= 0 || name[0] != '/')
		return fd;
	snprintf(path, sizeof(path), "%s/%u/root", proc, pid);
	fd = openfile__in_root(path, name, st);
	if (fd >= 0 && is_mapped_one(mapped, st))
		return fd;
	if (fd >= 0)
		close(fd);
	fd = openfile__path(name, st);
	if (fd >= 0 && !is_mapped_one(mapped, st)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}
