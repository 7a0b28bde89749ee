/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Batches of a spool in order, while another process writes it. Each call looks again at the names
 * of segments where that is needed: the writer starts new ones and drops the oldest.
 */
#include "export/spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/file.h"

#define SEARCH_MAX (64u << 20) /* bytes of a segment behind damage */

void spool_batch__free(struct spool_batch *batch)
{
	spool__free_records(batch->records, batch->head.record_cnt);
	batch->records = NULL;
}

void spool_reader__begin(struct spool_reader *reader, int dirfd, uint64_t after)
{
	*reader = (struct spool_reader){ .dirfd = dirfd, .fd = -1, .after = after };
}

void spool_reader__end(struct spool_reader *reader)
{
	if (reader->fd >= 0)
		close(reader->fd);
	reader->fd = -1;
}

/* --- segments */

/*
 * The segment that may have the batch behind `after`: the last that begins at or before it, else
 * the first one. behind: only later ones than the present segment. 0: none.
 */
static int find_segment(const struct spool_reader *r, bool behind, uint64_t *ret)
{
	uint64_t *list;
	size_t cnt;
	int res = spool_dir__list(r->dirfd, &list, &cnt);

	*ret = 0;
	for (size_t i = 0; !res && i < cnt; i++) {
		if (behind && list[i] <= r->segment)
			continue;
		if (*ret && list[i] > r->after + 1)
			break;
		*ret = list[i];
		if (behind)
			break;
	}
	free(list);
	return res;
}

/*
 * The writer drops a segment by its name: its records are counted as lost, so they are not sent
 * from what is still open. A later segment may have the same number.
 */
static void close_dropped(struct spool_reader *r)
{
	struct stat st;

	if (r->fd >= 0 && (fstat(r->fd, &st) || !st.st_nlink))
		spool_reader__end(r);
}

/* Reads up to len bytes. Returns their number or -errno. */
static ssize_t read_part(const struct spool_reader *r, void *to, size_t len)
{
	return file__pread(r->fd, to, len, r->at);
}

/*
 * 1; 0: its head is not written yet; -EBADMSG: it is damaged, and the segment stays open; or -errno
 * with a message.
 */
static int begin_segment(struct spool_reader *r, uint64_t segment, struct err *err)
{
	int fd = spool_dir__open_segment(r->dirfd, segment, O_RDONLY), res;
	struct spool_segment_head head;
	char bytes[SPOOL_HEAD_MAX];
	ssize_t n;

	if (fd == -ENOENT) /* dropped meanwhile: the next call looks again */
		return 0;
	if (fd < 0)
		return err__set(err, -fd, "segment %" PRIu64 " of the spool: cannot open it: %s",
				segment, strerror(-fd));
	spool_reader__end(r);
	r->fd = fd;
	r->segment = segment;
	r->skips = false;
	r->at = 0;
	n = read_part(r, bytes, sizeof(bytes));
	res = n < 0 ? (int)n : spool__read_segment_head(bytes, (size_t)n, &head);
	if (res > 0) {
		memcpy(r->agent, head.agent, SPOOL_AGENT_SZ - 1);
		r->at = r->first_at = (uint64_t)res;
		return 1;
	}
	if (res == -EBADMSG)
		return res;
	spool_reader__end(r);
	if (!res)
		return 0;
	return err__set(err, -res, "segment %" PRIu64 " of the spool: %s", segment,
			res == -EPROTONOSUPPORT
				? "a later version of jankbpf wrote it: use that version to send it"
				: strerror(-res));
}

/* --- batches */

/* 1: a whole head; 0: not there; -EBADMSG. */
static int read_head(struct spool_reader *r, struct spool_batch_head *ret)
{
	char bytes[sizeof(*ret)];
	ssize_t n = read_part(r, bytes, sizeof(bytes));
	int res = n < 0 ? (int)n : spool__read_batch_head(bytes, (size_t)n, ret);

	if (res == -EBADMSG && !memcmp(bytes, "\0\0\0", SPOOL_MAGIC_SZ))
		return 0; /* not on the disk yet */
	return res > 0 ? 1 : res ?: n ? -EBADMSG : 0;
}

static void count_broken(struct spool_reader *r, const struct spool_batch_head *head)
{
	r->broken_cnt++;
	r->broken_records += head->record_cnt;
}

static int read_records(struct spool_reader *r, struct spool_batch *ret)
{
	size_t size = (size_t)ret->head.head_sz + ret->head.packed_sz;
	char *data = malloc(size);
	ssize_t n = data ? read_part(r, data, size) : -ENOMEM;
	int res = n < 0 ? (int)n : 0;

	if (!res && (size_t)n < size)
		res = -EBADMSG;
	if (!res)
		res = spool__check_batch(data, &ret->head);
	/* Whole, but not what we write: nothing else helps than to go on behind it. */
	if (!res && r->what == SPOOL_RECORDS) {
		res = spool__read_records(data, &ret->head, &ret->records);
		if (res == -EBADMSG)
			count_broken(r, &ret->head);
		res = res == -EBADMSG ? 0 : res;
	}
	free(data);
	return res;
}

