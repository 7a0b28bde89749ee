/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The spool: what is written is read again, also after crashes; its size; damaged and later ones.
 */
#include "export/spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "export/json/json.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define FOREVER 3600000000000ull

static const char *const names[] = { "one", "two", NULL };

static struct spool_opts opts_of(const char *dir, uint64_t max_bytes)
{
	return (struct spool_opts){
		.dir = dir, .max_bytes = max_bytes, .interval_ns = FOREVER, .backends = names
	};
}

/* A record that does not compress well; nr is its elapsed_ns. */
static int add(struct spool_writer *w, uint64_t nr, size_t noise, struct sink_progress *progress)
{
	static char text[64 << 10];
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Summary summary = JANKBPF__SUMMARY__INIT;
	static uint32_t state = 1;

	for (size_t i = 0; i < noise; i++)
		text[i] = (char)('0' + ((state = state * 1664525 + 1013904223) >> 24) % 64);
	text[noise] = '\0';
	record.schema = text;
	record.type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	record.summary = &summary;
	summary.has_elapsed_ns = true;
	summary.elapsed_ns = nr;
	return spool_writer__add(w, &record, progress);
}

static struct spool_writer *open_spool(const struct spool_opts *opts)
{
	struct spool_writer *w = NULL;
	struct err err = {};

	if (spool_writer__new(opts, &w, &err))
		diag("%s", err.msg);
	return w;
}

struct content {
	uint64_t batches, records, first, last, first_nr, last_nr;
	uint64_t broken_records;
	bool in_order;
	int end; /* of the last call */
	char agent[SPOOL_AGENT_SZ];
	struct err err;
};

static struct content content_of(const char *dir, uint64_t after)
{
	struct content ret = { .in_order = true };
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	struct spool_reader reader;
	struct spool_batch batch;

	spool_reader__begin(&reader, dirfd, after);
	while ((ret.end = spool_reader__next(&reader, &batch, &ret.err)) > 0) {
		for (size_t i = 0; i < batch.head.record_cnt; i++) {
			uint64_t nr = batch.records[i]->summary->elapsed_ns;

			if (!ret.records++)
				ret.first = nr;
			else
				ret.in_order &= nr == ret.last + 1;
			ret.last = nr;
		}
		if (!ret.batches++)
			ret.first_nr = batch.head.nr;
		else
			ret.in_order &= batch.head.nr == ret.last_nr + 1;
		ret.last_nr = batch.head.nr;
		memcpy(ret.agent, batch.agent, sizeof(ret.agent));
		spool_batch__free(&batch);
	}
	ret.broken_records = reader.broken_records;
	spool_reader__end(&reader);
	close(dirfd);
	return ret;
}

static void test_round_trip(void)
{
	const char *dir = strdup(scratch__path("plain"));
	const struct spool_opts opts = opts_of(dir, 64 << 20);
	struct spool_writer *w = open_spool(&opts), *other = NULL;
	struct content content, again;
	struct err err = {};

	for (uint64_t i = 1; i <= 100; i++)
		is_int(add(w, i, 100, NULL), 0, "record %d is added", (int)i);
	is_int(content_of(dir, 0).records, 0, "an open batch is not read");
	is_int(spool_writer__due_ms(w) > 0, 1, "it is not due");
	is_int(spool_writer__close_batch(w), 0, "it closes");
	is_int(spool_writer__due_ms(w), -1, "then there is none");
	for (uint64_t i = 101; i <= 400; i++)
		add(w, i, 20000, NULL);
	is_int(spool_writer__new(&opts, &other, &err), -EAGAIN, "a second writer is refused");
	has_str(err.msg, "another jankbpf writes to this spool", "with the reason");
	spool_writer__free(w);
	content = content_of(dir, 0);
	is_uint(content.records, 400, "all records are read");
	ok(content.in_order && content.first == 1, "in order");
	ok(content.batches > 3, "a batch closes at its size: %d batches", (int)content.batches);
	again = content_of(dir, 2);
	is_uint(again.first_nr, 3, "reading begins behind a batch");
	w = open_spool(&opts);
	add(w, 401, 10, NULL);
	spool_writer__free(w);
	again = content_of(dir, 0);
	ok(again.records == 401 && again.in_order, "numbers of batches go on after a restart");
	is_str(again.agent, content.agent, "the identity stays");
	is_int((int)strspn(again.agent, "0123456789abcdef"), 32, "it has 32 digits");
	free((char *)dir);
}

