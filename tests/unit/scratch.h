/* SPDX-License-Identifier: GPL-2.0 */
/* The test's own directory. It is removed with its content when the test ends. */
#ifndef JANK_TEST_SCRATCH_H
#define JANK_TEST_SCRATCH_H

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static char scratch_dir[64];
static pid_t scratch_owner;

static inline int scratch__remove_one(const char *path, const struct stat *st, int type,
				      struct FTW *where)
{
	return remove(path);
}

static inline void scratch__remove(void)
{
	/* A child that ends by exit() must not remove it. */
	if (scratch_owner == getpid() &&
	    nftw(scratch_dir, scratch__remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT))
		diag("cannot remove %s", scratch_dir);
}

/* Creates the directory, which is $D for shells; bails out if that fails. */
static inline void scratch__init(void)
{
	strcpy(scratch_dir, "/tmp/jank-test-XXXXXX");
	if (!mkdtemp(scratch_dir))
		skip_all("no temporary directory: %s", strerror(errno));
	setenv("D", scratch_dir, 1);
	scratch_owner = getpid();
	atexit(scratch__remove);
}

/* mkdir -p. Returns 0, or -1 with errno. */
static inline int scratch__dirs(const char *path)
{
	char part[PATH_MAX + 1];

	snprintf(part, sizeof(part), "%s/", path);
	for (char *slash = part; (slash = strchr(slash + 1, '/')); *slash = '/') {
		*slash = '\0';
		if (mkdir(part, 0700) && errno != EEXIST)
			return -1;
	}
	return 0;
}

/* The path of a name in it, valid for four more calls. "" is the directory. */
static inline const char *scratch__path(const char *name)
{
	static char path[4][PATH_MAX + sizeof(scratch_dir)];
	static unsigned next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s%s%s", scratch_dir, *name ? "/" : "", name);
	return path[next];
}

/* Writes a new file; returns its path, as scratch__path. */
static inline const char *scratch__write(const char *name, const void *data, size_t len)
{
	const char *path = scratch__path(name);
	FILE *file = fopen(path, "w");

	if (!file || fwrite(data, 1, len, file) != len || fclose(file)) {
		printf("Bail out! cannot write %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return path;
}

static inline const char *scratch__write_text(const char *name, const char *text)
{
	return scratch__write(name, text, strlen(text));
}

#endif
