/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "export/record_file.h"
#include "serve/block_log.h"

#define LOCK_PATIENCE_NS (10 * NS_PER_SEC)
#define COPY_PART	 (1u << 20)
#define LOGS_PART	 16 /* logs between looks at the clock */

void removal__init(struct removal *removal, struct record_index *index, uint64_t seq, bool all)
{
	*removal = (struct removal){ .index = index, .seq = seq, .all = all, .tmp = -1 };
	index->pinned = true;
}

static void tmp_name(char *name, size_t size)
{
	snprintf(name, size, REMOVAL_TMP_PREFIX "%d" REMOVAL_TMP_SUFFIX, (int)getpid());
}

static void drop_tmp(struct removal *r)
{
	char name[48];

	if (r->tmp < 0)
		return;
	close(r->tmp);
	r->tmp = -1;
	tmp_name(name, sizeof(name));
	unlinkat(r->index->dirfd, name, 0);
}

void removal__free(struct removal *r)
{
	drop_tmp(r);
	r->index->pinned = false;
	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; n < r->index->files[i].cnt; n++)
			r->index->files[i].records[n].doomed = false;
	free(r->logs);
}

void removal__clean(int dirfd, const char *name)
{
	size_t prefix = strlen(REMOVAL_TMP_PREFIX);
	pid_t pid;
	char *end;

	if (strncmp(name, REMOVAL_TMP_PREFIX, prefix))
		return;
	pid = (pid_t)strtol(name + prefix, &end, 10);
	if (pid > 0 && !strcmp(end, REMOVAL_TMP_SUFFIX) && kill(pid, 0) && errno == ESRCH)
		unlinkat(dirfd, name, 0);
}

/* --- which records */

static bool is_parsed(const struct record_index *index)
{
	for (int i = 0; i < FILE_CNT; i++)
		if (index->files[i].unread_cnt)
			return false;
	return true;
}

static int add_log(struct removal *r, const struct indexed_record *at)
{
	if (r->log_cnt == r->log_cap) {
		size_t cap = r->log_cap ? 2 * r->log_cap : 64;
		struct removed_log *longer = reallocarray(r->logs, cap, sizeof(*longer));

		if (!longer)
			return -ENOMEM;
		r->logs = longer;
		r->log_cap = cap;
	}
	r->logs[r->log_cnt++] = (struct removed_log){ at->id, at->end_ns };
	return 0;
}

/* Records without an id have only themselves. */
static bool is_wanted(const struct removal *r, const struct indexed_record *at,
		      const struct indexed_record *chosen)
{
	if (r->all)
		return at->seq <= r->seq;
	return at == chosen || (chosen->id && at->id == chosen->id &&
				(at->kind == KIND_BLOCK || at->kind == KIND_HANG));
}

static int mark(struct removal *r)
{
	int file, res = 0;
	const struct indexed_record *chosen = NULL;

	if (!r->all) {
		chosen = record_index__get(r->index, r->seq, &file);
		if (!chosen || (chosen->kind != KIND_BLOCK && chosen->kind != KIND_HANG))
			return -ENOENT;
	}
	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; !res && n < r->index->files[i].cnt; n++) {
			struct indexed_record *at = &r->index->files[i].records[n];

			if (!is_wanted(r, at, chosen))
				continue;
			at->doomed = true;
			if (at->kind == KIND_BLOCK)
				res = add_log(r, at);
		}
	r->marked = true;
	return res;
}

/* --- the copy */

static struct indexed_file *next_file(struct removal *r)
{
	for (int i = 0; r->all && i < FILE_CNT; i++)
		if (r->index->files[i].left_cnt)
			return &r->index->files[i];
	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; n < r->index->files[i].cnt; n++)
			if (r->index->files[i].records[n].doomed)
				return &r->index->files[i];
	return NULL;
}

