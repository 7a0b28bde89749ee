/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/record_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/clock.h"
#include "export/record_file.h"
#include "export/record_reader.h"
#include "export/report/report.h"
#include "export/values.h"
#include "files/own_path.h"

#define PART	   (256 << 10) /* bytes of a read */
#define PARSE_PART 16	       /* records between looks at the clock */

uint64_t record_index__hash(const char *text)
{
	return text ? XXH64(text, strlen(text), 0) : 0;
}

enum record_format record_index__format(int file)
{
	return file >= FILE_PROTO_OLD ? RECORD_PROTO : RECORD_JSON;
}

const char *record_index__name(int file)
{
	const struct record_file names = { .format = record_index__format(file) };

	return file % 2 ? record_file__name(&names) : record_file__old_name(&names);
}

void record_index__init(struct record_index *index, const char *path, int dirfd)
{
	*index = (struct record_index){
		.path = path, .dirfd = dirfd, .next_seq = 1, .limit = INDEX_LIMIT
	};
	for (int i = 0; i < FILE_CNT; i++)
		index->files[i].fd = -1;
}

static void file__forget(struct indexed_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->records);
	*file = (struct indexed_file){ .fd = -1 };
}

void record_index__free(struct record_index *index)
{
	for (int i = 0; i < FILE_CNT; i++)
		file__forget(&index->files[i]);
	if (index->dirfd >= 0)
		close(index->dirfd);
	index->dirfd = -1;
}

static void set_damage(struct record_index *index, const char *name, const char *what, uint64_t at)
{
	snprintf(index->damage, sizeof(index->damage), "%s: %s at byte %" PRIu64, name, what, at);
}

/* --- the files of the directory */

static bool is_same(const struct indexed_file *file, const struct stat *st)
{
	return file->fd >= 0 && file->dev == st->st_dev && file->ino == st->st_ino;
}

static bool stat_file(const struct record_index *index, int i, struct stat *st)
{
	return index->dirfd >= 0 &&
	       !fstatat(index->dirfd, record_index__name(i), st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st->st_mode);
}

static bool open_file(struct record_index *index, int i)
{
	struct indexed_file *file = &index->files[i];
	struct stat st;

	file->fd = openat(index->dirfd, record_index__name(i),
			  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file->fd < 0)
		return false;
	if (fstat(file->fd, &st) || !S_ISREG(st.st_mode)) {
		file__forget(file);
		return false;
	}
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->size = (uint64_t)st.st_size;
	return true;
}

/* A rotation gives the newer file the older one's name. */
static bool follow_rotation(struct record_index *index, int old)
{
	struct indexed_file *to = &index->files[old], *from = &index->files[old + 1];
	struct stat st;

	if (!stat_file(index, old, &st) || is_same(to, &st) || !is_same(from, &st))
		return false;
	index->version += !!to->cnt;
	file__forget(to);
	*to = *from;
	*from = (struct indexed_file){ .fd = -1 };
	return true;
}

static bool look_at_file(struct record_index *index, int i)
{
	struct indexed_file *file = &index->files[i];
	struct stat st;
	bool changed = false;

	if (!stat_file(index, i, &st)) {
		changed = file->fd >= 0;
		index->version += !!file->cnt;
		file__forget(file);
		return changed;
	}
	/* A part that we know is gone: the file was cut, or replaced by another one. */
	if (file->fd >= 0 && (!is_same(file, &st) || (uint64_t)st.st_size < file->scanned)) {
		index->version += !!file->cnt;
		file__forget(file);
	}
	if (file->fd < 0)
		return open_file(index, i) || changed;
	changed = file->size != (uint64_t)st.st_size;
	file->torn &= !changed;
	file->size = (uint64_t)st.st_size;
	return changed;
}

static bool is_removed(int dirfd)
{
	struct stat st;

	return fstat(dirfd, &st) || !st.st_nlink;
}

bool record_index__look(struct record_index *index)
{
	bool changed = false;

	if (index->dirfd >= 0 && is_removed(index->dirfd)) {
		close(index->dirfd);
		index->dirfd = -1;
		changed = true;
	}
	if (index->dirfd < 0) {
		index->dirfd = own_path__dir(index->path, 0, NULL);
		if (index->dirfd < 0)
			index->dirfd = -1;
		changed |= index->dirfd >= 0;
	}
	changed |= follow_rotation(index, FILE_JSON_OLD);
	changed |= follow_rotation(index, FILE_PROTO_OLD);
	for (int i = 0; i < FILE_CNT; i++)
		changed |= look_at_file(index, i);
	return changed;
}

/* --- new records of a file */

static int add(struct record_index *index, struct indexed_file *file, uint64_t len)
{
	if (file->cnt == file->cap) {
		size_t cap = file->cap ? 2 * file->cap : 256;
		struct indexed_record *longer = reallocarray(file->records, cap, sizeof(*longer));

		if (!longer)
			return -ENOMEM;
		file->records = longer;
		file->cap = cap;
	}
	file->records[file->cnt++] = (struct indexed_record){ .seq = index->next_seq++,
							      .offset = file->scanned,
							      .len = len };
	file->scanned += len;
	return 0;
}

/* Adds the whole lines of the next part. A line longer than a record is one that cannot be read. */
static int find_lines(struct record_index *index, struct indexed_file *file, char *part)
{
	uint64_t at = file->scanned;
	int res = 0;

	while (!res) {
		ssize_t n = pread(file->fd, part, PART, (off_t)at);
		const char *from = part, *end;

		if (n <= 0)
			return n < 0 ? -EIO : 1;
		while (!res && !record_index__is_full(index) &&
		       (end = memchr(from, '\n', (size_t)(part + n - from)))) {
			from = end + 1;
			res = add(index, file, at + (uint64_t)(from - part) - file->scanned);
		}
		at += (uint64_t)n;
		if (from > part)
			return res;
	}
	return res;
}

