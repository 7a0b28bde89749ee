/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "uprobes/uprobe_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNITS_MAX 256  /* per file */
#define FILES_MAX 1024 /* per process */

struct probed_file *uprobe_table__file(const struct uprobe_table *table, const struct file_key *key)
{
	struct probed_file *file;

	HASH_FIND(hh, table->files, key, sizeof(*key), file);
	return file;
}

/* The table is in the order of insertion. */
static void forget_oldest(struct uprobe_table *table)
{
	struct probed_file *file, *next;

	HASH_ITER (hh, table->files, file, next) {
		if (!probed_file__has_sites(file)) {
			uprobe_table__remove(table, file);
			return;
		}
	}
}

struct probed_file *uprobe_table__add(struct uprobe_table *table, const struct file_key *key,
				      const struct stat *st)
{
	struct probed_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	if (table->plain_cnt >= UPROBE_TABLE_PLAIN_MAX)
		forget_oldest(table);
	file->key = *key;
	file->marks.fd = -1;
	file->mtime = st->st_mtim;
	file->size = st->st_size;
	HASH_ADD(hh, table->files, key, sizeof(file->key), file);
	table->plain_cnt += !!file;
	return file;
}

void uprobe_table__remove(struct uprobe_table *table, struct probed_file *file)
{
	HASH_DEL(table->files, file);
	*(probed_file__has_sites(file) ? &table->probed_cnt : &table->plain_cnt) -= 1;
	table->link_cnt -= file->link_cnt + file->marks.link_cnt;
	if (file->marks.fd >= 0)
		close(file->marks.fd);
	free(file->marks.sites);
	free(file->marks.links);
	free(file->links);
	free(file->units);
	free(file);
}

bool probed_file__has_sites(const struct probed_file *file)
{
	return file->link_cnt || file->marks.site_cnt;
}

bool probed_file__is_stale(const struct probed_file *file, const struct stat *st)
{
	return !probed_file__has_sites(file) &&
	       (file->size != st->st_size || file->mtime.tv_sec != st->st_mtim.tv_sec ||
		file->mtime.tv_nsec != st->st_mtim.tv_nsec);
}

bool probed_file__has_unit(const struct probed_file *file, uint64_t offset)
{
	for (size_t i = 0; i < file->unit_cnt; i++) {
		if (offset >= file->units[i].base &&
		    offset - file->units[i].base < file->units[i].size)
			return true;
	}
	return false;
}

int probed_file__add_unit(struct probed_file *file, const struct probed_unit *unit)
{
	struct probed_unit *units;

	if (file->unit_cnt == UNITS_MAX)
		return -E2BIG;
	units = realloc(file->units, (file->unit_cnt + 1) * sizeof(*units));
	if (!units)
		return -ENOMEM;
	file->units = units;
	units[file->unit_cnt++] = *unit;
	return 0;
}

/* Call before the file gets its first sites. */
static void count_probed(struct uprobe_table *table, const struct probed_file *file)
{
	if (probed_file__has_sites(file))
		return;
	table->plain_cnt--;
	table->probed_cnt++;
}

int uprobe_table__add_links(struct uprobe_table *table, struct probed_file *file,
			    struct held_link *links, size_t cnt)
{
	struct held_link *all;

