/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records as a stream of lines or messages: made and read. A record is written to its descriptor
 * completely or not at all, also if the process is killed.
 */
#include "export/arena.h"
#include "export/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/json/json.h"

static void add_length(struct strbuf *sb, size_t len)
{
	while (len >= 0x80) {
		strbuf__addc(sb, (char)(len | 0x80));
		len >>= 7;
	}
	strbuf__addc(sb, (char)len);
}

int stream__pack(struct strbuf *sb, const Jankbpf__Record *record)
{
	strbuf__add_message(sb, &record->base);
	return sb->failed ? -ENOMEM : 0;
}

int stream__add(struct strbuf *sb, enum record_format format, const Jankbpf__Record *record)
{
	if (format == RECORD_JSON) {
		json__add_record(sb, record);
		strbuf__addc(sb, '\n');
	} else {
		add_length(sb, jankbpf__record__get_packed_size(record));
		stream__pack(sb, record);
	}
	return sb->failed ? -ENOMEM : 0;
}

int stream__length(const void *data, size_t len, uint64_t *ret)
{
	const uint8_t *bytes = data;

	*ret = 0;
	for (size_t i = 0; i < len && i < STREAM_VARINT_MAX; i++) {
		*ret |= (uint64_t)(bytes[i] & 0x7f) << 7 * i;
		if (!(bytes[i] & 0x80))
			return (int)i + 1;
	}
	return len < STREAM_VARINT_MAX ? 0 : -EBADMSG;
}

int stream__read(FILE *file, struct strbuf *ret, size_t *ret_head)
{
	char head[STREAM_VARINT_MAX];
	uint64_t len;
	int head_len = 0, c;

	strbuf__reset(ret);
	for (size_t n = 0; head_len == 0 && (c = getc(file)) != EOF;) {
		head[n++] = (char)c;
		head_len = stream__length(head, n, &len);
	}
	if (head_len == 0)
		return 0;
	if (head_len < 0 || len > STREAM_RECORD_MAX)
		return -EBADMSG;
	*ret_head = (size_t)head_len;
	strbuf__add(ret, head, (size_t)head_len);
	for (char chunk[4096]; len;) {
		size_t n = fread(chunk, 1, len < sizeof(chunk) ? len : sizeof(chunk), file);

		if (!n)
			return -EBADMSG;
		strbuf__add(ret, chunk, n);
		len -= n;
	}
	return ret->failed ? -ENOMEM : 1;
}

int stream__read_line(FILE *file, struct strbuf *ret)
{
	char chunk[4096]; /* its size divides STREAM_RECORD_MAX */
	size_t n = 0;
	int c = 0;

	strbuf__reset(ret);
	while (c != '\n' && ret->len < STREAM_RECORD_MAX && (c = getc_unlocked(file)) != EOF) {
		chunk[n++] = (char)c;
		if (n == sizeof(chunk)) {
			strbuf__add(ret, chunk, n);
			n = 0;
		}
	}
	strbuf__add(ret, chunk, n);
	if (ret->failed)
		return -ENOMEM;
	if (c == '\n' || c == EOF)
		return ret->len > 0;
	return -EFBIG;
}

/* A message begins with its length and the tag of field 1, the schema; JSON begins with a brace. */
bool stream__is_binary(FILE *file)
{
	int first = getc(file), second = first == EOF ? EOF : getc(file);

	if (second != EOF)
		ungetc(second, file);
	if (first != EOF)
		ungetc(first, file);
	return first != EOF && (first & 0x80 || second == 0x0a) && first != '\n';
}

/*
 * --- output: each record is one write(), so that two appending writers do not mix theirs, and a
 * full disk leaves no torn line
 */

static ssize_t write_retry(int fd, const void *data, size_t len)
{
	ssize_t n;

	do {
		n = write(fd, data, len);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Removes the n bytes written last, if they are still the end of the file. */
static void take_back(int fd, ssize_t n)
{
	off_t pos = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	if (n <= 0 || pos < n || fstat(fd, &st) || st.st_size != pos)
		return;
	if (!ftruncate(fd, pos - n))
		lseek(fd, pos - n, SEEK_SET);
}

/* After a short write, writing the rest returns the actual error. */
static int write_to_file(int fd, const char *data, size_t len)
{
	ssize_t n = write_retry(fd, data, len), rest;

	if (n < 0)
		return (int)n;
	if ((size_t)n == len)
		return 0;
	rest = write_retry(fd, data + n, len - n);
	if (rest == (ssize_t)len - n)
		return 0;
	take_back(fd, n + (rest > 0 ? rest : 0));
	return rest < 0 ? (int)rest : -ENOSPC;
}

static int write_to_stream(int fd, const char *data, size_t len)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	while (len) {
		ssize_t n = write_retry(fd, data, len);

		if (n == -EAGAIN) {
			if (poll(&pfd, 1, -1) < 0 && errno != EINTR)
				return -errno;
			continue;
		}
		if (n < 0)
			return (int)n;
		data += n;
		len -= n;
	}
	return 0;
}

int output__write(int fd, const void *data, size_t len)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? write_to_file(fd, data, len) : write_to_stream(fd, data, len);
}