static int begin_copy(struct removal *r, const struct indexed_file *file)
{
	char name[48];

	tmp_name(name, sizeof(name));
	unlinkat(r->index->dirfd, name, 0); /* of an earlier process with our number */
	r->tmp = openat(r->index->dirfd, name,
			O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (r->tmp < 0)
		return -errno;
	r->dev = file->dev;
	r->ino = file->ino;
	r->upto = file->scanned;
	r->from = r->next = 0;
	if (r->all) {
		r->next = indexed_file__position(file, r->seq + 1);
		r->from = r->next < file->cnt ? file->records[r->next].offset : r->upto;
	}
	r->cut = r->from;
	r->deadline_ns = 0;
	return 0;
}

static int copy_bytes(struct removal *r, int fd, uint64_t end)
{
	char *part = malloc(COPY_PART);
	uint64_t left = end - r->from;
	ssize_t n;
	int res;

	if (!part)
		return -ENOMEM;
	n = pread(fd, part, left < COPY_PART ? left : COPY_PART, (off_t)r->from);
	res = n > 0 ? output__write(r->tmp, part, (size_t)n) : n ? -errno : -EIO;
	if (!res)
		r->from += (uint64_t)n;
	free(part);
	return res;
}

/* 1: all is copied. */
static int copy_part(struct removal *r, const struct indexed_file *file)
{
	const struct indexed_record *at;

	while (r->next < file->cnt && !file->records[r->next].doomed)
		r->next++;
	at = r->next < file->cnt ? &file->records[r->next] : NULL;
	if (r->from < (at ? at->offset : r->upto))
		return copy_bytes(r, file->fd, at ? at->offset : r->upto);
	if (!at)
		return fsync(r->tmp) && errno != EINVAL ? -errno : 1;
	r->from = at->offset + at->len;
	r->next++;
	return 0;
}

/* --- the exchange, under the lock of the records */

/* Moves the kept records to their new places. Returns the number of the others. */
static uint64_t compact(struct indexed_file *file, uint64_t cut)
{
	uint64_t gone = cut, left = 0;
	size_t kept = 0, unread = 0, cnt = file->cnt;

	for (size_t i = 0; i < cnt; i++) {
		struct indexed_record at = file->records[i];

		if (at.doomed) {
			gone += cut ? 0 : at.len;
			continue;
		}
		at.offset -= gone;
		file->records[kept++] = at;
		if (at.kind == KIND_UNREAD)
			unread = kept;
	}
	file->cnt = kept;
	file->unread_cnt = unread;
	file->scanned -= gone;
	if (cut) {
		left = file->left_cnt;
		file->left_cnt = file->left_blocks = 0;
	}
	return cnt - kept + left;
}

/* Another process may have taken the name for its own file. */
static bool is_named(const struct removal *r, const char *name, const struct stat *st)
{
	struct stat named;

	return !fstatat(r->index->dirfd, name, &named, AT_SYMLINK_NOFOLLOW) &&
	       named.st_dev == st->st_dev && named.st_ino == st->st_ino;
}

static int copy_rest(struct removal *r, const struct indexed_file *file)
{
	struct stat st;
	int res = 0;

	if (fstat(file->fd, &st))
		return -errno;
	while (!res && r->from < (uint64_t)st.st_size)
		res = copy_bytes(r, file->fd, (uint64_t)st.st_size);
	return res ? res : fsync(r->tmp) && errno != EINVAL ? -errno : 0;
}

static int exchange(struct removal *r, int i)
{
	struct indexed_file *file = &r->index->files[i];
	char name[48];
	struct stat st;
	int res = copy_rest(r, file);

	tmp_name(name, sizeof(name));
	if (!res && fstat(r->tmp, &st))
		res = -errno;
	if (!res && !is_named(r, name, &st))
		res = -EBUSY;
	if (!res && renameat(r->index->dirfd, name, r->index->dirfd, record_index__name(i)))
		res = -errno;
	if (res)
		return res;
	r->record_cnt += compact(file, r->cut);
	close(file->fd);
	file->fd = r->tmp;
	r->tmp = -1;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->size = (uint64_t)st.st_size;
	r->index->version++;
	return 0;
}

static int find_copied(const struct removal *r)
{
	for (int i = 0; i < FILE_CNT; i++)
		if (r->index->files[i].fd >= 0 && r->index->files[i].dev == r->dev &&
		    r->index->files[i].ino == r->ino)
			return i;
	return -1;
}

/* 0: the lock is not free yet. A file that was rotated out meanwhile is gone already. */
static int commit(struct removal *r, int i)
{
	struct record_file lock = { .dirfd = r->index->dirfd,
				    .fd = -1,
				    .format = record_index__format(i),
				    .no_wait = true };
	uint64_t now = clock__mono_ns();
	int res = record_file__lock(&lock);

	if (!r->deadline_ns)
		r->deadline_ns = now + LOCK_PATIENCE_NS;
	if (res == -EAGAIN) {
		record_file__close(&lock);
		return now < r->deadline_ns ? 0 : -EBUSY;
	}
	if (res)
		return res;
	record_index__look(r->index);
	i = find_copied(r);
	if (i >= 0 && r->from <= r->index->files[i].size)
		res = exchange(r, i);
	drop_tmp(r);
	record_file__close(&lock);
	return res ? res : 1;
}

/* --- the logs */

static void remove_log(struct removal *r, const struct removed_log *log)
{
	struct strbuf name = STRBUF_INIT;

	if (block_log__find(r->index->dirfd, log->end_ns, log->id, &name))
		r->log_removed_cnt += !unlinkat(r->index->dirfd, strbuf__str(&name), 0);
	strbuf__free(&name);
}

static int remove_logs(struct removal *r)
{
	for (unsigned i = 0; i < LOGS_PART && r->log_next < r->log_cnt; i++)
		remove_log(r, &r->logs[r->log_next++]);
	return r->log_next == r->log_cnt;
}

/* --- */

static int work_part(struct removal *r)
{
	struct indexed_file *file;
	int i, res;

	if (r->index->dirfd < 0)
		return -ENOENT;
	if (!r->marked)
		return is_parsed(r->index) ? mark(r) : 0;
	if (r->tmp < 0) {
		file = next_file(r);
		return file ? begin_copy(r, file) : remove_logs(r);
	}
	i = find_copied(r);
	if (i < 0) { /* rotated out, or the directory was removed */
		drop_tmp(r);
		return 0;
	}
	res = copy_part(r, &r->index->files[i]);
	if (res != 1)
		return res;
	res = commit(r, i);
	return res < 0 ? res : 0;
}

int removal__work(struct removal *r, uint64_t budget_ns)
{
	uint64_t end = clock__mono_ns() + budget_ns;
	int res;

	do {
		res = work_part(r);
		if (r->deadline_ns && r->tmp >= 0)
			break; /* the lock: let others run first */
		if (!r->marked)
			break;
	} while (!res && clock__mono_ns() < end);
	return res;
}
