/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer: one process at a time, by write.lock. */
#include "export/spool/spool_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/file.h"
#include "files/own_path.h"

#define RAW_CLOSE   (2u << 20) /* closes the batch: each is an insert for each table */
#define RAW_KEPT    (4u << 20) /* while the disk is full; then records are refused */
#define SEGMENT_MAX (16u << 20)
#define SEGMENTS    8 /* at least so many in a full spool */

#define LOCK "write.lock"

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* --- start */

struct last {
	uint64_t end; /* of whole batches; without any: of the head; 0: that is not whole either */
	bool is_damaged; /* before the end */
};

/* Of the last segment; sets the number of the next batch. 0 or -errno. */
static int scan_last(struct spool_writer *w, uint64_t segment, struct last *ret, struct err *err)
{
	struct spool_reader reader;
	struct spool_batch batch;
	int res;

	*ret = (struct last){};
	spool_reader__begin(&reader, w->dirfd, segment - 1);
	reader.what = SPOOL_CHECKED;
	reader.is_whole = true;
	while ((res = spool_reader__next(&reader, &batch, err)) > 0) {
		ret->end = reader.at;
		ret->is_damaged = reader.broken_cnt;
		w->next_nr = batch.head.nr + 1;
	}
	if (!ret->end && reader.fd >= 0)
		ret->end = reader.first_at;
	/* The last batch is damaged: its records are lost, unless they are in the tail, too. */
	if (!res && reader.fd >= 0 && reader.after >= w->next_nr && reader.after >= segment &&
	    spool_tail__nr(w) != reader.after) {
		ret->end = reader.at;
		ret->is_damaged = true;
		w->next_nr = reader.after + 1;
	}
	spool_reader__end(&reader);
	return res;
}

/* at: of a batch in the segment. 0 or -errno. */
static int write_magic(const struct spool_writer *w, const char *magic, uint64_t at)
{
	ssize_t n = pwrite(w->segment_fd, magic, SPOOL_MAGIC_SZ, (off_t)at);

	return n == SPOOL_MAGIC_SZ ? 0 : n < 0 ? -errno : -EIO;
}

/*
 * A batch that was on the disk as a whole when the process ended, but for its magic: it gets that,
 * so that it is the same batch if it is seen again after another crash. 0 or -errno.
 */
static int complete_last(struct spool_writer *w, uint64_t *end)
{
	size_t size = sizeof(struct spool_batch_head) + SPOOL_RAW_MAX;
	struct spool_batch_head head;
	char *data = malloc(size);
	ssize_t n = data ? file__pread(w->segment_fd, data, size, *end) : -ENOMEM;
	int res = n < 0 ? (int)n : 0;

	if (!res && spool__complete_batch(data, (size_t)n, &head) && head.nr >= w->next_nr) {
		res = write_magic(w, data, *end);
		if (!res && fdatasync(w->segment_fd))
			res = -errno;
		*end += (uint64_t)head.head_sz + head.packed_sz;
		w->next_nr = head.nr + 1;
	}
	free(data);
	return res;
}

/*
 * Cuts a torn batch off the last segment; a segment without a batch is removed. A damaged segment
 * stays as it is, and a new one begins: readers pass over damage only in a segment that is closed.
 */
static int open_last(struct spool_writer *w, uint64_t segment, struct err *err)
{
	struct stat st;
	struct last last;
	int res = scan_last(w, segment, &last, err);
	bool has_batch;

	if (res)
		return res;
	has_batch = w->next_nr > segment;
	if (segment >= w->next_nr)
		w->next_nr = segment;
	w->segment_fd = spool_dir__open_segment(w->dirfd, segment, O_RDWR);
	if (w->segment_fd < 0 || fstat(w->segment_fd, &st))
		return err__set(err, EIO, "segment %" PRIu64 " of the spool cannot be opened",
				segment);
	w->total += (uint64_t)st.st_size;
	res = last.end ? complete_last(w, &last.end) : 0;
	if (res)
		return err__set(err, -res, "segment %" PRIu64 " of the spool cannot be written: %s",
				segment, strerror(-res));
	if (!has_batch && w->next_nr == segment) {
		close(w->segment_fd);
		w->segment_fd = -1;
		w->total -= (uint64_t)st.st_size;
		return spool_dir__remove_segment(w->dirfd, segment);
	}
	if (last.end < (uint64_t)st.st_size && ftruncate(w->segment_fd, (off_t)last.end))
		return err__set(err, errno, "cannot cut a torn batch off the spool: %s",
				strerror(errno));
	lseek(w->segment_fd, (off_t)last.end, SEEK_SET);
	if (last.end < (uint64_t)st.st_size)
		w->total -= (uint64_t)st.st_size - last.end;
	w->segment = segment;
	w->segment_sz = last.end;
	if (last.is_damaged) {
		close(w->segment_fd);
		w->segment_fd = -1;
	}
	return 0;
}

static void add_sizes(struct spool_writer *w, const uint64_t *list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		int fd = spool_dir__open_segment(w->dirfd, list[i], O_RDONLY);
		struct stat st;

		if (fd >= 0 && !fstat(fd, &st))
			w->total += (uint64_t)st.st_size;
		if (fd >= 0)
			close(fd);
	}
}

