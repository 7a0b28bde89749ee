/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A damaged file of records, or of marks, in the directory of `serve`: it is indexed, made lines of
 * data, and records are deleted from it; what is not deleted stays, byte by byte.
 */
#include <fcntl.h>

#include "base/clock.h"
#include "export/json/json.h"
#include "export/record_file.h"
#include "serve/marks.h"
#include "serve/removal.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/records.h"
#include "tests/unit/scratch.h"

static struct {
	uint64_t blocks, odd, deleted, marks;
	const char *broken;
} run;

static int dirfd_;

static void put(const char *name, const void *bytes, size_t len)
{
	int fd = openat(dirfd_, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void work(struct record_index *index)
{
	record_index__look(index);
	while (record_index__work(index, NS_PER_SEC))
		;
}

/* The lines of all records. */
static void make_lines(struct record_index *index)
{
	struct strbuf raw = STRBUF_INIT, lines = STRBUF_INIT;
	struct indexed_record *at;
	int file;

	for (uint64_t seq = 0; (at = record_index__from(index, seq, &file)); seq = at->seq + 1) {
		Jankbpf__Record *record;

		strbuf__reset(&lines);
		if (!record_index__read(index, file, at, &raw, &record))
			json__add_record(&lines, record);
		if (lines.len && memchr(lines.data, '\n', lines.len))
			run.broken = "a record is more than a line";
		if (record)
			jankbpf__record__free_unpacked(record, NULL);
		run.blocks += at->kind == KIND_BLOCK;
		run.odd += at->kind == KIND_ODD;
	}
	strbuf__free(&raw);
	strbuf__free(&lines);
}

static uint64_t content_hash(struct record_index *index, bool skip_doomed)
{
	struct strbuf all = STRBUF_INIT;
	uint64_t hash = 0;

	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; n < index->files[i].cnt; n++) {
			const struct indexed_record *at = &index->files[i].records[n];
			char *bytes = skip_doomed && at->doomed ? NULL : malloc(at->len + 1);

			if (!bytes)
				continue;
			if (pread(index->files[i].fd, bytes, at->len, (off_t)at->offset) !=
			    (ssize_t)at->len)
				run.broken = "a record that is not in its file";
			strbuf__add(&all, bytes, at->len);
			free(bytes);
		}
	strbuf__addc(&all, '\0');
	for (size_t i = 0; i < all.len; i++)
		hash = hash * 31 + (unsigned char)all.data[i];
	strbuf__free(&all);
	return hash;
}

static void delete_one(struct record_index *index, uint64_t seq, bool all)
{
	struct removal removal;
	uint64_t before = 0;
	int res;

	removal__init(&removal, index, seq, all);
	do {
		res = removal__work(&removal, 0);
		if (removal.marked && !before)
			before = content_hash(index, true);
	} while (!res);
	removal__free(&removal);
	run.deleted += res == 1;
	if (res == 1 && removal.record_cnt && before != content_hash(index, false))
		run.broken = "a deletion that changed other records";
	if (res < 0 && res != -ENOENT)
		run.broken = "a deletion that failed";
}

static void use_records(struct corpus *c)
{
	struct record_index index;
	bool binary =
		c->len > 1 && (c->bytes[0] & 0x80 || c->bytes[1] == 0x0a) && c->bytes[0] != '\n';
	const char *name = binary ? "blocks.pb" : "blocks.jsonl";

	put(name, c->bytes, c->len);
	record_index__init(&index, scratch_dir, dup(dirfd_));
	work(&index);
	make_lines(&index);
	delete_one(&index, 1 + fuzz__below(&c->fuzz, (unsigned)index.next_seq),
		   fuzz__chance(&c->fuzz, 4));
	work(&index);
	record_index__free(&index);
	unlinkat(dirfd_, name, 0);
}

static void use_marks(struct corpus *c)
{
	struct marks marks = {};

	put(MARKS_NAME, c->bytes, c->len);
	run.marks += !marks__load(&marks, dirfd_);
	marks__mute(&marks, "12ab", true);
	if (marks__save(&marks, dirfd_))
		run.broken = "marks that cannot be saved";
	marks__free(&marks);
	if (marks__load(&marks, dirfd_) || !marks__is_muted(&marks, record_index__hash("12ab")))
		run.broken = "marks that are not what was saved";
	marks__free(&marks);
}

int main(void)
{
	static const char *const words[] = { "read ",	  "muted ",
					     "\n",	  "0123456789abcdef",
					     "\"id\":\"", "\"type\":\"block\"",
					     "\x80\x80",  NULL };
	static const char marks[] = "read 0123456789abcdef\nmuted 5eaebb9add11d7c3\n";
	struct corpus *c = corpus__load("stream", 2000);

	scratch__init();
	dirfd_ = open(scratch_dir, O_RDONLY | O_DIRECTORY);
	corpus__add_records(c, 4096);
	corpus__add(c, marks, sizeof(marks) - 1);
	c->words = words;
	while (corpus__next(c) && !run.broken) {
		use_records(c);
		use_marks(c);
	}
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.blocks && run.odd && run.deleted && run.marks,
	   "%llu blocks, %llu damaged, %llu deletions, %llu marks", (unsigned long long)run.blocks,
	   (unsigned long long)run.odd, (unsigned long long)run.deleted,
	   (unsigned long long)run.marks);
	corpus__end(c);
	return tap__done();
}
