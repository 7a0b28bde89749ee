/* SPDX-License-Identifier: GPL-2.0 */
/* The file's number is among it since 5.14. */
#include "procfs/fdinfo.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

#define FDINFO_MAX 4096
#define PATH_SZ	   4096

void fdinfo__read(const char *task, int32_t fd, struct strbuf *sb)
{
	char path[PATH_SZ];

	snprintf(path, sizeof(path), "%s/fdinfo/%d", task, (int)fd);
	file__read(path, FDINFO_MAX, sb);
}

bool fdinfo__value(const char *text, const char *key, const char **ret)
{
	size_t len = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
		if (strncmp(at, key, len) || at[len] != ':')
			continue;
		*ret = at + len + 1 + strspn(at + len + 1, " \t");
		return true;
	}
	return false;
}

static uint64_t number_of(const char *text, const char *key)
{
	const char *value;

	return fdinfo__value(text, key, &value) ? strtoull(value, NULL, 10) : 0;
}

/* As it is known here: what another machine or a program would have to say is not waited for. */
static uint64_t stat_inode(const char *task, int32_t fd)
{
	char path[PATH_SZ];
	struct statx stx;

	snprintf(path, sizeof(path), "%s/fd/%d", task, (int)fd);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &stx))
		return 0;
	return stx.stx_ino;
}

uint64_t fdinfo__inode(const char *task, int32_t fd, int *ret_mount)
{
	struct strbuf info = STRBUF_INIT;
	uint64_t inode;

	fdinfo__read(task, fd, &info);
	inode = number_of(strbuf__str(&info), "ino");
	if (ret_mount)
		*ret_mount = (int)number_of(strbuf__str(&info), "mnt_id");
	strbuf__free(&info);
	return inode ? inode : stat_inode(task, fd);
}