/* --- crashes */

/* In a process that ends without closing anything. */
static void crash_after(const struct spool_opts *opts,
			void (*fn)(struct spool_writer *w, void *ctx), void *ctx)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct spool_writer *w = open_spool(opts);

		if (w)
			fn(w, ctx);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void add_three(struct spool_writer *w, void *ctx)
{
	uint64_t *next = ctx;

	for (int i = 0; i < 3; i++)
		add(w, (*next)++, 50, NULL);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static void append(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	if (write(fd, bytes, len) != (ssize_t)len)
		diag("cannot append");
	close(fd);
}

static void copy(const char *from, const char *to)
{
	char command[500];

	snprintf(command, sizeof(command), "cp -a %s %s", from, to);
	if (system(command))
		diag("cannot copy");
}

static void test_crash(void)
{
	const char *dir = strdup(scratch__path("crash"));
	const struct spool_opts opts = opts_of(dir, 64 << 20);
	char tail[200], segment[200], stale[200];
	uint64_t next = 1, size;
	struct spool_writer *w;
	struct content content;

	snprintf(tail, sizeof(tail), "%s/open.tail", dir);
	snprintf(stale, sizeof(stale), "%s/stale", dir);
	snprintf(segment, sizeof(segment), "%s/0000000001.spool", dir);
	crash_after(&opts, add_three, &next);
	next = 4; /* the child has its own copy */
	ok(size_of(tail) > 0, "after a crash the open batch is on the disk");
	append(tail, "\x40\0\0\0torn", 8);
	w = open_spool(&opts);
	copy(tail, stale);
	add_three(w, &next);
	spool_writer__free(w);
	content = content_of(dir, 0);
	ok(content.records == 6 && content.in_order && content.batches == 1,
	   "its records are in the same batch, and a torn one is cut");
	rename(stale, tail);
	spool_writer__free(open_spool(&opts));
	content = content_of(dir, 0);
	is_uint(content.records, 6, "a tail whose batch was closed is not taken twice");

	size = size_of(segment);
	append(segment, "JBAT\x30\0\0\0", 8);
	is_uint(content_of(dir, 0).records, 6, "a reader stops before a torn batch");
	spool_writer__free(open_spool(&opts));
	is_uint(size_of(segment), size, "the writer cuts it");
	w = open_spool(&opts);
	next = 7;
	add_three(w, &next);
	spool_writer__free(w);
	content = content_of(dir, 0);
	ok(content.records == 9 && content.in_order && content.last_nr == 2,
	   "and goes on behind it");
	free((char *)dir);
}

/* --- a disk that fails */

/* What happens in place of each fdatasync. */
static int (*on_sync)(void);
static const char *sync_dir;
static uint64_t seen; /* records that a sender sees then */

int fdatasync(int fd)
{
	return on_sync ? on_sync() : (int)syscall(SYS_fdatasync, fd);
}

static int fail(void)
{
	seen += content_of(sync_dir, 0).records;
	errno = EIO;
	return -1;
}

static int die(void)
{
	_exit(0);
}

static void close_and_die(struct spool_writer *w, void *ctx)
{
	add_three(w, ctx);
	on_sync = die;
	spool_writer__close_batch(w);
}

static void test_failing_disk(void)
{
	const char *dir = strdup(scratch__path("failing"));
	const struct spool_opts opts = opts_of(dir, 64 << 20);
	struct spool_writer *w = open_spool(&opts);
	uint64_t next = 1;
	struct content content;

	sync_dir = dir;
	for (int i = 0; i < 2; i++) {
		add_three(w, &next);
		on_sync = fail;
		is_int(spool_writer__close_batch(w), -EIO, "a batch is not on the disk");
		on_sync = NULL;
		is_uint(seen, 0, "no sender sees it");
		add_three(w, &next);
		is_int(spool_writer__close_batch(w), 0, "later it is");
		content = content_of(dir, 0);
		ok(content.last_nr == 1u + i && content.records == 6u + 6 * i && content.in_order,
		   "then it is seen, with all records");
		seen = 0;
		sync_dir = "/nonexistent"; /* the second batch follows one that is seen */
	}
	spool_writer__free(w);
	crash_after(&opts, close_and_die, &next);
	is_uint(content_of(dir, 0).records, 12, "a crash before its magic: not seen");
	w = open_spool(&opts);
	content = content_of(dir, 0);
	ok(content.records == 15 && content.last_nr == 3 && content.in_order,
	   "the next process completes the batch");
	next += 3;
	add_three(w, &next);
	spool_writer__free(w);
	content = content_of(dir, 0);
	ok(content.records == 18 && content.last_nr == 4 && content.in_order,
	   "and its records come once");
	free((char *)dir);
}

/* A record is begun before the crash, and given again after it. */
struct resumed {
	struct sink_progress *progress;
	uint64_t nr;
};

static void add_unanswered(struct spool_writer *w, void *ctx)
{
	struct resumed *r = ctx;

	sink_progress__begin(r->progress, r->nr);
	add(w, r->nr, 50, r->progress);
}

static void test_resumed(void)
{
	const char *dir = strdup(scratch__path("resumed"));
	struct spool_opts opts = opts_of(dir, 64 << 20);
	struct resumed r = {
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1
	};
	struct spool_writer *w;
	struct content content;

	opts.interval_ns = 0; /* each record is due at once */
	for (; r.nr <= 20; r.nr++) {
		crash_after(&opts, add_unanswered, &r);
		w = open_spool(&opts);
		ok(sink_progress__begin(r.progress, r.nr), "record %d is resumed", (int)r.nr);
		is_int(add(w, r.nr, 50, r.progress), 0, "and taken");
		sink_progress__end(r.progress, r.nr, 0);
		spool_writer__free(w);
	}
	content = content_of(dir, 0);
	ok(content.records == 20 && content.in_order, "each is there once, %d in all",
	   (int)content.records);
	munmap(r.progress, 4096);
	free((char *)dir);
}

/* A sink waits for a record that comes again. */
static void test_resumed_sink(void)
{
	const char *dir = strdup(scratch__path("resumed-sink"));
	struct spool_opts opts = opts_of(dir, 64 << 20);
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Summary summary = JANKBPF__SUMMARY__INIT;
	struct resumed r = {
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1
	};
	struct sink *sink = NULL;
	int ends[2];

	opts.interval_ns = 0;
	crash_after(&opts, add_unanswered, &r);
	if (pipe(ends) || write(ends[1], "x", 1) != 1 || sink_spool__new(&opts, true, &sink, NULL))
		skip_all("no sink");
	sink->progress = r.progress;
	sink->ops->wait(sink, ends[0]);
	is_uint(content_of(dir, 0).records, 0, "a batch does not close while a record is resumed");
	record.schema = (char *)"";
	record.type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	record.summary = &summary;
	summary.has_elapsed_ns = true;
	summary.elapsed_ns = 1;
	sink_progress__begin(r.progress, 1);
	sink_progress__end(r.progress, 1, sink->ops->record(sink, &record));
	sink->ops->wait(sink, ends[0]);
	is_uint(content_of(dir, 0).records, 1, "then it closes");
	sink->ops->free(sink);
	is_uint(content_of(dir, 0).records, 1, "and the record is there once");
	munmap(r.progress, 4096);
	free((char *)dir);
}

/* --- the lock */

static bool lock_fails; /* as a full disk does it */

int openat(int dirfd, const char *name, int flags, ...)
{
	if (lock_fails && !strcmp(name, "write.lock")) {
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_openat, dirfd, name, flags, 0600);
}

static void test_late_lock(void)
{
	const char *dir = strdup(scratch__path("late-lock"));
	const struct spool_opts opts = opts_of(dir, 64 << 20);
	struct spool_writer *w, *other;
	struct content content;

	lock_fails = true;
	w = open_spool(&opts);
	is_int(w ? add(w, 1, 10, NULL) : 0, -ENOSPC, "the disk is full at the start");
	lock_fails = false;
	other = open_spool(&opts);
	is_int(add(other, 1, 10, NULL), 0, "later another process writes");
	is_int(add(w, 2, 10, NULL), -EAGAIN, "then this one does not");
	spool_writer__free(other);
	is_int(add(w, 2, 10, NULL), 0, "until the other one has ended");
	is_int(spool_writer__new(&opts, &other, &content.err), -EAGAIN, "it has the lock");
	spool_writer__free(w);
	content = content_of(dir, 0);
	ok(content.records == 2 && content.last_nr == 2 && content.in_order,
	   "and goes on behind its batch");
	free((char *)dir);
}

/* --- size */

static uint64_t bytes_of(const char *dir)
{
	struct spool_state state;

	return spool_state__read(dir, names, &state, NULL) ? 0 : state.bytes;
}

static void set_position(const char *dir, const char *name, uint64_t batch)
{
	const struct spool_position position = { .batch = batch, .sent_records = 7 };
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY);

	is_int(spool_dir__write_position(dirfd, name, &position), 0, "%s is at batch %d", name,
	       (int)batch);
	close(dirfd);
}