/* Somebody may have removed segments: a number is never used twice. */
static void skip_positions(struct spool_writer *w)
{
	for (const char *const *name = w->opts.backends; name && *name; name++) {
		struct spool_position position;

		if (!spool_dir__read_position(w->dirfd, *name, &position) &&
		    position.batch >= w->next_nr)
			w->next_nr = position.batch + (position.batch < UINT64_MAX);
	}
}

static int cannot_open(const struct spool_writer *w, int code, struct err *err)
{
	const char *why = code == EPROTONOSUPPORT ? "a later version of jankbpf wrote it"
			  : code == EOVERFLOW	  ? "a number of a batch is damaged"
						  : strerror(code);

	return err__set(err, code,
			"'%s': cannot open the spool: %s; move it away to begin a new one",
			w->opts.dir, why);
}

static int open_segments(struct spool_writer *w, struct err *err)
{
	uint64_t *list;
	size_t cnt;
	int res = spool_dir__list(w->dirfd, &list, &cnt);

	close_fd(w->segment_fd);
	w->segment_fd = -1;
	w->total = 0;
	w->next_nr = 1;
	w->dropped = spool_state__dropped(w->dirfd);
	if (res)
		return err__set(err, -res, "'%s': cannot list the spool: %s", w->opts.dir,
				strerror(-res));
	if (cnt) {
		add_sizes(w, list, cnt - 1);
		res = open_last(w, list[cnt - 1], err);
	}
	free(list);
	skip_positions(w);
	/* Readers refuse what follows SPOOL_NR_MAX, so its records would be lost silently. */
	if (!res && w->next_nr > SPOOL_NR_LAST)
		res = cannot_open(w, EOVERFLOW, err);
	w->is_scanned = !res;
	return res;
}

/* Full now; it may have room later. */
static bool is_full(int res)
{
	return res == -ENOSPC || res == -EDQUOT || res == -EROFS;
}

/*
 * What a full disk did not let us open. Without the lock another process may have written since, so
 * segments are looked at only with it.
 */
static int open_parts(struct spool_writer *w)
{
	int res;

	if (w->lock_fd < 0)
		w->lock_fd = spool_dir__lock(w->dirfd, LOCK);
	if (w->lock_fd < 0)
		return w->lock_fd;
	res = w->is_scanned ? 0 : open_segments(w, NULL);
	if (!res && !*w->agent)
		res = spool_dir__agent(w->dirfd, true, w->agent);
	if (!res && w->tail_fd < 0)
		res = spool_tail__open(w);
	if (res)
		*w->agent = '\0';
	return res;
}

static int open_dir(struct spool_writer *w, struct err *err)
{
	w->dirfd = own_path__dir(w->opts.dir, 0700, err);
	if (w->dirfd < 0)
		return w->dirfd;
	w->lock_fd = spool_dir__lock(w->dirfd, LOCK);
	if (w->lock_fd >= 0 || is_full(w->lock_fd))
		return 0;
	if (w->lock_fd == -EAGAIN)
		return err__set(err, EAGAIN,
				"'%s': another jankbpf writes to this spool: give each its own",
				w->opts.dir);
	return err__set(err, -w->lock_fd,
			"'%s': cannot write to the spool: %s; its owner must be "
			"the user that writes records",
			w->opts.dir, strerror(-w->lock_fd));
}

int spool_writer__new(const struct spool_opts *opts, struct spool_writer **ret, struct err *err)
{
	struct spool_writer *w;
	int res;

	if (!spool__is_available())
		return err__set(err, ENOSYS,
				"'%s': this build has no zstd for a spool: use one built with "
				"libzstd-dev, or leave out --spool",
				opts->dir);
	w = calloc(1, sizeof(*w));
	if (!w)
		return err__set(err, ENOMEM, "out of memory");
	w->opts = *opts;
	w->dirfd = w->lock_fd = w->segment_fd = w->tail_fd = -1;
	w->next_nr = 1;
	res = open_dir(w, err);
	if (!res && w->lock_fd >= 0)
		res = open_segments(w, err);
	if (!res) {
		res = open_parts(w);
		if (is_full(res))
			res = 0;
		if (res)
			cannot_open(w, -res, err);
	}
	w->opened_ns = clock__mono_ns();
	if (res)
		spool_writer__free(w);
	else
		*ret = w;
	return res;
}

void spool_writer__free(struct spool_writer *w)
{
	if (!w)
		return;
	if (w->tail_fd >= 0)
		spool_writer__close_batch(w);
	close_fd(w->segment_fd);
	close_fd(w->tail_fd);
	close_fd(w->lock_fd);
	close_fd(w->dirfd);
	strbuf__free(&w->raw);
	free(w);
}

/* --- closing a batch */

static uint64_t segment_max(const struct spool_writer *w)
{
	uint64_t part = w->opts.max_bytes / SEGMENTS;

	return part < SEGMENT_MAX ? part : SEGMENT_MAX;
}

