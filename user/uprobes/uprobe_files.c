/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A known file costs one table lookup for each process that maps it: the kernel itself places its
 * uprobes in the new process. Other files are opened through the process, in its mount namespace;
 * one without sites again each second, as it may have changed.
 */
#include "uprobes/uprobe_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/apart.h"
#include "uprobes/links.h"
#include "uprobes/mapped_files.h"
#include "uprobes/uprobe_table.h"

#define SURE_NS NS_PER_SEC

static bool wants_name(void *ctx, const char *name)
{
	const struct uprobe_files *files = ctx;

	return target_wants__fits(&files->wants, name, false) ||
	       target_wants__fits(&files->wants, name, true);
}

static int open_mapped(const struct mmaps_map *map)
{
	const struct candidate candidate = { .path = (char *)map->path,
					     .start = map->start,
					     .end = map->start + map->len,
					     .inode = map->inode };
	char open_path[TARGET_PATH_MAX];

	return candidate__open(&candidate, map->pid, open_path, sizeof(open_path));
}

static bool is_exe(pid_t pid, int fd)
{
	struct stat exe, file;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return !apart__stat(fd, &file) && !apart__stat_link(path, &exe) &&
	       exe.st_ino == file.st_ino && exe.st_dev == file.st_dev;
}

static int by_program(const void *a, const void *b)
{
	const struct uprobe_site *x = a, *y = b;

	return (x->prog > y->prog) - (x->prog < y->prog);
}

/* The pausable sites, or the others; those of one program are adjacent. */
static size_t sites_of(const struct uprobe_files *files, const struct targets *targets,
		       bool pausable, struct uprobe_site *ret)
{
	size_t cnt = 0;

	for (size_t i = 0; i < targets->site_cnt; i++) {
		const struct site *site = &targets->sites[i];
		struct bpf_program *prog = uprobe_programs__at(&files->progs, site);

		if (prog && site->pausable == pausable)
			ret[cnt++] = (struct uprobe_site){ prog, site->file_offset, site->mark };
	}
	if (cnt)
		qsort(ret, cnt, sizeof(*ret), by_program);
	return cnt;
}

static int attach_lasting(struct uprobe_files *files, struct probed_file *file,
			  const struct uprobe_site *sites, size_t cnt, int fd)
{
	struct uprobe_links links;
	int err;

	if (!cnt)
		return 0;
	err = uprobe_links__attach(fd, sites, cnt, &links);
	if (err)
		return err;
	files->stats.missed_cnt += links.refused_cnt;
	err = uprobe_table__add_links(&files->table, file, links.links, links.cnt);
	if (err) {
		links__destroy_held(links.links, links.cnt);
		free(links.links);
	}
	return err;
}

/* Attaches a file's pausable probes unless a user of it is busy. 0 or -ENOMEM. */
static int put_marks(struct uprobe_files *files, struct probed_file *file)
{
	int refused = file->busy_cnt ? 0 : uprobe_table__put_marks(&files->table, file);

	if (refused < 0)
		return refused;
	files->stats.missed_cnt += refused;
	return 0;
}

/*
 * Pausable probes of other parts of the file are detached and attached again with these. This is
 * rare: the second library of an APK.
 */
static int attach_marks(struct uprobe_files *files, struct probed_file *file,
			const struct uprobe_site *sites, size_t cnt, int fd)
{
	struct held_link *links;
	size_t link_cnt;
	int err;

	if (!cnt)
		return 0;
	link_cnt = uprobe_table__take_marks(&files->table, file, &links);
	links__destroy_held(links, link_cnt);
	free(links);
	err = uprobe_table__add_marks(&files->table, file, sites, cnt, fd);
	if (err)
		return err;
	files->has_marks = true;
	return put_marks(files, file);
}

static int attach(struct uprobe_files *files, struct probed_file *file,
		  const struct targets *targets, int fd)
{
	struct uprobe_site *sites = calloc(targets->site_cnt + 1, sizeof(*sites));
	int err;

	if (!sites)
		return -ENOMEM;
	err = attach_lasting(files, file, sites, sites_of(files, targets, false, sites), fd);
	if (!err)
		err = attach_marks(files, file, sites, sites_of(files, targets, true, sites), fd);
	free(sites);
	return err;
}