static void test_full(void)
{
	const char *dir = strdup(scratch__path("full"));
	const struct spool_opts opts = opts_of(dir, 40000);
	struct spool_writer *w = open_spool(&opts);
	struct content content;
	uint64_t before, sent;

	for (uint64_t i = 1; i <= 60; i++) {
		add(w, i, 3000, NULL);
		spool_writer__close_batch(w);
	}
	content = content_of(dir, 0);
	ok(bytes_of(dir) <= 40000, "the size is bounded: %d", (int)bytes_of(dir));
	ok(content.in_order && content.last == 60 && content.records > 5, "the newest are kept");
	is_uint(content.records + spool_writer__dropped(w), 60, "each dropped record is counted");
	before = spool_writer__dropped(w);
	set_position(dir, "one", 60);
	for (uint64_t i = 61; i <= 70; i++) {
		add(w, i, 3000, NULL);
		spool_writer__close_batch(w);
	}
	ok(spool_writer__dropped(w) > before, "also those that only one backend has");
	content = content_of(dir, 0);
	before = spool_writer__dropped(w);
	is_uint(content.records + before, 70, "and exactly");
	sent = content.first_nr + 1;
	set_position(dir, "two", sent);
	for (uint64_t i = 71; i <= 90; i++) {
		add(w, i, 3000, NULL);
		spool_writer__close_batch(w);
	}
	content = content_of(dir, 0);
	is_uint(spool_writer__dropped(w) - before, content.first_nr - 1 - sent,
		"what every backend has is dropped without a count");
	spool_writer__free(w);
	free((char *)dir);
}

