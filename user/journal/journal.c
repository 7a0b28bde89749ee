/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer collects records and writes whole ones; on failure it cuts off the part that was
 * written.
 */
#include "journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "export/arena.h"
#include "files/file.h"
#include "files/own_path.h"

#define FLUSH_AT   (256 * 1024)
#define RECORD_MAX (1 << 20)

struct header {
	char magic[8];
	uint32_t abi;
	uint32_t size; /* of this header */
};

struct journal_writer {
	int fd;
	off_t written; /* whole records only */
	struct strbuf pending;
	size_t head_sz; /* pending starts with the header and session until a flush succeeds */
};

/*
 * Another user may have put a file in this place, to read the journal or to have a file of ours
 * overwritten.
 */
static int check_old(const char *path, const struct stat *st, struct err *err)
{
	if (!S_ISREG(st->st_mode))
		return err__set(err, EINVAL, "the journal '%s' is not a regular file", path);
	if (st->st_uid && st->st_uid != geteuid())
		return err__set(err, EPERM,
				"the journal '%s' exists and belongs to user id %u: remove it, or "
				"choose another name",
				path, st->st_uid);
	if (st->st_nlink != 1)
		return err__set(err, EPERM,
				"the journal '%s' exists and has other names (hard links): remove "
				"it, or choose another name",
				path);
	return 0;
}

/* Takes an existing file. Without O_CREAT, which fs.protected_regular refuses without a reason. */
static int reuse(int dirfd, const char *name, const char *path, struct err *err)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	int res;

	if (fd < 0 && errno == ELOOP)
		return err__set(err, ELOOP,
				"the journal '%s' is a symbolic link: name its target instead",
				path);
	if (fd < 0 && errno == EACCES)
		return err__set(err, EACCES,
				"the journal '%s' exists and is another user's: remove it, or "
				"choose another name",
				path);
	if (fd < 0)
		return err__set(err, errno, "cannot open the journal '%s': %s", path,
				strerror(errno));
	res = fstat(fd, &st) ? -errno : check_old(path, &st, err);
	if (!res && (fchmod(fd, 0600) || ftruncate(fd, 0)))
		res = err__set(err, errno, "cannot empty the journal '%s': %s", path,
			       strerror(errno));
	if (!res)
		return fd;
	close(fd);
	return res;
}

int journal__create(const char *path, struct err *err)
{
	const char *name;
	int dirfd = own_path__parent(path, &name, err), fd, code;

	if (dirfd < 0)
		return dirfd;
	fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	code = fd < 0 ? errno : 0;
	if (code == EEXIST)
		fd = reuse(dirfd, name, path, err);
	else if (code)
		fd = err__set(err, code, "cannot create the journal '%s': %s", path,
			      strerror(code));
	close(dirfd);
	return fd;
}

int journal_writer__new(int fd, struct journal_writer **ret, struct err *err)
{
	const struct header header = { JOURNAL_MAGIC, JANK_ABI_VERSION, sizeof(header) };
	struct journal_writer *jw = calloc(1, sizeof(*jw));

	if (jw)
		strbuf__add(&jw->pending, &header, sizeof(header));
	if (!jw || jw->pending.failed) {
		close(fd);
		if (jw)
			strbuf__free(&jw->pending);
		free(jw);
		return err__set(err, ENOMEM, "the journal: out of memory");
	}
	jw->fd = fd;
	jw->head_sz = jw->pending.len;
	*ret = jw;
	return 0;
}

/* Drops records that could not be written, except the head: without it the rest is unreadable. */
static void drop_pending(struct journal_writer *jw)
{
	jw->pending.len = jw->written ? 0 : jw->head_sz;
	jw->pending.failed = false;
}

int journal_writer__flush(struct journal_writer *jw)
{
	int res;

	if (jw->pending.failed)
		res = -ENOMEM;
	else
		res = file__write_all(jw->fd, strbuf__str(&jw->pending), jw->pending.len);
	if (!res) {
		jw->written += jw->pending.len;
	} else if (ftruncate(jw->fd, jw->written) || lseek(jw->fd, jw->written, SEEK_SET) < 0) {
		res = -errno;
	}
	drop_pending(jw);
	return res;
}

int journal_writer__raw(struct journal_writer *jw, const void *records, size_t len)
{
	strbuf__add(&jw->pending, records, len);
	return jw->pending.len >= FLUSH_AT ? journal_writer__flush(jw) : 0;
}