/* It gets its name with the first batch. */
static int begin_segment(struct spool_writer *w, struct strbuf *bytes)
{
	int fd;

	close_fd(w->segment_fd);
	w->segment_fd = -1;
	spool_dir__remove_segment(w->dirfd, w->next_nr); /* of a failed write */
	fd = spool_dir__open_segment(w->dirfd, w->next_nr, O_RDWR | O_CREAT | O_EXCL);
	if (fd < 0)
		return fd;
	w->segment_fd = fd;
	w->segment = w->next_nr;
	w->segment_sz = 0;
	spool__add_segment_head(bytes, w->agent, clock__real_ns());
	return 0;
}

/*
 * On the disk, or not in the segment at all. The sender must not see a batch that fdatasync may
 * still refuse: its number would be used again, for other records.
 * magic: of the batch; at: where it belongs in bytes, which has zeros there.
 */
static int append(struct spool_writer *w, const struct strbuf *bytes, const char *magic, size_t at)
{
	int res = output__write(w->segment_fd, bytes->data, bytes->len);

	if (res)
		return res;
	res = fdatasync(w->segment_fd) ? -errno : 0;
	if (!res && !w->segment_sz)
		fsync(w->dirfd);
	if (!res)
		res = write_magic(w, magic, w->segment_sz + at);
	if (res) {
		if (!ftruncate(w->segment_fd, (off_t)w->segment_sz))
			lseek(w->segment_fd, (off_t)w->segment_sz, SEEK_SET);
		return res;
	}
	w->segment_sz += bytes->len;
	w->total += bytes->len;
	return 0;
}

static void forget_batch(struct spool_writer *w)
{
	spool_tail__empty(w);
	strbuf__reset(&w->raw);
	w->record_cnt = 0;
}

static int write_batch(struct spool_writer *w, struct strbuf *batch)
{
	struct strbuf bytes = STRBUF_INIT;
	size_t at;
	int res = 0;

	spool_room__make(w, batch->len);
	if (w->segment_fd < 0 || w->segment_sz >= segment_max(w))
		res = begin_segment(w, &bytes);
	at = bytes.len;
	strbuf__add(&bytes, batch->data, batch->len);
	if (!res && bytes.failed)
		res = -ENOMEM;
	if (!res) {
		memset(bytes.data + at, 0, SPOOL_MAGIC_SZ);
		res = append(w, &bytes, batch->data, at);
	}
	strbuf__free(&bytes);
	if (res && w->segment_fd >= 0 && !w->segment_sz) { /* no empty segment */
		close_fd(w->segment_fd);
		w->segment_fd = -1;
		spool_dir__remove_segment(w->dirfd, w->next_nr);
	}
	return res;
}

int spool_writer__close_batch(struct spool_writer *w)
{
	struct strbuf batch = STRBUF_INIT;
	int res;

	if (!w->record_cnt)
		return 0;
	res = spool__add_batch(&batch, w->next_nr, w->record_cnt, clock__real_ns(), &w->raw);
	if (!res && batch.len > w->opts.max_bytes) {
		w->dropped += w->record_cnt;
		spool_room__save_drops(w);
		forget_batch(w);
	} else if (!res) {
		res = write_batch(w, &batch);
		if (!res) {
			forget_batch(w);
			w->next_nr++;
		}
	}
	strbuf__free(&batch);
	return res;
}

/* --- records */

int spool_writer__due_ms(const struct spool_writer *w)
{
	uint64_t age = clock__mono_ns() - w->opened_ns;

	if (!w->record_cnt)
		return -1;
	if (w->raw.len >= RAW_CLOSE || age >= w->opts.interval_ns)
		return 0;
	return (int)((w->opts.interval_ns - age) / NS_PER_MS) + 1;
}

static int add(struct spool_writer *w, const struct strbuf *record, struct sink_progress *progress)
{
	bool is_new;
	int res = spool_tail__add(w, record, progress, &is_new);

	if (res || !is_new)
		return res;
	if (!w->record_cnt)
		w->opened_ns = clock__mono_ns();
	strbuf__add(&w->raw, record->data, record->len);
	if (w->raw.failed)
		return -ENOMEM;
	w->record_cnt++;
	return 0;
}

/*
 * A record that is resumed may be in the open batch already, which then must not be closed before
 * it is looked for there.
 */
int spool_writer__add(struct spool_writer *w, const Jankbpf__Record *record,
		      struct sink_progress *progress)
{
	struct strbuf bytes = STRBUF_INIT;
	bool resumes = progress && progress->base;
	int res = open_parts(w);

	if (res)
		return res;
	if (!resumes && !spool_writer__due_ms(w))
		res = spool_writer__close_batch(w);
	if (res && w->raw.len < RAW_KEPT)
		res = 0;
	if (!res)
		res = stream__add(&bytes, RECORD_PROTO, record);
	if (!res && bytes.len > STREAM_RECORD_MAX)
		res = -EMSGSIZE;
	if (!res)
		res = add(w, &bytes, progress);
	strbuf__free(&bytes);
	return res;
}

uint64_t spool_writer__dropped(const struct spool_writer *w)
{
	return w->dropped;
}