/* --- drops and kills */

/* What happens in place of each removal of a segment. */
static int (*on_unlink)(int dirfd, const char *name);

int unlinkat(int dirfd, const char *name, int flags)
{
	if (on_unlink && strstr(name, ".spool"))
		return on_unlink(dirfd, name);
	return (int)syscall(SYS_unlinkat, dirfd, name, flags);
}

static int unlink_fails(int dirfd, const char *name)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, 0)) /* of the new segment */
		return -1;
	errno = EIO;
	return -1;
}

static int die_before(int dirfd, const char *name)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, 0))
		return -1;
	_exit(0);
}

static int die_after(int dirfd, const char *name)
{
	if (syscall(SYS_unlinkat, dirfd, name, 0))
		return -1;
	_exit(0);
}

/* ctx: shared memory; counts the records that are in the spool or its tail. */
static void add_many(struct spool_writer *w, void *ctx)
{
	uint64_t *added = ctx;

	for (int i = 0; i < 40; i++) {
		*added += !add(w, 1, 3000, NULL);
		spool_writer__close_batch(w);
	}
}

/* Each record is in the spool or counted as dropped, once. */
static void check_drops(const struct spool_opts *opts, uint64_t added, const char *when)
{
	struct spool_writer *w;
	uint64_t dropped;

	spool_writer__free(open_spool(opts)); /* closes the open batch */
	w = open_spool(opts);
	dropped = spool_writer__dropped(w);
	spool_writer__free(w);
	is_uint(dropped + content_of(opts->dir, 0).records, added, "%s: drops are counted exactly",
		when);
	ok(dropped > 0, "%s: %d", when, (int)dropped);
}

