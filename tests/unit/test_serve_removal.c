/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The index of a directory's records, and deletion from it: both formats, rotated files, damage,
 * and a sink that appends at the same time.
 */
#include "serve/removal.h"

#include <limits.h>

#include "base/clock.h"
#include "export/record_file.h"
#include "serve/fault_list.h"
#include "serve/record_index.h"
#include "tests/tap.h"
#include "tests/unit/child.h"
#include "tests/unit/export_run.h"

static struct strbuf out = STRBUF_INIT;
static struct err err;
static char dir[128];

static const char *in_dir(const char *name)
{
	static char path[4][256];
	static unsigned next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/%s", dir, name);
	return path[next];
}

static struct sink *open_sink(enum record_format format, uint64_t max_bytes)
{
	struct sink_dir_opts opts = { .dir = dir, .format = format, .max_bytes = max_bytes };
	struct sink *sink;

	if (sink_dir__new(&opts, &sink, &err)) {
		diag("%s", err.msg);
		abort();
	}
	return sink;
}

/* Another start is another id. Same i: the same millisecond, so that the logs' names collide. */
static void append(struct sink *sink, unsigned i, unsigned ns, bool is_hang)
{
	static uint64_t base;
	struct block *b = fixture__bare();
	Jankbpf__Record record;

	base = base ?: clock__mono_ns();
	b->start_ns = base / FIXTURE_MS * FIXTURE_MS + i * FIXTURE_MS + ns;
	b->real_offset_ns = clock__real_offset_ns() / (int64_t)FIXTURE_MS * (int64_t)FIXTURE_MS;
	free(b->id);
	if (asprintf(&b->id, "boot-%u-%u", i, ns) < 0)
		abort();
	record = *fixture__record(b);
	if (is_hang)
		record.type_case = JANKBPF__RECORD__TYPE_HANG;
	if (sink->ops->record(sink, &record))
		abort();
	block__free(b);
}

static void new_dir(const char *name)
{
	snprintf(dir, sizeof(dir), "%s/%s", scratch_dir, name);
	mkdir(dir, 0700);
}

static struct record_index open_index(void)
{
	struct record_index index;

	record_index__init(&index, dir, open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	record_index__look(&index);
	while (record_index__work(&index, NS_PER_MS))
		;
	return index;
}

static void refresh(struct record_index *index)
{
	record_index__look(index);
	while (record_index__work(index, NS_PER_MS))
		;
}

static unsigned count(struct record_index *index, enum record_kind kind)
{
	unsigned cnt = 0;

	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; n < index->files[i].cnt; n++)
			cnt += index->files[i].records[n].kind == kind;
	return cnt;
}

static int finish(struct removal *removal)
{
	int res;

	do {
		record_index__work(removal->index, NS_PER_MS);
		res = removal__work(removal, NS_PER_MS);
	} while (!res);
	removal__free(removal);
	return res;
}

static int delete (struct record_index *index, uint64_t seq, bool all)
{
	struct removal removal;

	removal__init(&removal, index, seq, all);
	return finish(&removal);
}

static unsigned log_cnt(void)
{
	run(&out, "ls '%s' | grep -c ^looper-", dir);
	return (unsigned)atoi(strbuf__str(&out));
}

/* Every record can be read at the place that the index has, and is what it was. */
static void check_places(struct record_index *index, const char *what)
{
	struct strbuf raw = STRBUF_INIT;
	unsigned bad = 0;

	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; n < index->files[i].cnt; n++) {
			struct indexed_record *at = &index->files[i].records[n], before = *at;
			Jankbpf__Record *record;

			if (before.kind == KIND_ODD)
				continue;
			at->kind = KIND_UNREAD;
			bad += record_index__read(index, i, at, &raw, &record) ||
			       at->id != before.id;
			if (record)
				jankbpf__record__free_unpacked(record, NULL);
		}
	strbuf__free(&raw);
	is_int(bad, 0, "%s: each record is where the index has it", what);
}

