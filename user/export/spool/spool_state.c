/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much is in a spool, and how much of it each backend has not yet. */
#include "export/spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void read_positions(int dirfd, const char *const *names, struct spool_state *ret)
{
	for (; *names && ret->backend_cnt < SPOOL_BACKENDS_MAX; names++) {
		struct spool_backend_state *backend = &ret->backends[ret->backend_cnt++];

		backend->name = *names;
		spool_dir__read_position(dirfd, *names, &backend->position);
	}
}

static void add_batch(const struct spool_batch_head *head, struct spool_state *ret)
{
	ret->bytes += (uint64_t)head->head_sz + head->packed_sz;
	ret->batches++;
	ret->records += head->record_cnt;
	for (size_t i = 0; i < ret->backend_cnt; i++) {
		struct spool_backend_state *backend = &ret->backends[i];

		if (head->nr <= backend->position.batch)
			continue;
		backend->unsent_batches++;
		backend->unsent_records += head->record_cnt;
		if (!backend->oldest_ns)
			backend->oldest_ns = head->created_ns;
	}
}

uint64_t spool_state__dropped(int dirfd)
{
	struct spool_drops drops;
	int fd;

	spool_dir__read_drops(dirfd, &drops);
	fd = drops.segment ? spool_dir__open_segment(dirfd, drops.segment, O_RDONLY) : -EBADF;
	if (fd >= 0)
		close(fd);
	return drops.records + (fd == -ENOENT ? drops.segment_records : 0);
}

int spool_state__read(const char *dir, const char *const *names, struct spool_state *ret,
		      struct err *err)
{
	int dirfd = spool_dir__open_dir(dir), res;
	struct spool_reader reader;
	struct spool_batch batch;

	*ret = (struct spool_state){};
	if (dirfd < 0)
		return err__set(err, -dirfd, "'%s': cannot open the spool: %s", dir,
				strerror(-dirfd));
	read_positions(dirfd, names, ret);
	ret->dropped = spool_state__dropped(dirfd);
	spool_reader__begin(&reader, dirfd, 0);
	reader.what = SPOOL_HEADS;
	while ((res = spool_reader__next(&reader, &batch, err)) > 0)
		add_batch(&batch.head, ret);
	spool_reader__end(&reader);
	close(dirfd);
	return res;
}
