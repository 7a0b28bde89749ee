/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The size of a spool: the oldest segments are dropped, and records that some backend has not are
 * counted.
 */
#include "export/spool/spool_writer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last batch that all backends have; 0: none, or there are no backends. */
static uint64_t last_done(const struct spool_writer *w)
{
	uint64_t ret = 0;

	for (const char *const *name = w->opts.backends; name && *name; name++) {
		struct spool_position position;

		/* of a damaged one nothing is known: it counts as 0 */
		spool_dir__read_position(w->dirfd, *name, &position);
		if (name == w->opts.backends || position.batch < ret)
			ret = position.batch;
	}
	return ret;
}

/* Records of the oldest segment behind batch `after`; end: first batch of the next segment. */
static uint64_t count_records(const struct spool_writer *w, uint64_t after, uint64_t end)
{
	struct spool_reader reader;
	struct spool_batch batch;
	uint64_t ret = 0;

	spool_reader__begin(&reader, w->dirfd, after);
	reader.what = SPOOL_HEADS;
	while (spool_reader__next(&reader, &batch, NULL) > 0 && batch.head.nr < end)
		ret += batch.head.record_cnt;
	spool_reader__end(&reader);
	return ret;
}

void spool_room__save_drops(const struct spool_writer *w)
{
	spool_dir__write_drops(w->dirfd, &(struct spool_drops){ .records = w->dropped });
}

/*
 * next: first batch of the segment behind it. The count is on the disk first: whenever the process
 * is killed, the next one knows the sum.
 */
static int drop(struct spool_writer *w, uint64_t segment, uint64_t next)
{
	int fd = spool_dir__open_segment(w->dirfd, segment, O_RDONLY), res, full = 0;
	uint64_t after = last_done(w);
	struct spool_drops drops = { .records = w->dropped, .segment = segment };
	struct stat st = {};

	if (fd >= 0) {
		fstat(fd, &st);
		close(fd);
	}
	if (after + 1 < next)
		drops.segment_records = count_records(w, after, next);
	if (drops.segment_records)
		full = spool_dir__write_drops(w->dirfd, &drops);
	res = spool_dir__remove_segment(w->dirfd, segment);
	if (res)
		return res;
	w->dropped += drops.segment_records;
	if (full)
		spool_room__save_drops(w); /* there may be room now */
	w->total -= (uint64_t)st.st_size < w->total ? (uint64_t)st.st_size : w->total;
	return 0;
}

/* The last segment stays: it knows the number of the next batch. */
void spool_room__make(struct spool_writer *w, uint64_t need)
{
	uint64_t *list;
	size_t cnt;

	if (w->opts.max_bytes - need >= w->total || spool_dir__list(w->dirfd, &list, &cnt))
		return;
	for (size_t i = 0; i + 1 < cnt && w->total + need > w->opts.max_bytes; i++)
		if (drop(w, list[i], list[i + 1]))
			break;
	free(list);
}