static int find_messages(struct record_index *index, struct indexed_file *file, char *part)
{
	ssize_t n = pread(file->fd, part, PART, (off_t)file->scanned);
	size_t at = 0;
	int res = n < 0 ? -EIO : n ? 0 : 1;

	while (!res && at < (size_t)n && !record_index__is_full(index)) {
		uint64_t len;
		int head = stream__length(part + at, (size_t)n - at, &len);

		if (head < 0 || (head && len > STREAM_RECORD_MAX))
			return -EBADMSG;
		if (!head || len + (uint64_t)head > file->size - file->scanned)
			return at ? 0 : 1;
		res = add(index, file, len + (uint64_t)head);
		at += len + (uint64_t)head;
	}
	return res;
}

/* True if there may be more. */
static bool find_records(struct record_index *index, int i, char *part)
{
	struct indexed_file *file = &index->files[i];
	int res;

	if (file->fd < 0 || file->torn || file->scanned >= file->size ||
	    record_index__is_full(index))
		return false;
	res = record_index__format(i) == RECORD_JSON ? find_lines(index, file, part)
						     : find_messages(index, file, part);
	file->unread_cnt = file->cnt;
	if (res == -EBADMSG)
		set_damage(index, record_index__name(i),
			   "no record of jankbpf, nor what follows it,", file->scanned);
	file->torn = !!res;
	return !res;
}

/* --- reading */

static int read_bytes(const struct indexed_file *file, const struct indexed_record *at,
		      struct strbuf *raw)
{
	uint64_t done = 0;

	strbuf__reset(raw);
	while (done < at->len) {
		char part[16384];
		uint64_t left = at->len - done;
		ssize_t n = pread(file->fd, part, left < sizeof(part) ? left : sizeof(part),
				  (off_t)(at->offset + done));

		if (n <= 0)
			return -EIO;
		strbuf__add(raw, part, (size_t)n);
		done += (uint64_t)n;
	}
	return raw->failed ? -ENOMEM : 0;
}

static void identify(struct indexed_record *at, const Jankbpf__Record *record)
{
	const Jankbpf__Block *block = report__block(record);

	at->kind = !block					     ? KIND_OTHER
		   : record->type_case == JANKBPF__RECORD__TYPE_HANG ? KIND_HANG
								     : KIND_BLOCK;
	if (!block)
		return;
	at->id = record_index__hash(block->id);
	at->sig = record_index__hash(
		block->cause && block->cause->signature ? block->cause->signature : "");
	at->end_ns = value__real_ns(block, block->start_ns + block->duration_ns);
	at->delay_ns = value__delay(block);
}

static void set_odd(struct record_index *index, int file, struct indexed_record *at)
{
	if (at->kind == KIND_ODD)
		return;
	at->kind = KIND_ODD;
	index->odd_cnt++;
	set_damage(index, record_index__name(file), "no record of jankbpf", at->offset);
}

int record_index__read(struct record_index *index, int file, struct indexed_record *at,
		       struct strbuf *raw, Jankbpf__Record **ret)
{
	int res = at->kind == KIND_ODD || at->len > STREAM_RECORD_MAX ? -EBADMSG : 0;
	uint64_t unknown_cnt;

	*ret = NULL;
	if (!res)
		res = read_bytes(&index->files[file], at, raw);
	if (!res)
		res = record__parse(record_index__format(file), raw, ret, &unknown_cnt);
	if (!res && (*ret)->type_case == JANKBPF__RECORD__TYPE__NOT_SET)
		res = -EBADMSG;
	if (res == -EBADMSG) {
		if (*ret)
			jankbpf__record__free_unpacked(*ret, NULL);
		*ret = NULL;
		set_odd(index, file, at);
	} else if (!res && at->kind == KIND_UNREAD) {
		identify(at, *ret);
	}
	return res;
}

/* --- the work, in parts */

static bool parse_newest(struct record_index *index, struct strbuf *raw)
{
	for (int i = FILE_CNT - 1; i >= 0; i--) {
		struct indexed_file *file = &index->files[i];
		struct indexed_record *at;
		Jankbpf__Record *record;

		while (file->unread_cnt && file->records[file->unread_cnt - 1].kind != KIND_UNREAD)
			file->unread_cnt--;
		if (!file->unread_cnt)
			continue;
		at = &file->records[--file->unread_cnt];
		if (record_index__read(index, i, at, raw, &record) && at->kind == KIND_UNREAD)
			set_odd(index, i, at);
		if (record)
			jankbpf__record__free_unpacked(record, NULL);
		return true;
	}
	return false;
}

bool record_index__work(struct record_index *index, uint64_t budget_ns)
{
	uint64_t end = clock__mono_ns() + budget_ns;
	struct strbuf raw = STRBUF_INIT;
	char *part = malloc(PART);
	bool more = !!part;

	for (int i = 0; part && i < FILE_CNT; i++)
		while (find_records(index, i, part))
			if (clock__mono_ns() >= end)
				goto out;
	for (unsigned n = 0; more; n++) {
		if (n % PARSE_PART == 0 && clock__mono_ns() >= end)
			break;
		more = parse_newest(index, &raw);
	}
	/* Then there is room for more of the files. */
	if (part && !more && !index->pinned && record_index__is_full(index))
		more = !record_index__leave_out(index);
out:
	strbuf__free(&raw);
	free(part);
	return more;
}
