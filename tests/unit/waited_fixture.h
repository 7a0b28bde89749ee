/* SPDX-License-Identifier: GPL-2.0 */
/* What this process waited for, in the form of the probes, and the names found for it. */
#ifndef JANK_WAITED_FIXTURE_H
#define JANK_WAITED_FIXTURE_H

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "enrich/block_facts.h"

/* A wait for a descriptor of this process. */
static inline struct jank_rec_waited record_of(int fd)
{
	struct jank_rec_waited raw = { .fd = fd, .hdr.flags = JANK_WAITED_FILE };
	struct stat st;

	if (fstat(fd, &st))
		abort();
	raw.inode = st.st_ino;
	raw.mode = st.st_mode;
	raw.dev = major(st.st_dev) << 20 | minor(st.st_dev);
	return raw;
}

/* "leaf\0dir\0…" of a path, from its end. */
static inline void set_names(struct jank_rec_waited *raw, const char *path)
{
	char *copy = strdup(path), *slash;
	size_t at = 0;

	memset(raw->name, 0, sizeof(raw->name));
	while ((slash = strrchr(copy, '/')) && at + strlen(slash) < sizeof(raw->name)) {
		strcpy(raw->name + at, slash + 1);
		at += strlen(slash);
		*slash = 0;
	}
	free(copy);
}

/* Resolves its names, as a wait of the calling thread; the caller frees it. */
static inline struct wait_object *fill(const struct jank_rec_waited *raw)
{
	struct wait_object *waited = wait_object__new(raw);

	if (wait_object_names__fill(waited, (uint32_t)getpid(), (uint32_t)gettid()))
		abort();
	return waited;
}

#endif