static void test_drops_killed(void)
{
	const char *dir = strdup(scratch__path("drops"));
	const struct spool_opts opts = opts_of(dir, 40000);
	uint64_t *added =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct spool_writer *w;

	on_unlink = die_before;
	crash_after(&opts, add_many, added);
	on_unlink = NULL;
	w = open_spool(&opts);
	is_uint(spool_writer__dropped(w), 0, "killed before a segment is removed: not counted yet");
	spool_writer__free(w);
	check_drops(&opts, *added, "killed before");
	on_unlink = die_after;
	crash_after(&opts, add_many, added);
	on_unlink = NULL;
	check_drops(&opts, *added, "killed after");
	w = open_spool(&opts);
	on_unlink = unlink_fails;
	add_many(w, added);
	on_unlink = NULL;
	spool_writer__free(w);
	check_drops(&opts, *added, "a removal fails");
	munmap(added, 4096);
	free((char *)dir);
}

static struct sink_progress *sink_progress;

static void write_sink(struct spool_writer *w, void *ctx)
{
	const struct spool_opts *opts = ctx;
	struct sink *sink;
	int ends[2];

	spool_writer__free(w);
	if (pipe(ends) || write(ends[1], "x", 1) != 1 || sink_spool__new(opts, true, &sink, NULL))
		return;
	sink->progress = sink_progress;
	sink->ops->wait(sink, ends[0]);
	on_unlink = die_after;
	for (uint64_t i = 0; i < 40; i++) {
		Jankbpf__Record record = JANKBPF__RECORD__INIT;
		Jankbpf__Interval interval = JANKBPF__INTERVAL__INIT;
		static char text[3001];

		for (size_t k = 0; k < sizeof(text) - 1; k++)
			text[k] = (char)('0' + rand() % 64);
		record.schema = text;
		record.type_case = JANKBPF__RECORD__TYPE_INTERVAL;
		record.interval = &interval;
		sink_progress__begin(sink->progress, i + 1);
		sink_progress__end(sink->progress, i + 1, sink->ops->record(sink, &record));
		sink->ops->wait(sink, ends[0]);
	}
}

static void test_sink_killed(void)
{
	const char *dir = strdup(scratch__path("sink"));
	struct spool_opts opts = opts_of(dir, 40000);
	struct sink *sink = NULL;
	uint64_t dropped, earlier;
	struct spool_writer *w;
	int ends[2];

	sink_progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	w = open_spool(&opts);
	add_many(w, &(uint64_t){ 0 });
	earlier = spool_writer__dropped(w);
	spool_writer__free(w);
	crash_after(&opts, write_sink, &opts);
	w = open_spool(&opts);
	dropped = spool_writer__dropped(w) - earlier;
	spool_writer__free(w);
	ok(earlier && dropped, "an earlier run dropped %d records, the killed process %d",
	   (int)earlier, (int)dropped);
	is_uint(sink_progress->dropped, 0, "the killed one did not come to count them");
	if (!sink_spool__new(&opts, true, &sink, NULL) && !pipe(ends) &&
	    write(ends[1], "x", 1) == 1) {
		sink->progress = sink_progress;
		sink->ops->wait(sink, ends[0]);
		is_uint(sink__dropped(sink), dropped, "the next one counts those of its run");
		sink->ops->free(sink);
	}
	munmap(sink_progress, 4096);
	free((char *)dir);
}

static void test_lost_segments(void)
{
	const char *dir = strdup(scratch__path("removed"));
	const struct spool_opts opts = opts_of(dir, 64 << 20);
	struct spool_writer *w = open_spool(&opts);
	char command[200];

	add(w, 1, 10, NULL);
	spool_writer__free(w);
	set_position(dir, "one", 500);
	snprintf(command, sizeof(command), "rm %s/*.spool", dir);
	if (system(command))
		diag("rm");
	w = open_spool(&opts);
	add(w, 2, 10, NULL);
	spool_writer__free(w);
	is_uint(content_of(dir, 0).first_nr, 501, "a number of a batch is never used twice");
	free((char *)dir);
}

