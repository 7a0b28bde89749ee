/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table by pid. A build id is read once for each file, as long as it is the same file. */
#include "enrich/applications.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "files/file.h"
#include "procfs/appinfo.h"
#include "symbol/elf/elffunc.h"

#define FILES_MAX 64 /* the oldest is replaced */

struct entry {
	uint32_t pid;
	struct application app;
	UT_hash_handle hh;
};

struct known_file {
	uint64_t dev, inode, size, written_ns;
	char build_id[BUILD_ID_HEX_SZ]; /* "": none */
};

struct applications {
	struct entry *entries;
	struct known_file files[FILES_MAX];
	size_t file_cnt; /* of all times */
};

struct applications *applications__new(void)
{
	return calloc(1, sizeof(struct applications));
}

static void drop(struct applications *apps, struct entry *entry)
{
	HASH_DEL(apps->entries, entry);
	application__clear(&entry->app);
	free(entry);
}

void applications__free(struct applications *apps)
{
	if (!apps)
		return;
	while (apps->entries)
		drop(apps, apps->entries);
	free(apps);
}

static struct entry *find(const struct applications *apps, uint32_t pid)
{
	struct entry *entry;

	HASH_FIND(hh, apps->entries, &pid, sizeof(pid), entry);
	return entry;
}

static bool is_same(const struct known_file *a, const struct known_file *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->size == b->size &&
	       a->written_ns == b->written_ns;
}

/* Takes over fd. */
static const char *read_file(struct applications *apps, int fd, const struct known_file *key)
{
	struct known_file *file = &apps->files[apps->file_cnt++ % FILES_MAX];
	struct elffunc elf;

	*file = *key;
	if (!elffunc__open(fd, &elf)) {
		snprintf(file->build_id, sizeof(file->build_id), "%s", elf.elf.build_id);
		elffunc__close(&elf);
	}
	return file->build_id;
}

/* "": none, or not readable now. */
static const char *build_id_of(struct applications *apps, uint32_t pid)
{
	struct stat st;
	struct known_file key;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	fd = openfile__link(path, &st);
	if (fd < 0)
		return "";
	key = (struct known_file){ .dev = st.st_dev,
				   .inode = st.st_ino,
				   .size = (uint64_t)st.st_size,
				   .written_ns = image__written_ns(fd) };
	for (size_t i = 0; i < apps->file_cnt && i < FILES_MAX; i++) {
		if (is_same(&apps->files[i], &key)) {
			close(fd);
			return apps->files[i].build_id;
		}
	}
	return read_file(apps, fd, &key);
}

int applications__read(struct applications *apps, struct identity *process)
{
	struct entry *entry = find(apps, process->pid);
	const char *build_id = build_id_of(apps, process->pid);
	int res;

	application__clear(&process->app);
	res = appinfo__read((pid_t)process->pid, &process->app);
	if (!res && *build_id)
		res = text__copy(&process->app.build_id, build_id);
	if (res)
		return res;
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		entry->pid = process->pid;
		HASH_ADD(hh, apps->entries, pid, sizeof(entry->pid), entry);
		if (!entry)
			return -ENOMEM;
	}
	return application__copy(&entry->app, &process->app);
}

const struct application *applications__of(const struct applications *apps, uint32_t pid)
{
	const struct entry *entry = find(apps, pid);

	return entry ? &entry->app : NULL;
}

void applications__on_exit(struct applications *apps, uint32_t pid)
{
	struct entry *entry = find(apps, pid);

	if (entry)
		drop(apps, entry);
}
