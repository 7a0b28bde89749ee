/* SPDX-License-Identifier: GPL-2.0 */
/* By map_files, else by name in the process's root, else in ours. See mapped_file.h. */
#include "symbol/elf/mapped_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/openfile.h"

bool mapped_file__is(const struct mapped *mapped, const struct stat *st)
{
	return st->st_dev == mapped->dev && st->st_ino == mapped->inode;
}

/* By its name: in the process's root, else in ours. A name may by now be another file's. */
static int open_name(const char *proc, uint32_t pid, const struct mapped *mapped, const char *name,
		     struct stat *st)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%u/root", proc, pid);
	fd = openfile__in_root(path, name, st);
	if (fd >= 0 && mapped_file__is(mapped, st))
		return fd;
	if (fd >= 0)
		close(fd);
	fd = openfile__path(name, st);
	if (fd >= 0 && !mapped_file__is(mapped, st)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/*
 * map_files is what is mapped there now, wherever its name went; which may be another file than before, or have another number
 * there than in maps (overlayfs).
 */
int mapped_file__open(const char *proc, uint32_t pid, const struct mapped *mapped, struct stat *st)
{
	const char *name = mapped->archive ? mapped->archive->path : mapped->path;
	char path[PATH_MAX];
	struct stat named;
	int fd, by_name;

	snprintf(path, sizeof(path), "%s/%u/map_files/%llx-%llx", proc, pid,
		 (unsigned long long)mapped->start, (unsigned long long)mapped->end);
	fd = openfile__link(path, st);
	if (name[0] != '/' || fd == -EWOULDBLOCK || (fd >= 0 && mapped_file__is(mapped, st)))
		return fd;
	by_name = open_name(proc, pid, mapped, name, &named);
	if (fd >= 0 && by_name < 0)
		return fd;
	if (fd >= 0)
		close(fd);
	*st = named;
	return by_name;
}