/* The reader has the first of three segments open when that is dropped. */
static void test_dropped_meanwhile(void)
{
	const char *dir = strdup(scratch__path("meanwhile"));
	const struct spool_opts opts = opts_of(dir, 16000);
	struct spool_writer *w = open_spool(&opts);
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	struct spool_reader reader;
	struct spool_batch batch;
	uint64_t want;

	for (uint64_t i = 1; i <= 6; i++) {
		add(w, i, 700, NULL);
		spool_writer__close_batch(w);
	}
	spool_reader__begin(&reader, dirfd, 0);
	is_int(spool_reader__next(&reader, &batch, NULL), 1, "the first batch is read");
	spool_batch__free(&batch);
	spool_dir__remove_segment(dirfd, 1);
	want = content_of(dir, 0).first_nr;
	is_int(spool_reader__next(&reader, &batch, NULL), 1, "its segment is dropped");
	ok(want > 2 && batch.head.nr == want, "then nothing more of it is read: batch %d",
	   (int)batch.head.nr);
	spool_batch__free(&batch);
	spool_writer__free(w);
	spool_reader__end(&reader);
	close(dirfd);
	free((char *)dir);
}

/* --- positions */

static void test_positions(void)
{
	static const char *const bad[] = { "",
					   "x",
					   "jankbpf-position 1\n",
					   "jankbpf-position 1\nbatch",
					   "jankbpf-position 2\nbatch 3\n",
					   "jankbpf-position 1\nbatch 3",
					   "\n\n\nbatch 3\n" };
	const char *dir = strdup(scratch__path("positions"));
	struct spool_position position;
	int dirfd;

	mkdir(dir, 0700);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	is_int(spool_dir__read_position(dirfd, "one", &position), 0, "no position yet");
	is_uint(position.batch, 0, "is the begin");
	set_position(dir, "one", 12);
	spool_dir__read_position(dirfd, "one", &position);
	ok(position.batch == 12 && position.sent_records == 7, "it is read again");
	scratch__write_text("positions/one.position",
			    "jankbpf-position 1\nbatch 9\nof_a_later_version 4\n");
	is_int(spool_dir__read_position(dirfd, "one", &position), 0, "further lines are allowed");
	is_uint(position.batch, 9, "and skipped");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		unlink(scratch__path("positions/one.position"));
		scratch__write_text("positions/one.position", bad[i]);
		is_int(spool_dir__read_position(dirfd, "one", &position), -EBADMSG, "damaged: %d",
		       (int)i);
		is_uint(position.batch, 0, "is the begin");
	}
	close(dirfd);
	free((char *)dir);
}

/* --- other versions and damage */

static void put_segment(const char *dir, const char *name, const void *bytes, size_t len)
{
	char path[200];
	int fd;

	mkdir(dir, 0700);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(fd, bytes, len) != (ssize_t)len)
		diag("cannot write");
	close(fd);
}

static void test_later_version(void)
{
	const char *dir = strdup(scratch__path("later"));
	const struct spool_opts opts = opts_of(dir, 64 << 20);
	struct spool_segment_head head, longer;
	struct strbuf sb = STRBUF_INIT, bytes = STRBUF_INIT, raw = STRBUF_INIT;
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Summary summary = JANKBPF__SUMMARY__INIT;
	struct spool_writer *w;
	struct content content;
	struct err err = {};

	spool__add_segment_head(&sb, "0123456789abcdef0123456789abcdef", 1);
	memcpy(&head, sb.data, sizeof(head));
	longer = head;
	longer.head_sz += 24;
	record.schema = (char *)"jankbpf/1";
	record.type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	record.summary = &summary;
	summary.has_elapsed_ns = true;
	summary.elapsed_ns = 1;
	stream__add(&raw, RECORD_PROTO, &record);
	strbuf__add(&bytes, &longer, sizeof(longer));
	strbuf__add(&bytes, "members of a later one!!", 24);
	is_int(spool__add_batch(&bytes, 1, 1, 5, &raw), 0, "a batch");
	put_segment(dir, "0000000001.spool", bytes.data, bytes.len);
	content = content_of(dir, 0);
	is_uint(content.records, 1, "further members of a head are skipped");

	head.format++;
	memcpy(bytes.data, &head, sizeof(head));
	put_segment(dir, "0000000001.spool", bytes.data, bytes.len);
	content = content_of(dir, 0);
	is_int(content.end, -EPROTONOSUPPORT, "a later format is refused by the reader");
	has_str(content.err.msg, "a later version of jankbpf wrote it", "with the reason");
	is_int(spool_writer__new(&opts, &w, &err), -EPROTONOSUPPORT, "and by the writer");
	has_str(err.msg, "a later version", "with the reason");
	strbuf__free(&sb);
	strbuf__free(&bytes);
	strbuf__free(&raw);
	free((char *)dir);
}

