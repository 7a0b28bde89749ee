/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table by pid. What a file says is read once, as long as it is the same file.
 *
 * All of Android's apps run the same program, app_process. A process maps its APK some time after
 * its first dispatch, and may map the APKs of other apps. It has the name of the package in its own
 * ("org.example.app:remote").
 */
#include "enrich/applications.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "files/file.h"
#include "files/proc.h"
#include "files/zip.h"
#include "procfs/appinfo.h"
#include "procfs/procinfo.h"
#include "symbol/elf/elffunc.h"
#include "symbol/elf/mapped_file.h"

#define FILES_MAX    64 /* the oldest is replaced */
#define ARCHIVES_MAX 16 /* of a process */
#define ENDED_MAX    1024
#define LOOKS_MAX    8 /* for the APK of a process, a second apart and more */
#define LOOK_NS	     NS_PER_SEC
#define LOOK_MAX_NS  (500 * NS_PER_MS) /* of one look: the process chooses the archives */

struct entry {
	uint32_t pid;
	Jankbpf__Identity *process; /* as it was read last */
	bool wants_package;	    /* an Android app whose APK is not found */
	unsigned look_cnt;
	uint64_t looked_ns;
	bool ended;
	struct entry *prev, *next; /* in apps->ended */
	UT_hash_handle hh;
};

struct known_file {
	uint64_t dev, inode, size, written_ns;
	char build_id[BUILD_ID_HEX_SZ]; /* "": none */
	struct package package;
};

struct applications {
	struct entry *entries;
	struct entry *ended; /* oldest first */
	size_t ended_cnt;
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
	if (entry->ended) {
		DL_DELETE(apps->ended, entry);
		apps->ended_cnt--;
	}
	identity__free(entry->process);
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
static const struct known_file *read_file(struct applications *apps, int fd,
					  const struct known_file *key)
{
	struct known_file *file = &apps->files[apps->file_cnt++ % FILES_MAX];
	struct elffunc elf;

	*file = *key;
	elffunc__package(fd, &file->package);
	if (!elffunc__open(fd, &elf)) {
		snprintf(file->build_id, sizeof(file->build_id), "%s", elf.elf.build_id);
		elffunc__close(&elf);
	}
	return file;
}

/* Takes over fd, which may be -errno. Valid until the next call. */
static const struct known_file *look_into(struct applications *apps, int fd, const struct stat *st)
{
	static const struct known_file none;
	struct known_file key;

	if (fd < 0)
		return &none;
	key = (struct known_file){ .dev = st->st_dev,
				   .inode = st->st_ino,
				   .size = (uint64_t)st->st_size,
				   .written_ns = image__written_ns(fd) };
	for (size_t i = 0; i < apps->file_cnt && i < FILES_MAX; i++) {
		if (is_same(&apps->files[i], &key)) {
			close(fd);
			return &apps->files[i];
		}
	}
	return read_file(apps, fd, &key);
}

/* --- an Android app's package */

/* The archives that a process maps, each path once. */
struct archives {
	struct archive {
		uint64_t start, end, dev, inode; /* of one mapping */
		char *path;
	} items[ARCHIVES_MAX];
	size_t cnt;
};

static int add_archive(void *ctx, const struct proc_maps_line *line)
{
	struct archives *archives = ctx;
	struct archive *archive;

	if (!zip_entry__is_archive(line->path))
		return 0;
	for (size_t i = 0; i < archives->cnt; i++)
		if (!strcmp(archives->items[i].path, line->path))
			return 0;
	if (archives->cnt == ARCHIVES_MAX)
		return 1;
	archive = &archives->items[archives->cnt++];
	*archive = (struct archive){ line->start, line->end, line->dev, line->inode, NULL };
	return text__copy(&archive->path, line->path);
}

/* Replaces the text; "" becomes NULL. 0 or -ENOMEM. */
static int set_text(char **ret, const char *text)
{
	free(*ret);
	return text__copy(ret, *text ? text : NULL);
}

static int set_package(Jankbpf__Identity *app, const struct package *package)
{
	app->has_package_code = !!package->code;
	app->package_code = package->code;
	return set_text(&app->package, package->name)
		       ?: set_text(&app->package_version, package->version);
}

/* "org.example.app:remote" is a process of org.example.app. */
static bool is_named_after(const char *process, const char *package)
{
	size_t len = strcspn(process, ":");

	return len && strlen(package) == len && !memcmp(process, package, len);
}

static int take_package(struct applications *apps, struct entry *entry, const char *name,
			const struct archive *archive)
{
	const struct mapped mapped = { .kind = MAPPED_FILE,
				       .dev = archive->dev,
				       .inode = archive->inode,
				       .start = archive->start,
				       .end = archive->end,
				       .path = archive->path };
	const struct known_file *file;
	struct stat st;

	/* By its name it may be any file of another user, which the process cannot read. */
	file = look_into(apps, mapped_file__open("/proc", entry->pid, &mapped, &st), &st);
	if (!is_named_after(name, file->package.name))
		return 0;
	entry->wants_package = false;
	return set_package(entry->process, &file->package);
}

static int look_for_package(struct applications *apps, struct entry *entry)
{
	struct archives archives = {};
	char path[32], *name;
	int res = procname__read((pid_t)entry->pid, &name);

	entry->look_cnt++;
	entry->looked_ns = clock__mono_ns();
	snprintf(path, sizeof(path), "/proc/%u/maps", entry->pid);
	if (name && maps_lines__each_file(path, add_archive, &archives) == -ENOMEM)
		res = -ENOMEM;
	for (size_t i = 0; i < archives.cnt; i++) {
		if (!res && entry->wants_package &&
		    clock__mono_ns() - entry->looked_ns < LOOK_MAX_NS)
			res = take_package(apps, entry, name, &archives.items[i]);
		free(archives.items[i].path);
	}
	free(name);
	return res;
}

static bool is_android_app(const Jankbpf__Identity *process)
{
	const char *program = text__base_name(process->exe);

	return !strcmp(program, "app_process64") || !strcmp(program, "app_process32");
}

static int find_package(struct applications *apps, struct entry *entry)
{
	entry->look_cnt = 0;
	entry->wants_package = is_android_app(entry->process);
	return entry->wants_package ? look_for_package(apps, entry) : 0;
}

/* --- a process */

/* Its entry, with a copy of it. NULL: out of memory. */
static struct entry *get(struct applications *apps, const Jankbpf__Identity *process)
{
	struct entry *entry = find(apps, process->pid);
	Jankbpf__Identity *copy = identity__copy(process);