/* With heads only: whether the batch is whole is seen by its last byte. */
static int check_end(struct spool_reader *r, const struct spool_batch_head *head)
{
	char last;
	ssize_t n = file__pread(r->fd, &last, 1, r->at + head->head_sz + head->packed_sz - 1);

	return n == 1 ? 0 : n ? (int)n : -EBADMSG;
}

/* --- damage */

/*
 * Passes over a damaged batch if the next one begins at its end, or the segment ends there. False:
 * neither.
 */
static bool step_over(struct spool_reader *r, const struct spool_batch_head *head, bool is_whole)
{
	struct spool_batch_head next;
	uint64_t at = r->at;
	int res;

	r->at += (uint64_t)head->head_sz + head->packed_sz;
	res = read_head(r, &next);
	if (res > 0 ? next.nr > head->nr : !res && is_whole) {
		count_broken(r, head);
		r->after = head->nr;
		return true;
	}
	r->at = at;
	return false;
}

/* Goes to the next whole batch, or the segment's end. 1, 0 or -errno. */
static int search(struct spool_reader *r)
{
	struct stat st;
	size_t size, at;
	char *data;
	ssize_t n;

	if (fstat(r->fd, &st))
		return -errno;
	r->broken_cnt++;
	size = (uint64_t)st.st_size > r->at ? (size_t)((uint64_t)st.st_size - r->at) : 0;
	if (size > SEARCH_MAX)
		size = SEARCH_MAX;
	data = malloc(size ?: 1);
	n = data ? read_part(r, data, size) : -ENOMEM;
	at = n > 0 ? spool__find_batch(data, (size_t)n, r->after) : 0;
	free(data);
	if (n < 0)
		return (int)n;
	r->at = at ? r->at + at : (uint64_t)st.st_size;
	return at > 0;
}

/*
 * Counts the records of a segment with a damaged head. They cannot be sent, because the head names
 * their agent. 0 or -errno.
 */
static int count_segment(struct spool_reader *r)
{
	struct spool_batch_head head;
	int res;

	r->skips = true;
	while ((res = search(r)) > 0) {
		while (read_head(r, &head) > 0) {
			count_broken(r, &head);
			r->after = head.nr;
			r->at += (uint64_t)head.head_sz + head.packed_sz;
		}
	}
	spool_reader__end(r);
	return res;
}

/* The next one in this segment, behind `after`. 1, 0 or -errno. */
static int next_here(struct spool_reader *r, struct spool_batch *ret, bool is_whole)
{
	int res;

	while ((res = read_head(r, &ret->head)) > 0 || (res == -EBADMSG && is_whole)) {
		bool has_head = res > 0;

		const struct spool_batch_head *head = &ret->head;
		bool wanted = has_head && head->nr > r->after;

		if (wanted)
			res = r->what == SPOOL_HEADS ? check_end(r, head) : read_records(r, ret);
		if (wanted && res == -EBADMSG && step_over(r, head, is_whole))
			continue;
		if (res == -EBADMSG && is_whole) {
			r->broken_records += wanted ? head->record_cnt : 0;
			res = search(r);
			if (res <= 0)
				return res;
			continue;
		}
		if (res < 0)
			return res;
		r->at += (uint64_t)head->head_sz + head->packed_sz;
		if (wanted)
			r->after = head->nr;
		if (wanted && (ret->records || r->what != SPOOL_RECORDS)) {
			memcpy(ret->agent, r->agent, sizeof(ret->agent));
			return 1;
		}
	}
	return res;
}

/* --- all segments */

static int cannot_read(int res, struct err *err)
{
	return err__set(err, -res, "cannot read the spool: %s", strerror(-res));
}

/*
 * A torn batch at the end of the last segment is being written, or was written when the power
 * failed; the writer cuts it. In an earlier segment nothing else will come. The writer may have
 * added to a segment before it began the later one: so read it again then.
 */
int spool_reader__next(struct spool_reader *r, struct spool_batch *ret, struct err *err)
{
	uint64_t segment;
	int res;

	*ret = (struct spool_batch){};
	for (;;) {
		bool began;

		close_dropped(r);
		began = r->fd >= 0 || r->skips;
		res = r->fd >= 0 ? next_here(r, ret, r->is_whole) : 0;
		if (res > 0)
			return res;
		if (res < 0 && res != -EBADMSG)
			return cannot_read(res, err);
		if (find_segment(r, began, &segment) || !segment)
			return 0;
		res = r->fd >= 0 ? next_here(r, ret, true) : 0;
		if (res > 0)
			return res;
		if (res < 0)
			return cannot_read(res, err);
		res = begin_segment(r, segment, err);
		if (res == -EBADMSG)
			res = count_segment(r);
		else if (res <= 0)
			return res;
		if (res < 0)
			return cannot_read(res, err);
	}
}