static void test_one(enum record_format format)
{
	const char *name = format == RECORD_JSON ? "json" : "proto";
	struct record_index index;
	struct sink *sink;
	char text[64];

	new_dir(name);
	sink = open_sink(format, 0);
	for (unsigned i = 0; i < 3; i++)
		append(sink, i, 0, false);
	append(sink, 1, 5, false); /* the millisecond of another one */
	append(sink, 9, 0, true);
	append(sink, 9, 0, true);
	append(sink, 9, 0, false);
	index = open_index();
	is_int(count(&index, KIND_BLOCK), 5, "%s: blocks are found", name);
	is_int(count(&index, KIND_HANG), 2, "%s: and hangs", name);
	is_int(log_cnt(), 5, "%s: each block has a log", name);

	is_int(delete (&index, 2, false), 1, "%s: a block is deleted", name);
	is_int(count(&index, KIND_BLOCK), 4, "%s: from the index", name);
	is_int(log_cnt(), 4, "%s: with its log", name);
	check_places(&index, name);
	is_int(delete (&index, 2, false), -ENOENT, "%s: and is gone", name);

	is_int(delete (&index, 7, false), 1, "%s: a block that was a hang", name);
	is_int(count(&index, KIND_HANG), 0, "%s: goes with its hangs", name);

	append(sink, 20, 0, false);
	refresh(&index);
	is_int(count(&index, KIND_BLOCK), 4, "%s: the sink goes on in the new file", name);
	check_places(&index, name);
	record_index__free(&index);
	index = open_index();
	is_int(count(&index, KIND_BLOCK), 4, "%s: the file itself has the same", name);
	is_int(index.odd_cnt, 0, "%s: without damage", name);
	is_int(delete (&index, index.next_seq - 1, true), 1, "%s: all are deleted", name);
	is_int(log_cnt(), 0, "%s: with all logs", name);
	snprintf(text, sizeof(text), "%s: nothing is left", name);
	run(&out, "find '%s' -type f -size +0 | wc -l", dir);
	is_str(strbuf__str(&out), "0\n", "%s", text);
	append(sink, 21, 0, false);
	refresh(&index);
	is_int(count(&index, KIND_BLOCK), 1, "%s: a later one is found", name);
	sink->ops->free(sink);
	record_index__free(&index);
}

static void test_rotated(void)
{
	struct record_index index;
	struct sink *sink;
	unsigned before;
	uint64_t version;
	int file;

	new_dir("rotated");
	sink = open_sink(RECORD_JSON, 24 << 10);
	append(sink, 0, 0, false);
	index = open_index();
	version = index.version;
	for (unsigned i = 1; index.files[FILE_JSON_OLD].fd < 0; i++) {
		append(sink, i, 0, false);
		refresh(&index);
	}
	append(sink, 1000, 0, false);
	refresh(&index);
	ok(index.files[FILE_JSON_OLD].records[0].seq == 1 && index.version == version,
	   "a rotated file keeps its records' numbers");
	before = count(&index, KIND_BLOCK);
	is_int(delete (&index, 1, false), 1, "a block of the rotated file is deleted");
	is_int(count(&index, KIND_BLOCK), before - 1, "one is gone");
	check_places(&index, "rotated");
	for (unsigned i = 2000; index.version == version + 1; i++) {
		append(sink, i, 0, false);
		refresh(&index);
	}
	ok(!record_index__get(&index, 2, &file), "a second rotation removes the oldest");
	check_places(&index, "rotated again");
	sink->ops->free(sink);
	record_index__free(&index);
}