	if (entry && entry->ended) {
		drop(apps, entry);
		entry = NULL;
	}
	if (!entry && copy && (entry = calloc(1, sizeof(*entry)))) {
		entry->pid = process->pid;
		HASH_ADD(hh, apps->entries, pid, sizeof(entry->pid), entry);
	}
	if (!entry || !copy) {
		identity__free(copy);
		return NULL;
	}
	identity__free(entry->process);
	entry->process = copy;
	return entry;
}

/* Takes over fd, which may be -errno. */
static int read_program(struct applications *apps, Jankbpf__Identity *process, int fd,
			const struct stat *st)
{
	const struct known_file *file = look_into(apps, fd, st);

	if (*file->build_id && text__copy(&process->build_id, file->build_id))
		return -ENOMEM;
	return set_package(process, &file->package);
}

int applications__read(struct applications *apps, Jankbpf__Identity *process)
{
	struct entry *entry = find(apps, process->pid);
	struct stat st;
	char path[32];
	int fd, res;

	snprintf(path, sizeof(path), "/proc/%u/exe", process->pid);
	fd = openfile__link(path, &st);
	identity__set_application(process, NULL);
	if (fd < 0 && entry && text__same(entry->process->exe, process->exe) && process->exe)
		return identity__set_application(process, entry->process); /* it has ended */
	res = appinfo__read((pid_t)process->pid, process);
	res = read_program(apps, process, fd, &st) ?: res;
	entry = res ? NULL : get(apps, process);
	if (!entry)
		return -ENOMEM;
	return find_package(apps, entry) ?: identity__set_application(process, entry->process);
}

static bool is_due(const struct entry *entry)
{
	return entry->wants_package && !entry->ended && entry->look_cnt < LOOKS_MAX &&
	       clock__mono_ns() - entry->looked_ns >= LOOK_NS << entry->look_cnt;
}

const Jankbpf__Identity *applications__look_again(struct applications *apps, uint32_t pid)
{
	struct entry *entry = find(apps, pid);

	if (!entry || !is_due(entry) || look_for_package(apps, entry) || entry->wants_package)
		return NULL;
	return entry->process;
}

const Jankbpf__Identity *applications__of(const struct applications *apps, uint32_t pid)
{
	const struct entry *entry = find(apps, pid);

	return entry ? entry->process : NULL;
}

void applications__on_exit(struct applications *apps, uint32_t pid)
{
	struct entry *entry = find(apps, pid);

	if (!entry || entry->ended)
		return;
	entry->ended = true;
	DL_APPEND(apps->ended, entry);
	if (++apps->ended_cnt > ENDED_MAX)
		drop(apps, apps->ended);
}