/* A spool whose last batch has that number; is_tail: whose open batch has it. */
static void put_batch(const char *dir, uint64_t nr, bool is_tail)
{
	struct strbuf bytes = STRBUF_INIT, raw = STRBUF_INIT;
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Summary summary = JANKBPF__SUMMARY__INIT;

	record.schema = (char *)"jankbpf/1";
	record.type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	record.summary = &summary;
	stream__add(&raw, RECORD_PROTO, &record);
	if (is_tail) {
		strbuf__adds(&bytes, "JANKTAL\n");
		strbuf__add(&bytes, (uint32_t[]){ 1, 24 }, 8);
		strbuf__add(&bytes, &nr, sizeof(nr));
		strbuf__add(&bytes, (uint32_t[]){ 7, 7 }, 8); /* a torn record */
	} else {
		spool__add_segment_head(&bytes, "0123456789abcdef0123456789abcdef", 1);
		spool__add_batch(&bytes, nr, 1, 5, &raw);
	}
	put_segment(dir, is_tail ? "open.tail" : "0000000001.spool", bytes.data, bytes.len);
	strbuf__free(&bytes);
	strbuf__free(&raw);
}

/* The writer goes on behind the number, and all is read; or it refuses the spool. */
static void check_number(const char *name, uint64_t nr, bool is_tail, bool refused)
{
	const char *dir = strdup(scratch__path(name));
	const struct spool_opts opts = opts_of(dir, 64 << 20);
	struct spool_writer *w = NULL;
	struct err err = {};
	uint64_t next = 1, lost = 0;
	int res;

	put_batch(dir, nr, is_tail);
	res = spool_writer__new(&opts, &w, &err);
	is_int(res, refused ? -EOVERFLOW : 0, "%s: opened or refused", name);
	if (refused)
		has_str(err.msg, "a number of a batch is damaged; move it away", "with the remedy");
	for (int i = 0; !res && i < 3; i++) {
		lost += add(w, next++, 10, NULL) != 0;
		spool_writer__close_batch(w);
	}
	spool_writer__free(w);
	is_uint(content_of(dir, is_tail ? 0 : nr).records + lost, res ? 0 : 3,
		"%s: what is taken is read again", name);
	free((char *)dir);
}

/* What a reader takes has a successor that it takes, too. */
static void test_numbers(void)
{
	check_number("high", SPOOL_NR_LAST - 1, false, false);
	check_number("too-high", SPOOL_NR_LAST, false, true);
	check_number("highest", SPOOL_NR_MAX, false, true);
	check_number("high-tail", SPOOL_NR_LAST, true, false);
	check_number("too-high-tail", SPOOL_NR_LAST + 1, true, true);
	check_number("highest-tail", UINT64_MAX, true, true);
}

static void test_high_position(void)
{
	const char *dir = strdup(scratch__path("high-position"));
	const struct spool_opts opts = opts_of(dir, 64 << 20);
	struct spool_writer *w = NULL;
	struct err err = {};

	mkdir(dir, 0700);
	set_position(dir, "one", UINT64_MAX);
	is_int(spool_writer__new(&opts, &w, &err), -EOVERFLOW,
	       "a position that no batch reaches is damaged: what is written would never be sent");
	spool_writer__free(w);
	free((char *)dir);
}