static void test_locked(void)
{
	struct record_file lock = { .fd = -1 };
	struct record_index index;
	struct removal removal;
	struct sink *sink;
	int res = 0;

	new_dir("locked");
	sink = open_sink(RECORD_JSON, 0);
	append(sink, 0, 0, false);
	append(sink, 1, 0, false);
	index = open_index();
	lock.dirfd = index.dirfd;
	record_file__lock(&lock);
	removal__init(&removal, &index, 1, false);
	for (int i = 0; i < 20 && !res; i++)
		res = removal__work(&removal, NS_PER_MS);
	is_int(res, 0, "a removal waits for the lock");
	is_int(count(&index, KIND_BLOCK), 2, "and changes nothing before");
	record_file__append(&lock, "{}\n", 3);
	record_file__close(&lock);
	is_int(finish(&removal), 1, "then it is done");
	run(&out, "wc -l < '%s'", in_dir("blocks.jsonl"));
	is_str(strbuf__str(&out), "2\n", "what was appended meanwhile is kept");
	refresh(&index);
	is_int(index.odd_cnt, 1, "and counted as damage, if it is none");
	run(&out, "ls -A '%s' | grep -c tmp", dir);
	is_str(strbuf__str(&out), "0\n", "no temporary file is left");
	sink->ops->free(sink);
	record_index__free(&index);
}

/* The sink looks at a directory that others have changed, and deletes its own temporary files. */
static void test_retention(void)
{
	struct record_index index;
	struct removal removal;
	struct sink *sink;
	int res = 0;

	new_dir("retention");
	sink = open_sink(RECORD_JSON, 1 << 30);
	append(sink, 0, 0, false);
	append(sink, 1, 0, false);
	index = open_index();
	removal__init(&removal, &index, 1, false);
	while (removal.tmp < 0)
		res = removal__work(&removal, 0);
	append(sink, 2, 0, false);
	is_int(res, 0, "a sink that looks at the directory during a removal");
	is_int(finish(&removal), 1, "does not disturb it");
	refresh(&index);
	is_int(count(&index, KIND_BLOCK), 2, "all others are left");
	check_places(&index, "retention");
	sink->ops->free(sink);

	run(&out,
	    "cd '%s'; sleep 0 & wait $!; touch .serve-$!.tmp .serve-$$.tmp .serve-x.tmp .other; for "
	    "i in .s* .o*; do echo $i; done | wc -l",
	    dir);
	run(&out, "cd '%s'; ls -A | grep '^[.]serve'", dir);
	for (char *name = strtok(out.data, "\n"); name; name = strtok(NULL, "\n"))
		removal__clean(index.dirfd, name);
	removal__clean(index.dirfd, ".other");
	run(&out, "cd '%s'; ls -A | grep -c '^[.]'", dir);
	is_str(strbuf__str(&out), "2\n", "files of killed servers are deleted, and nothing else");
	record_index__free(&index);
}

#define WRITTEN 400

static void write_blocks(void *unused)
{
	struct sink *sink = open_sink(RECORD_JSON, 0);

	for (unsigned i = 0; i < WRITTEN; i++)
		append(sink, i, 0, false);
	sink->ops->free(sink);
}

/* Deletes every third block as it comes, while another process appends. */
static void test_concurrent(void)
{
	struct record_index index;
	unsigned deleted = 0;
	uint64_t seq = 3;
	int status = 0;
	pid_t pid;

	new_dir("concurrent");
	pid = child__fork();
	if (!pid) {
		write_blocks(NULL);
		_exit(0);
	}
	while (access(in_dir("blocks.jsonl"), F_OK))
		usleep(1000);
	index = open_index();
	while (deleted < WRITTEN / 3 && !status) {
		refresh(&index);
		if (index.next_seq <= seq) {
			if (!pid)
				break;
			if (waitpid(pid, &status, WNOHANG) == pid)
				pid = 0;
			continue;
		}
		if (delete (&index, seq, false) != 1)
			ok(false, "block %llu is deleted", (unsigned long long)seq);
		deleted++;
		seq += 3;
	}
	if (pid)
		waitpid(pid, &status, 0);
	is_int(status, 0, "the writer has written all");
	refresh(&index);
	is_int(count(&index, KIND_BLOCK), WRITTEN - deleted, "exactly the others are left");
	is_int(index.odd_cnt, 0, "whole");
	check_places(&index, "concurrent");
	is_int(log_cnt(), WRITTEN - deleted, "and their logs");
	run(&out, "ls -A '%s' | grep -c tmp", dir);
	is_str(strbuf__str(&out), "0\n", "no temporary file is left");
	record_index__free(&index);
}