/*
 * --- progress of a sink, kept in shared memory by a process that may be killed at any instruction.
 * So each step is stored before or after the system call that it describes, in this order.
 */

/* The compiler must not move or merge these stores. */
static void store(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
}

bool sink_progress__begin(struct sink_progress *progress, uint64_t nr)
{
	if (!progress)
		return true;
	if (progress->done == nr)
		return false;
	if (progress->begun != nr) {
		store(&progress->base, 0);
		store(&progress->sent, 0);
		store(&progress->begun, nr);
	}
	return true;
}

void sink_progress__end(struct sink_progress *progress, uint64_t nr, int result)
{
	if (!progress)
		return;
	progress->result = result;
	store(&progress->done, nr);
}

void sink__add_dropped(struct sink *sink, uint64_t cnt)
{
	uint64_t *to = sink->progress ? &sink->progress->dropped : &sink->dropped;

	store(to, *to + cnt);
}

uint64_t sink__dropped(const struct sink *sink)
{
	return sink->progress ? sink->progress->dropped : sink->dropped;
}

/* Where the next write to a regular file begins. */
static uint64_t position(int fd, const struct stat *st)
{
	int flags = fcntl(fd, F_GETFL);
	off_t pos = lseek(fd, 0, SEEK_CUR);

	if (flags >= 0 && flags & O_APPEND)
		return (uint64_t)st->st_size;
	return pos < 0 ? 0 : (uint64_t)pos;
}

/*
 * The position belongs to the open file, which outlives the process: what it moved, was written. A
 * part of a record is removed, if it is still the end of the file.
 */
static int write_file(struct sink_progress *progress, int fd, const void *data, size_t len,
		      const struct stat *st)
{
	if (progress->base) {
		uint64_t base = progress->base - 1;
		off_t pos = lseek(fd, 0, SEEK_CUR);
		uint64_t moved = pos > 0 && (uint64_t)pos > base ? (uint64_t)pos - base : 0;

		if (moved >= len)
			return 0;
		if (moved && st->st_size == pos && !ftruncate(fd, (off_t)base))
			lseek(fd, (off_t)base, SEEK_SET);
	} else {
		store(&progress->base, position(fd, st) + 1);
	}
	return output__write(fd, data, len);
}

/*
 * A write of at most PIPE_BUF bytes to a pipe is complete or not done at all, so a process that is
 * killed while it waits for the reader leaves no uncounted bytes.
 */
static int write_stream(struct sink_progress *progress, int fd, const char *data, size_t len)
{
	while (progress->sent < len) {
		size_t left = len - progress->sent, part = left < PIPE_BUF ? left : PIPE_BUF;
		int res = output__write(fd, data + progress->sent, part);

		if (res)
			return res;
		store(&progress->sent, progress->sent + part);
	}
	return 0;
}

int sink_progress__write(struct sink_progress *progress, int fd, const void *data, size_t len)
{
	struct stat st;

	if (!progress)
		return output__write(fd, data, len);
	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? write_file(progress, fd, data, len, &st)
				   : write_stream(progress, fd, data, len);
}

/* --- the sink */

struct sink_stream {
	struct sink sink;
	int fd;
	enum record_format format;
	struct strbuf bytes; /* of the last record */
};

static int sink_stream__record(struct sink *sink, const Jankbpf__Record *record)
{
	struct sink_stream *s = (struct sink_stream *)sink;
	int res;

	strbuf__reset(&s->bytes);
	res = stream__add(&s->bytes, s->format, record);
	return res ? res : sink_progress__write(sink->progress, s->fd, s->bytes.data, s->bytes.len);
}

static void sink_stream__free(struct sink *sink)
{
	struct sink_stream *s = (struct sink_stream *)sink;

	strbuf__free(&s->bytes);
	free(s);
}

static const struct sink_ops stream_ops = {
	.name = "stdout",
	.record = sink_stream__record,
	.free = sink_stream__free,
};

struct sink *sink_stream__new(int fd, enum record_format format)
{
	struct sink_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->sink.ops = &stream_ops;
	s->fd = fd;
	s->format = format;
	return &s->sink;
}
