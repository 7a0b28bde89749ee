/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes that a loop is seen without are taken off a file while one of its processes is too busy for them: a
 * uprobe is the file's, and each process that maps it pays.
 */
#include <errno.h>
#include <stdlib.h>

#include "uprobes/uprobe_files_parts.h"

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
		err = busy ? 0 : -ENOMEM;
		if (busy) {
			busy->pid = pid;
			HASH_ADD_INT(files->busy, pid, busy);
		}
	}
	pthread_mutex_unlock(&files->lock);
	return err;
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

int uprobe_files__put_marks(struct uprobe_files *files, struct probed_file *file)
{
	int refused = file->busy_cnt ? 0 : uprobe_table__put_marks(&files->table, file);

	if (refused < 0)
		return refused;
	files->stats.missed_cnt += refused;
	return 0;
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

/* All that are to go, in one lot. */
static void take_off(struct uprobe_files *files)
{
	struct held_link *all = NULL, *links;
	struct probed_file *file, *next;
	size_t cnt = 0, add;

	HASH_ITER (hh, files->table.files, file, next) {
		if (!file->busy_cnt || !file->marks.link_cnt)
			continue;
		add = uprobe_table__take_marks(&files->table, file, &links);
		if (append(&all, &cnt, links, add)) /* then at once, and here */
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
		    uprobe_files__put_marks(files, file))
			files->stats.missed_cnt++;
}

void uprobe_files__follow_busy(struct uprobe_files *files)
{
	count_busy(files);
	take_off(files);
	put_on(files);
}
