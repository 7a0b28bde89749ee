/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "export/record_file.h"
#include "export/sink.h"
#include "serve/record_index.h"

#define FILE_MAX      (4u << 20) /* bytes; all marks need less */
#define SAVE_AFTER_NS (NS_PER_SEC / 2)
#define READ_WORD     "read "
#define MUTED_WORD    "muted "

struct read_mark {
	uint64_t id;
	UT_hash_handle hh;
};

struct mute {
	uint64_t sig; /* the key */
	char signature[SIGNATURE_MAX + 1];
	UT_hash_handle hh;
};

static struct read_mark *find_read(const struct marks *marks, uint64_t id)
{
	struct read_mark *mark;

	HASH_FIND(hh, marks->read, &id, sizeof(id), mark);
	return mark;
}

static struct mute *find_mute(const struct marks *marks, uint64_t sig)
{
	struct mute *mute;

	HASH_FIND(hh, marks->muted, &sig, sizeof(sig), mute);
	return mute;
}

bool marks__is_read(const struct marks *marks, uint64_t id)
{
	return find_read(marks, id);
}

bool marks__is_muted(const struct marks *marks, uint64_t sig)
{
	return find_mute(marks, sig);
}

static void touch(struct marks *marks)
{
	marks->changed = true;
	if (!marks->due_ns)
		marks->due_ns = clock__mono_ns() + SAVE_AFTER_NS;
}

static void drop_read(struct marks *marks, struct read_mark *mark)
{
	HASH_DEL(marks->read, mark);
	free(mark);
}

int marks__set_read(struct marks *marks, uint64_t id)
{
	struct read_mark *mark;

	if (find_read(marks, id))
		return 0;
	if (HASH_COUNT(marks->read) >= MARKS_READ_MAX)
		drop_read(marks, marks->read);
	mark = calloc(1, sizeof(*mark));
	if (!mark)
		return -ENOMEM;
	mark->id = id;
	HASH_ADD(hh, marks->read, id, sizeof(mark->id), mark);
	if (!mark)
		return -ENOMEM;
	touch(marks);
	return 0;
}

bool marks__is_signature(const char *text)
{
	size_t len = strlen(text);

	return len && len <= SIGNATURE_MAX && strspn(text, "0123456789abcdef") == len;
}

int marks__mute(struct marks *marks, const char *signature, bool on)
{
	struct mute *mute = find_mute(marks, record_index__hash(signature));

	if (!marks__is_signature(signature))
		return -EINVAL;
	if (!!mute == on)
		return 0;
	if (!on) {
		HASH_DEL(marks->muted, mute);
		free(mute);
		touch(marks);
		return 0;
	}
	if (HASH_COUNT(marks->muted) >= MARKS_MUTE_MAX)
		return -ENOSPC;
	mute = calloc(1, sizeof(*mute));
	if (!mute)
		return -ENOMEM;
	mute->sig = record_index__hash(signature);
	memcpy(mute->signature, signature, strlen(signature) + 1);
	HASH_ADD(hh, marks->muted, sig, sizeof(mute->sig), mute);
	if (!mute)
		return -ENOMEM;
	touch(marks);
	return 0;
}

void marks__each_muted(const struct marks *marks, void (*fn)(void *ctx, const char *signature),
		       void *ctx)
{
	for (struct mute *mute = marks->muted; mute; mute = mute->hh.next)
		fn(ctx, mute->signature);
}

void marks__prune(struct marks *marks, bool (*is_known)(void *ctx, uint64_t id), void *ctx)
{
	struct read_mark *mark, *next;

	HASH_ITER (hh, marks->read, mark, next)
		if (!is_known(ctx, mark->id))
			drop_read(marks, mark);
}

static bool is_none(void *ctx, uint64_t id)
{
	return false;
}

void marks__free(struct marks *marks)
{
	struct mute *mute, *next;

	marks__prune(marks, is_none, NULL);
	HASH_ITER (hh, marks->muted, mute, next) {
		HASH_DEL(marks->muted, mute);
		free(mute);
	}
}

/* --- the file */

static int take_line(struct marks *marks, const char *line)
{
	uint64_t id;
	char *end;

	if (!strncmp(line, MUTED_WORD, strlen(MUTED_WORD)))
		return marks__mute(marks, line + strlen(MUTED_WORD), true) == -ENOMEM ? -ENOMEM : 0;
	if (strncmp(line, READ_WORD, strlen(READ_WORD)))
		return 0;
	line += strlen(READ_WORD);
	if (strlen(line) != 16 || strspn(line, "0123456789abcdef") != 16)
		return 0;
	id = strtoull(line, &end, 16);
	return marks__set_read(marks, id);
}

static int take_text(struct marks *marks, char *text)
{
	char *line;
	int res = 0;

	while (!res && (line = strsep(&text, "\n")))
		res = take_line(marks, line);
	return res;
}

int marks__load(struct marks *marks, int dirfd)
{
	int fd = openat(dirfd, MARKS_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), res = 0;
	struct stat st;
	ssize_t n = -1;
	char *text;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX) {
		close(fd);
		return -EFBIG;
	}
	text = malloc((size_t)st.st_size + 1);
	if (text)
		n = pread(fd, text, (size_t)st.st_size, 0);
	if (!text || n < 0)
		res = text ? -errno : -ENOMEM;
	close(fd);
	if (!res) {
		text[n] = '\0';
		res = take_text(marks, text);
	}
	free(text);
	marks->changed = false;
	marks->due_ns = 0;
	return res;
}

static void add_muted(void *ctx, const char *signature)
{
	strbuf__addf(ctx, MUTED_WORD "%s\n", signature);
}

static int replace(int dirfd, const struct strbuf *text)
{
	static const char tmp[] = "." MARKS_NAME ".tmp";
	int fd, res;

	unlinkat(dirfd, tmp, 0);
	fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	res = output__write(fd, text->data, text->len);
	if (close(fd) && !res)
		res = -errno;
	if (!res && renameat(dirfd, tmp, dirfd, MARKS_NAME))
		res = -errno;
	if (res)
		unlinkat(dirfd, tmp, 0);
	return res;
}

int marks__save(struct marks *marks, int dirfd)
{
	struct strbuf text = STRBUF_INIT;

	marks->due_ns = 0;
	if (!marks->changed)
		return 0;
	strbuf__adds(&text, "# jankbpf serve: blocks that were read, and muted faults\n");
	marks__each_muted(marks, add_muted, &text);
	for (struct read_mark *mark = marks->read; mark; mark = mark->hh.next)
		strbuf__addf(&text, READ_WORD "%016" PRIx64 "\n", mark->id);
	marks->save_error = dirfd < 0 ? -ENOENT : text.failed ? -ENOMEM : replace(dirfd, &text);
	marks->changed = marks->save_error;
	strbuf__free(&text);
	return marks->save_error;
}