static void test_damaged(void)
{
	struct record_index index;
	struct sink *sink;

	new_dir("damaged");
	sink = open_sink(RECORD_JSON, 0);
	append(sink, 0, 0, false);
	sink->ops->free(sink);
	run(&out, "printf 'nonsense\\n\\n{\"type\":\"block\"' >> '%s'", in_dir("blocks.jsonl"));
	index = open_index();
	is_int(count(&index, KIND_BLOCK), 1, "damaged lines: what is whole is found");
	is_int(index.odd_cnt, 2, "the others are counted");
	has_str(index.damage, "blocks.jsonl: no record of jankbpf at byte", "with the place");
	is_int(delete (&index, 1, false), 1, "a block beside them is deleted");
	run(&out, "head -c 8 '%s'", in_dir("blocks.jsonl"));
	is_str(strbuf__str(&out), "nonsense", "and they stay");
	record_index__free(&index);

	new_dir("torn");
	sink = open_sink(RECORD_PROTO, 0);
	append(sink, 0, 0, false);
	sink->ops->free(sink);
	run(&out, "printf '\\377\\377\\377\\377\\377\\377\\377\\377\\377\\377\\377' >> '%s'",
	    in_dir("blocks.pb"));
	index = open_index();
	is_int(count(&index, KIND_BLOCK), 1, "torn messages: up to the damage");
	has_str(index.damage, "blocks.pb: no record", "which is reported");
	record_index__free(&index);
}

static void test_gone(void)
{
	struct record_index index;
	struct sink *sink;

	new_dir("gone");
	sink = open_sink(RECORD_JSON, 0);
	append(sink, 0, 0, false);
	index = open_index();
	run(&out, "rm -rf '%s'", dir);
	refresh(&index);
	ok(index.dirfd < 0 && !count(&index, KIND_BLOCK), "a directory that is removed is empty");
	is_int(delete (&index, 1, false), -ENOENT, "and has nothing to delete");
	append(sink, 1, 0, false);
	refresh(&index);
	ok(index.dirfd >= 0 && count(&index, KIND_BLOCK) == 1,
	   "one that is made again is followed");
	sink->ops->free(sink);
	record_index__free(&index);
}

static void test_full_disk(void)
{
	struct record_index index;
	struct removal removal;
	struct sink *sink;
	int res;

	new_dir("full");
	sink = open_sink(RECORD_JSON, 0);
	for (unsigned i = 0; i < 3; i++)
		append(sink, i, 0, false);
	sink->ops->free(sink);
	index = open_index();
	limit_file_size(100);
	removal__init(&removal, &index, 3, false);
	do
		res = removal__work(&removal, NS_PER_MS);
	while (!res);
	removal__free(&removal);
	limit_file_size(RLIM_INFINITY);
	is_int(res, -EFBIG, "without space for the copy");
	is_int(count(&index, KIND_BLOCK), 3, "nothing is deleted");
	ok(record_index__get(&index, 3, &(int){ 0 }), "nor hidden");
	is_int(log_cnt(), 3, "nor any log");
	run(&out, "ls -A '%s' | grep -c tmp", dir);
	is_str(strbuf__str(&out), "0\n", "and no temporary file is left");
	record_index__free(&index);
}

/* --- more records than the index takes */

/* Block number n, of a delay in ms; on a line of its own, as a trace writes it. */
static void put_line(FILE *file, unsigned n, unsigned ms)
{
	fprintf(file,
		"{\"type\":\"block\",\"schema\":\"jankbpf/1\",\"id\":\"id-%u\",\"start_ns\":1,"
		"\"duration_ns\":%u000000,\"cause\":{\"kind\":\"cpu\",\"signature\":\"%x\"}}\n",
		n, ms, n % 3);
}