static void damage(const char *path, uint64_t at, const char *bytes)
{
	int fd = open(path, O_WRONLY);

	if (pwrite(fd, bytes, strlen(bytes), (off_t)at) < 0)
		diag("pwrite");
	close(fd);
}

static void test_damaged(void)
{
	const char *dir = strdup(scratch__path("damaged"));
	const struct spool_opts opts = opts_of(dir, 40000);
	struct spool_writer *w = open_spool(&opts);
	struct content content;
	char path[200];

	for (uint64_t i = 1; i <= 8; i++) {
		add(w, i, 3000, NULL);
		spool_writer__close_batch(w);
	}
	spool_writer__free(w);
	snprintf(path, sizeof(path), "%s/0000000001.spool", dir);
	damage(path, 0, "x");
	content = content_of(dir, 0);
	ok(content.records >= 4 && content.records + content.broken_records == 8,
	   "what a segment with a damaged head has is counted: %d, read %d",
	   (int)content.broken_records, (int)content.records);
	damage(path, 0, "J"); /* as it was */
	damage(path, 400, "x");
	content = content_of(dir, 0);
	ok(content.records == 7 && content.last == 8 && content.broken_records == 1,
	   "a damaged batch is passed over and counted: %d of 8", (int)content.records);
	put_segment(dir, "0000000001.spool",
		    "not a segment, but 56 bytes or more of something else....", 57);
	content = content_of(dir, 0);
	ok(content.records >= 4 && content.last == 8 && !content.end,
	   "of another file nothing can be counted");
	free((char *)dir);
}

/* The last segment: batches of 3 records, of which one is damaged; then the writer goes on. */
static void check_damaged_last(const char *name, unsigned broken, bool head)
{
	const char *dir = strdup(scratch__path(name));
	const struct spool_opts opts = opts_of(dir, 64 << 20);
	struct spool_writer *w = open_spool(&opts);
	uint64_t next = 1, from[5] = {};
	struct content content;
	char path[200];

	snprintf(path, sizeof(path), "%s/0000000001.spool", dir);
	for (unsigned i = 0; i < 4; i++) {
		add_three(w, &next);
		spool_writer__close_batch(w);
		from[i + 1] = size_of(path);
	}
	spool_writer__free(w);
	from[0] = sizeof(struct spool_segment_head);
	damage(path, from[broken] + (head ? 0 : 60), "xy");
	w = open_spool(&opts);
	add_three(w, &next);
	spool_writer__free(w);
	content = content_of(dir, 0);
	is_uint(content.records, 12, "%s: the other batches are read", name);
	ok(content.last == 15 && content.last_nr == 5, "%s: no number is used again", name);
	is_uint(content.broken_records, head ? 0 : 3, "%s: its records are counted", name);
	free((char *)dir);
}

static void test_damaged_last(void)
{
	check_damaged_last("first-batch", 0, false);
	check_damaged_last("last-batch", 3, false);
	check_damaged_last("first-head", 0, true);
	check_damaged_last("third-head", 2, true);
}

/* --- who may be followed */

static void test_links(void)
{
	const char *dir = strdup(scratch__path("links"));
	const struct spool_opts opts = opts_of(dir, 64 << 20);
	struct spool_writer *w = NULL;
	struct err err = {};

	mkdir(dir, 0700);
	if (symlink("/etc/passwd", scratch__path("links/open.tail")))
		diag("symlink");
	is_int(spool_writer__new(&opts, &w, &err), -EPERM, "a link is not followed");
	has_str(err.msg, "cannot open the spool", "with a message");
	free((char *)dir);
}

int main(void)
{
	if (!spool__is_available())
		skip_all("this build has no zstd");
	scratch__init();
	test_round_trip();
	test_crash();
	test_failing_disk();
	test_resumed();
	test_resumed_sink();
	test_late_lock();
	test_full();
	test_drops_killed();
	test_sink_killed();
	test_lost_segments();
	test_dropped_meanwhile();
	test_positions();
	test_later_version();
	test_numbers();
	test_high_position();
	test_damaged();
	test_damaged_last();
	test_links();
	return tap__done();
}
