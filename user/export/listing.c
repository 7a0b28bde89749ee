/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is ours in DIR: regular files of our own user whose names are of our own making.
 * Everything else is somebody's and is not even looked at twice.
 */
#include "export/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "export/blockcanary/blockcanary.h"
#include "export/retain.h"

static bool is_tmp_name(const char *name)
{
	size_t len = strlen(name), prefix = strlen(RETAIN_TMP_PREFIX);

	if (strncmp(name, RETAIN_TMP_PREFIX, prefix))
		return false;
	name += prefix;
	len = strspn(name, "0123456789");
	return len && !strcmp(name + len, RETAIN_TMP_SUFFIX);
}

static int listing__add(struct listing *listing, const char *name, const struct stat *st)
{
	struct listed *log;

	if (listing->cnt == listing->cap) {
		size_t cap = listing->cap ? 2 * listing->cap : 64;

		log = reallocarray(listing->logs, cap, sizeof(*log));
		if (!log)
			return -ENOMEM;
		listing->logs = log;
		listing->cap = cap;
	}
	log = &listing->logs[listing->cnt++];
	log->mtime_ns = timespec__ns(st->st_mtim);
	log->size = (uint64_t)st->st_size;
	memcpy(log->name, name, strlen(name) + 1);
	listing->bytes += log->size;
	return 0;
}

static int listing__look_at(struct listing *listing, int dirfd, const char *name)
{
	bool tmp = is_tmp_name(name);
	struct stat st;

	if (!tmp && !(blockcanary__is_name(name) && strlen(name) < sizeof(listing->logs->name)))
		return 0;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid())
		return 0;
	if (!tmp)
		return listing__add(listing, name, &st);
	unlinkat(dirfd, name, 0);
	return 0;
}

/* Of one millisecond, "…-10.log" comes after "…-9.log": the longer name is the later one. */
static int by_age(const void *pa, const void *pb)
{
	const struct listed *a = pa, *b = pb;

	if (a->mtime_ns != b->mtime_ns)
		return a->mtime_ns < b->mtime_ns ? -1 : 1;
	if (strlen(a->name) != strlen(b->name))
		return strlen(a->name) < strlen(b->name) ? -1 : 1;
	return strcmp(a->name, b->name);
}

int listing__read(struct listing *listing, int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while (!err && (errno = 0, entry = readdir(dir)))
		err = listing__look_at(listing, dirfd, entry->d_name);
	if (!err && errno)
		err = -errno;
	closedir(dir);
	if (listing->cnt)
		qsort(listing->logs, listing->cnt, sizeof(*listing->logs), by_age);
	return err;
}

void listing__free(struct listing *listing)
{
	free(listing->logs);
	*listing = (struct listing){ 0 };
}