	if (!cnt) {
		free(links);
		return 0;
	}
	all = realloc(file->links, (file->link_cnt + cnt) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	memcpy(all + file->link_cnt, links, cnt * sizeof(*all));
	free(links);
	count_probed(table, file);
	file->links = all;
	file->link_cnt += cnt;
	table->link_cnt += cnt;
	return 0;
}

int uprobe_table__add_marks(struct uprobe_table *table, struct probed_file *file,
			    const struct uprobe_site *sites, size_t cnt, int fd)
{
	struct probed_marks *marks = &file->marks;
	struct uprobe_site *all;

	if (marks->fd < 0)
		marks->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (marks->fd < 0)
		return -errno;
	all = realloc(marks->sites, (marks->site_cnt + cnt) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	memcpy(all + marks->site_cnt, sites, cnt * sizeof(*all));
	count_probed(table, file);
	marks->sites = all;
	marks->site_cnt += cnt;
	return 0;
}

size_t uprobe_table__take_marks(struct uprobe_table *table, struct probed_file *file,
				struct held_link **ret)
{
	size_t cnt = file->marks.link_cnt;

	*ret = file->marks.links;
	file->marks.links = NULL;
	file->marks.link_cnt = 0;
	table->link_cnt -= cnt;
	return cnt;
}

int uprobe_table__put_marks(struct uprobe_table *table, struct probed_file *file)
{
	struct probed_marks *marks = &file->marks;
	struct uprobe_links links;
	int err = uprobe_links__attach(marks->fd, marks->sites, marks->site_cnt, &links);

	if (err)
		return err;
	marks->links = links.links;
	marks->link_cnt = links.cnt;
	table->link_cnt += links.cnt;
	return links.refused_cnt;
}

struct probed_user *uprobe_table__user(const struct uprobe_table *table, pid_t pid)
{
	struct probed_user *user;

	HASH_FIND_INT(table->users, &pid, user);
	return user;
}

static struct probed_user *user_of(struct uprobe_table *table, pid_t pid)
{
	struct probed_user *user = uprobe_table__user(table, pid);

	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->pid = pid;
	HASH_ADD_INT(table->users, pid, user);
	return user;
}

int uprobe_table__use(struct uprobe_table *table, pid_t pid, struct probed_file *file)
{
	struct probed_user *user = user_of(table, pid);
	struct probed_file **files;

	if (!user)
		return -ENOMEM;
	for (size_t i = 0; i < user->file_cnt; i++) {
		if (user->files[i] == file)
			return 0;
	}
	if (user->file_cnt == FILES_MAX)
		return -E2BIG;
	files = realloc(user->files, (user->file_cnt + 1) * sizeof(struct probed_file *));
	if (!files)
		return -ENOMEM;
	user->files = files;
	files[user->file_cnt++] = file;
	file->user_cnt++;
	return 0;
}

int uprobe_table__inherit(struct uprobe_table *table, pid_t pid, pid_t parent)
{
	struct probed_user *from = uprobe_table__user(table, parent);
	int err = 0;

	for (size_t i = 0; from && i < from->file_cnt && !err; i++)
		err = uprobe_table__use(table, pid, from->files[i]);
	return err;
}

void uprobe_table__drop_user(struct uprobe_table *table, struct probed_user *user, uint64_t now_ns)
{
	for (size_t i = 0; i < user->file_cnt; i++) {
		if (!--user->files[i]->user_cnt)
			user->files[i]->idle_ns = now_ns;
	}
	HASH_DEL(table->users, user);
	free(user->files);
	free(user);
}

static bool is_idle(const struct probed_file *file, uint64_t before_ns)
{
	return probed_file__has_sites(file) && !file->user_cnt && file->idle_ns < before_ns;
}

static size_t copy_links(struct held_link *to, const struct held_link *from, size_t cnt)
{
	if (cnt)
		memcpy(to, from, cnt * sizeof(*to));
	return cnt;
}

size_t uprobe_table__take_idle(struct uprobe_table *table, uint64_t before_ns,
			       struct held_link **ret)
{
	struct probed_file *file, *next;
	struct held_link *links;
	size_t cnt = 0;

	HASH_ITER (hh, table->files, file, next)
		cnt += is_idle(file, before_ns) ? file->link_cnt + file->marks.link_cnt : 0;
	links = calloc(cnt + 1, sizeof(*links));
	if (!links)
		return 0;
	cnt = 0;
	HASH_ITER (hh, table->files, file, next) {
		if (!is_idle(file, before_ns))
			continue;
		cnt += copy_links(links + cnt, file->links, file->link_cnt);
		cnt += copy_links(links + cnt, file->marks.links, file->marks.link_cnt);
		uprobe_table__remove(table, file);
	}
	*ret = links;
	return cnt;
}

void uprobe_table__free(struct uprobe_table *table)
{
	struct probed_file *file, *next_file;
	struct probed_user *user, *next_user;
	struct held_link *links = NULL;
	size_t cnt;

	HASH_ITER (hh, table->users, user, next_user)
		uprobe_table__drop_user(table, user, 0);
	cnt = uprobe_table__take_idle(table, UINT64_MAX, &links);
	links__destroy_held(links, cnt);
	free(links);
	HASH_ITER (hh, table->files, file, next_file)
		uprobe_table__remove(table, file);
}