/* The header's flags hold the number of padding bytes. */
int journal_writer__message(struct journal_writer *jw, enum journal_kind kind,
			    const ProtobufCMessage *message)
{
	static const char zeros[8];
	size_t len = protobuf_c_message_get_packed_size(message), pad = -len % 8;
	struct jank_rec hdr = {
		.size = sizeof(hdr) + len + pad,
		.kind = kind,
		.flags = pad,
		.ts_ns = clock__mono_ns(),
	};

	if (len > RECORD_MAX - sizeof(hdr) - pad)
		return -EMSGSIZE;
	strbuf__add(&jw->pending, &hdr, sizeof(hdr));
	strbuf__add_message(&jw->pending, message);
	strbuf__add(&jw->pending, zeros, pad);
	if (kind == JOURNAL_SESSION && !jw->written && !jw->pending.failed)
		jw->head_sz = jw->pending.len;
	return jw->pending.len >= FLUSH_AT ? journal_writer__flush(jw) : 0;
}

void journal_writer__free(struct journal_writer *jw)
{
	if (!jw)
		return;
	journal_writer__flush(jw);
	close(jw->fd);
	strbuf__free(&jw->pending);
	free(jw);
}

struct journal_reader {
	int fd;
	char *buf;	   /* RECORD_MAX bytes */
	size_t begin, end; /* range of buffered bytes */
};

static int fill(struct journal_reader *jr, size_t want)
{
	memmove(jr->buf, jr->buf + jr->begin, jr->end - jr->begin);
	jr->end -= jr->begin;
	jr->begin = 0;
	while (jr->end < want) {
		ssize_t len = read(jr->fd, jr->buf + jr->end, RECORD_MAX - jr->end);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return -errno;
		if (!len)
			return 0;
		jr->end += len;
	}
	return 0;
}

/*
 * Makes at least `want` bytes available. 1; 0 at the end of the file with nothing left; else
 * -EBADMSG.
 */
static int need(struct journal_reader *jr, size_t want)
{
	int res = 0;

	if (jr->end - jr->begin < want)
		res = fill(jr, want);
	if (res)
		return res;
	if (jr->end - jr->begin >= want)
		return 1;
	return jr->end == jr->begin ? 0 : -EBADMSG;
}

int journal_reader__rewind(struct journal_reader *jr)
{
	if (lseek(jr->fd, sizeof(struct header), SEEK_SET) < 0)
		return -errno;
	jr->begin = jr->end = 0;
	return 0;
}

static int check_header(struct journal_reader *jr, const char *path, struct err *err)
{
	struct header header;

	if (need(jr, sizeof(header)) <= 0)
		return err__set(err, EINVAL, "'%s' is no journal of jankbpf: too short", path);
	memcpy(&header, jr->buf, sizeof(header));
	if (memcmp(header.magic, JOURNAL_MAGIC, sizeof(header.magic)))
		return err__set(err, EINVAL, "'%s' is no journal of jankbpf", path);
	if (header.abi != JANK_ABI_VERSION || header.size != sizeof(header))
		return err__set(err, EINVAL,
				"the journal '%s' has version %u, this program reads version %d: "
				"replay it with the jankbpf that wrote it",
				path, header.abi, JANK_ABI_VERSION);
	return journal_reader__rewind(jr);
}

int journal_reader__new(const char *path, struct journal_reader **ret, struct err *err)
{
	struct journal_reader *jr = calloc(1, sizeof(*jr));
	struct stat st;
	int res;

	if (!jr)
		return err__set(err, ENOMEM, "journal '%s': out of memory", path);
	jr->buf = malloc(RECORD_MAX);
	jr->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (jr->fd < 0 || !jr->buf || fstat(jr->fd, &st))
		res = err__set(err, errno, "cannot open the journal '%s': %s", path,
			       strerror(errno));
	else if (!S_ISREG(st.st_mode))
		res = err__set(err, EINVAL, "the journal '%s' is not a regular file", path);
	else
		res = check_header(jr, path, err);
	if (res) {
		journal_reader__free(jr);
		return res;
	}
	*ret = jr;
	return 0;
}

int journal_reader__next(struct journal_reader *jr, const struct jank_rec **ret)
{
	struct jank_rec hdr;
	int res = need(jr, sizeof(hdr));

	if (res <= 0)
		return res;
	memcpy(&hdr, jr->buf + jr->begin, sizeof(hdr));
	if (hdr.size < sizeof(hdr) || hdr.size % 8 || hdr.size > RECORD_MAX)
		return -EBADMSG;
	res = need(jr, hdr.size);
	if (res <= 0)
		return res ? res : -EBADMSG;
	*ret = (const struct jank_rec *)(const void *)(jr->buf + jr->begin);
	jr->begin += hdr.size;
	return 1;
}

ProtobufCMessage *journal__message(const struct jank_rec *rec,
				   const ProtobufCMessageDescriptor *descriptor)
{
	if (rec->kind < JOURNAL_FIRST || rec->size < sizeof(*rec) + rec->flags)
		return NULL;
	return protobuf_c_message_unpack(descriptor, NULL, rec->size - sizeof(*rec) - rec->flags,
					 (const uint8_t *)(rec + 1));
}

void journal_reader__free(struct journal_reader *jr)
{
	if (!jr)
		return;
	if (jr->fd >= 0)
		close(jr->fd);
	free(jr->buf);
	free(jr);
}