/* Searches the mapped part of the file and attaches uprobes. */
static int add_unit(struct uprobe_files *files, struct probed_file *file,
		    const struct mmaps_map *map, int fd, bool exe)
{
	const struct target_file target = { .path = map->path,
					    .dev = map->dev,
					    .inode = map->inode,
					    .offset = map->file_offset,
					    .is_exe = exe };
	struct targets targets = { 0 };
	int own = dup(fd), err = own < 0 ? -errno : 0;

	if (!err)
		err = targets__search(&targets, &files->wants, &target, own);
	files->stats.searched_cnt++;
	if (!err) {
		const struct probed_unit unit = { targets.libs->base, targets.libs->size };

		err = probed_file__add_unit(file, &unit);
	}
	if (!err && targets.site_cnt)
		err = attach(files, file, &targets, fd);
	targets__free(&targets);
	return err;
}

/* Handles a file, or a part of it, that is not known yet. NULL: not possible. */
static struct probed_file *look_into(struct uprobe_files *files, const struct mmaps_map *map,
				     int fd, bool exe)
{
	struct probed_file *file;
	struct file_key key;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	if (!file_key__of_mapping(map->dev, map->inode, &key) && file_key__of_fd(fd, &key))
		return NULL;
	file = uprobe_table__file(&files->table, &key);
	if (file && probed_file__is_stale(file, &st)) {
		uprobe_table__remove(&files->table, file);
		file = NULL;
	}
	if (!file)
		file = uprobe_table__add(&files->table, &key, &st);
	if (!file)
		return NULL;
	file->checked_ns = clock__mono_ns();
	file->generation = map->generation;
	if (!probed_file__has_unit(file, map->file_offset) && add_unit(files, file, map, fd, exe))
		files->stats.missed_cnt++;
	return file;
}

/* Is it certainly the file that was searched? */
static bool is_sure(const struct probed_file *file, const struct mmaps_map *map)
{
	return probed_file__has_sites(file) || (map->t_ns && map->generation == file->generation &&
						clock__mono_ns() - file->checked_ns < SURE_NS);
}

/* The file, if nothing else needs to be examined. */
static struct probed_file *known(const struct uprobe_files *files, const struct mmaps_map *map)
{
	struct probed_file *file;
	struct file_key key;

	if (!file_key__of_mapping(map->dev, map->inode, &key))
		return NULL;
	file = uprobe_table__file(&files->table, &key);
	if (!file || !is_sure(file, map) || !probed_file__has_unit(file, map->file_offset))
		return NULL;
	return file;
}

static void on_map(void *ctx, const struct mmaps_map *map)
{
	struct uprobe_files *files = ctx;
	struct probed_file *file = known(files, map);
	bool exe;
	int fd;

	if (map->pid == getpid())
		return;
	if (!file) {
		fd = open_mapped(map);
		if (fd < 0) {
			files->stats.missed_cnt++;
			return;
		}
		exe = is_exe(map->pid, fd);
		fd = file_key__below(fd);
		file = look_into(files, map, fd, exe);
		close(fd);
	}
	if (file && probed_file__has_sites(file) &&
	    uprobe_table__use(&files->table, map->pid, file))
		files->stats.missed_cnt++;
}

static void drop(struct uprobe_files *files, pid_t pid)
{
	struct probed_user *user = uprobe_table__user(&files->table, pid);

	if (user)
		uprobe_table__drop_user(&files->table, user, clock__mono_ns());
}

static void on_exec(void *ctx, pid_t pid)
{
	drop(ctx, pid);
}

static void on_fork(void *ctx, pid_t pid, pid_t parent)
{
	struct uprobe_files *files = ctx;

	drop(files, pid); /* an earlier process with the same pid */
	uprobe_table__inherit(&files->table, pid, parent);
}

