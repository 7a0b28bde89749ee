/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged segments and tails of a spool: what the reader gives is whole, and the writer goes on
 * behind them, so that its record is read again. Half of the time the checksum of the first batch
 * is made right again; else it would refuse most.
 */
#include <errno.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "export/spool/spool.h"
#include "tests/fuzz/corpus.h"
#include "tests/unit/scratch.h"

#define NR 4242424242u

static struct {
	uint64_t read, refused, later, taken;
	const char *broken;
	char dir[PATH_MAX];
} run;

static void damage(struct fuzz *f, unsigned char *bytes, size_t *len)
{
	const size_t at = sizeof(struct spool_segment_head);
	struct spool_batch_head head;
	uint64_t sum;

	if (*len > at + sizeof(head) && fuzz__chance(f, 2)) {
		unsigned char *rest = bytes + at + sizeof(head);
		size_t size;

		memcpy(&head, bytes + at, sizeof(head));
		head.packed_sz = (uint32_t)(*len - at - sizeof(head));
		size = head.packed_sz;
		sum = XXH64(&head, offsetof(struct spool_batch_head, checksum), 0);
		head.checksum = XXH64(rest, size, sum);
		memcpy(bytes + at, &head, sizeof(head));
	}
}

static void put(const char *name, const void *bytes, size_t len)
{
	char path[2 * PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", run.dir, name);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void clear(void)
{
	uint64_t *list;
	size_t cnt;
	int dirfd = open(run.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (!spool_dir__list(dirfd, &list, &cnt))
		for (size_t i = 0; i < cnt; i++)
			spool_dir__remove_segment(dirfd, list[i]);
	free(list);
	unlinkat(dirfd, "open.tail", 0);
	close(dirfd);
}

/* True if our record is the last one. */
static bool read_all(int *ret_end)
{
	int dirfd = open(run.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct spool_reader reader;
	struct spool_batch batch;
	uint64_t last = 0;
	bool ours = false;
	struct err err;

	spool_reader__begin(&reader, dirfd, 0);
	while ((*ret_end = spool_reader__next(&reader, &batch, &err)) > 0) {
		const Jankbpf__Record *record = batch.records[batch.head.record_cnt - 1];

		if (batch.head.nr <= last)
			run.broken = "numbers of batches that do not grow";
		last = batch.head.nr;
		for (size_t i = 0; i < batch.head.record_cnt; i++)
			if (!batch.records[i])
				run.broken = "a record that is missing";
		ours = record->type_case == JANKBPF__RECORD__TYPE_SUMMARY &&
		       record->summary->elapsed_ns == NR;
		run.read++;
		spool_batch__free(&batch);
	}
	spool_reader__end(&reader);
	close(dirfd);
	return ours;
}

static void write_behind(void)
{
	const struct spool_opts opts = { .dir = run.dir, .max_bytes = 1 << 30, .interval_ns = 1 };
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Summary summary = JANKBPF__SUMMARY__INIT;
	struct spool_writer *writer;
	struct err err = {};
	int res = spool_writer__new(&opts, &writer, &err), end;

	if (res) {
		run.refused++;
		if (!err.msg[0])
			run.broken = "an error without a message";
		run.later += res == -EPROTONOSUPPORT;
		return;
	}
	record.schema = (char *)"s";
	record.type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	record.summary = &summary;
	summary.has_elapsed_ns = true;
	summary.elapsed_ns = NR;
	res = spool_writer__add(writer, &record, NULL);
	spool_writer__free(writer);
	run.taken++;
	if (res)
		run.broken = "a record that is not taken";
	else if (!read_all(&end) && end != -EPROTONOSUPPORT)
		run.broken = "a record that is not read again";
}

static void use(struct corpus *c)
{
	int end;

	put(fuzz__chance(&c->fuzz, 4) ? "open.tail" : "0000000001.spool", c->bytes, c->len);
	read_all(&end);
	write_behind();
	clear();
}

int main(void)
{
	struct corpus *c = corpus__load("spool", 3000);

	if (!spool__is_available())
		skip_all("this build has no zstd");
	scratch__init();
	snprintf(run.dir, sizeof(run.dir), "%s/spool", scratch_dir);
	if (mkdir(run.dir, 0700))
		skip_all("no directory");
	c->damage = damage;
	while (corpus__next(c) && !run.broken)
		use(c);
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.read && run.taken, "%llu batches read, %llu spools written on, %llu refused",
	   (unsigned long long)run.read, (unsigned long long)run.taken,
	   (unsigned long long)run.refused);
	corpus__end(c);
	return tap__done();
}