static bool has_id(struct record_index *index, const char *id)
{
	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; n < index->files[i].cnt; n++)
			if (index->files[i].records[n].id == record_index__hash(id))
				return true;
	return false;
}

static struct record_index limited_index(size_t limit)
{
	struct record_index index;

	record_index__init(&index, dir, open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	index.limit = limit;
	refresh(&index);
	return index;
}

static void put_many(unsigned cnt)
{
	FILE *file = fopen(in_dir("blocks.jsonl"), "w");

	put_line(file, 0, 7040);
	for (unsigned i = 1; i < cnt; i++) {
		put_line(file, i, i == 100 ? 900 : 30);
		if (i % 10 == 0)
			fputs("no record\n", file);
	}
	fclose(file);
}

static void test_limit(void)
{
	struct record_index index;
	const struct indexed_file *file = &index.files[FILE_JSON];

	new_dir("limit");
	put_many(5000);
	index = limited_index(1024);
	ok(file->cnt <= 1024, "no more records than the limit: %zu", file->cnt);
	is_uint(count(&index, KIND_BLOCK) + file->left_blocks, 5000, "all blocks are counted");
	ok(has_id(&index, "id-0") && has_id(&index, "id-100"), "the longest are there");
	ok(has_id(&index, "id-4999") && has_id(&index, "id-4700"), "so are the newest");
	ok(!has_id(&index, "id-2000"), "an old short one is left out");
	ok(file->scanned == file->size, "the file is read to its end");
	check_places(&index, "with a limit");
	is_int(delete (&index, file->records[0].seq, false), 1, "the longest is deleted");
	ok(!has_id(&index, "id-0"), "and is gone");
	check_places(&index, "with a limit, after a deletion");
	is_int(delete (&index, index.next_seq - 1, true), 1, "all are deleted");
	is_uint(file->size, 0, "also those that were left out");
	is_uint(file->left_cnt + file->left_blocks + file->cnt, 0, "and none is counted");
	record_index__free(&index);
}

#define FIGURES(blocks, total, max)                                                                \
	"\"blocks\":" blocks ",\"total_ns\":" total ",\"max_ns\":" max ",\"p50_ns\":30000000}"

/* Each fault's worst block first, then the longest of all. */
static void test_faults(void)
{
	struct strbuf text = STRBUF_INIT;
	struct listed_block *list;
	struct record_index index;
	uint64_t worst[4];
	size_t cnt;

	new_dir("faults");
	put_many(101);
	index = limited_index(1024);
	is_int(fault_list__make(&index, &list, &cnt), 0, "the blocks are listed");
	is_uint(cnt, 101, "each once");
	fault_list__add_json(&text, list, cnt);
	has_str(strbuf__str(&text), FIGURES("34", "8030000000", "7040000000"),
		"a fault has its sums");
	has_str(strbuf__str(&text), FIGURES("34", "1890000000", "900000000"), "so has another one");
	has_str(strbuf__str(&text), FIGURES("33", "990000000", "30000000"), "and the third");
	is_uint(fault_list__worst(list, cnt, UINT64_MAX, worst, 4), 4, "four of them");
	is_uint(worst[0], 1, "the longest is one");
	is_uint(fault_list__worst(list, cnt, 2, worst, 4), 1, "one is older than the second");
	strbuf__free(&text);
	free(list);
	record_index__free(&index);
}

int main(void)
{
	scratch__init();
	ignore_signals();
	test_one(RECORD_JSON);
	test_one(RECORD_PROTO);
	test_rotated();
	test_locked();
	test_retention();
	test_damaged();
	test_gone();
	test_full_disk();
	test_concurrent();
	test_limit();
	test_faults();
	strbuf__free(&out);
	return tap__done();
}