/* Other threads may still run: the tick checks that. */
static void on_exit_of(void *ctx, pid_t pid, pid_t tid)
{
	struct uprobe_files *files = ctx;
	struct probed_user *user = pid == tid ? uprobe_table__user(&files->table, pid) : NULL;

	if (user)
		user->gone_cnt = 1;
}

static void on_lost(void *ctx, uint64_t cnt)
{
	struct uprobe_files *files = ctx;

	files->stats.lost_cnt += cnt;
	files->scan_due = true;
}

struct mmaps_ops uprobe_files__ops(struct uprobe_files *files)
{
	return (struct mmaps_ops){ .wants = wants_name,
				   .on_map = on_map,
				   .on_exec = on_exec,
				   .on_fork = on_fork,
				   .on_exit = on_exit_of,
				   .on_lost = on_lost,
				   .ctx = files };
}

/*
 * --- pausable probes: detached from a file while one of its processes is too busy for them, since
 * each process that maps the file pays for its uprobes
 */

int uprobe_files__pause(struct uprobe_files *files, pid_t pid, bool pause)
{
	struct busy_process *busy;
	int err = 0;

	pthread_mutex_lock(&files->lock);
	HASH_FIND_INT(files->busy, &pid, busy);
	if (busy && !pause) {
		HASH_DEL(files->busy, busy);
		free(busy);
	} else if (!busy && pause) {
		busy = calloc(1, sizeof(*busy));
		if (busy) {
			busy->pid = pid;
			HASH_ADD_INT(files->busy, pid, busy);
		}
		err = busy ? 0 : -ENOMEM;
	}
	pthread_mutex_unlock(&files->lock);
	if (files->started && pause)
		eventfd_write(files->wake_fd, 1);
	return err;
}

bool uprobe_files__has_marks(const struct uprobe_files *files)
{
	return files->has_marks;
}

void uprobe_files__forget_busy(struct uprobe_files *files)
{
	struct busy_process *busy, *next;

	HASH_ITER (hh, files->busy, busy, next) {
		HASH_DEL(files->busy, busy);
		free(busy);
	}
}

static void count_busy(struct uprobe_files *files)
{
	struct busy_process *busy, *next_busy;
	struct probed_file *file, *next;

	HASH_ITER (hh, files->table.files, file, next)
		file->busy_cnt = 0;
	pthread_mutex_lock(&files->lock);
	HASH_ITER (hh, files->busy, busy, next_busy) {
		const struct probed_user *user = uprobe_table__user(&files->table, busy->pid);

		for (size_t i = 0; user && i < user->file_cnt; i++)
			user->files[i]->busy_cnt++;
	}
	pthread_mutex_unlock(&files->lock);
}

static int append(struct held_link **all, size_t *cnt, struct held_link *links, size_t add)
{
	struct held_link *grown = reallocarray(*all, *cnt + add, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	*all = grown;
	for (size_t i = 0; i < add; i++)
		grown[(*cnt)++] = links[i];
	return 0;
}

/* Detaches all such probes in one batch. */
static void take_off(struct uprobe_files *files)
{
	struct held_link *all = NULL, *links;
	struct probed_file *file, *next;
	size_t cnt = 0, add;

	HASH_ITER (hh, files->table.files, file, next) {
		if (!file->busy_cnt || !file->marks.link_cnt)
			continue;
		add = uprobe_table__take_marks(&files->table, file, &links);
		if (append(&all, &cnt, links, add)) /* out of memory: detach them here */
			links__destroy_held(links, add);
		free(links);
	}
	reaper__take(files->reaper, all, cnt);
}

static void put_on(struct uprobe_files *files)
{
	struct probed_file *file, *next;

	HASH_ITER (hh, files->table.files, file, next)
		if (!file->busy_cnt && file->marks.site_cnt && !file->marks.links &&
		    put_marks(files, file))
			files->stats.missed_cnt++;
}

void uprobe_files__follow_busy(struct uprobe_files *files)
{
	count_busy(files);
	take_off(files);
	put_on(files);
}
