/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records are written to a file and read back. Whatever happened to the file, no partial record is
 * accepted.
 */
#include "journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/file.h"
#include "schema/journal.pb-c.h"
#include "tests/tap.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/scratch.h"

#define HEADER_SZ 16
#define FLUSH_AT  (256 * 1024)
#define FILE_MAX  (64 << 20)

static char path[64];

static void spew(const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || file__write_all(fd, bytes, len))
		abort();
	close(fd);
}

static void slurp(struct strbuf *sb)
{
	strbuf__reset(sb);
	if (file__read(path, FILE_MAX, sb))
		abort();
}

static struct journal_writer *writer(void)
{
	struct journal_writer *jw = NULL;
	struct err err = { 0 };

	int fd = journal__create(path, &err);

	if (fd < 0 || journal_writer__new(fd, &jw, &err))
		ok(false, "a journal is begun: %s", err.msg);
	return jw;
}

/* A message of about that many bytes; its name is all `letter`. */
static int add_message(struct journal_writer *jw, enum journal_kind kind, char letter, size_t len)
{
	Jankbpf__Identity message = JANKBPF__IDENTITY__INIT;
	char *name = calloc(len + 1, 1);
	int res;

	if (!name)
		abort();
	memset(name, letter, len);
	message.name = name;
	res = journal_writer__message(jw, kind, &message.base);
	free(name);
	return res;
}

/* Does the record contain the message of add_message? */
static bool has_message(const struct jank_rec *rec, char letter, size_t len)
{
	Jankbpf__Identity *message =
		(Jankbpf__Identity *)journal__message(rec, &jankbpf__identity__descriptor);
	bool ret = message && message->name && strlen(message->name) == len;

	for (size_t i = 0; ret && i < len; i++)
		ret = message->name[i] == letter;
	jankbpf__identity__free_unpacked(message, NULL);
	return ret;
}

/* Does a record without a message give one? */
static bool has_any(const struct jank_rec *rec)
{
	ProtobufCMessage *message = journal__message(rec, &jankbpf__identity__descriptor);

	protobuf_c_message_free_unpacked(message, NULL);
	return message;
}

/* Reads the file to its end; returns the number of whole records and how it ended. */
static unsigned count_records(int *ret)
{
	const struct jank_rec *rec;
	struct journal_reader *jr;
	struct err err = { 0 };
	unsigned cnt = 0;

	*ret = journal_reader__new(path, &jr, &err);
	if (*ret)
		return 0;
	while ((*ret = journal_reader__next(jr, &rec)) > 0)
		cnt++;
	if (journal_reader__next(jr, &rec) != *ret)
		ok(false, "the end stays the end");
	journal_reader__free(jr);
	return cnt;
}

static void test_round_trip(void)
{
	struct fixture_stack stack = fixture__stack(11, 100, 110, 50);
	struct jank_rec_block block = fixture__block(11, 100, 200);
	struct journal_writer *jw = writer();
	const struct jank_rec *rec;
	struct journal_reader *jr;
	struct err err = { 0 };
	struct stat st;

	is_int(add_message(jw, JOURNAL_SESSION, 'a', 3), 0, "a message is added");
	is_int(journal_writer__raw(jw, &stack, stack.rec.hdr.size), 0, "a raw record");
	is_int(journal_writer__raw(jw, &block, sizeof(block)), 0, "another one");
	is_int(add_message(jw, JOURNAL_END, 'e', 6), 0, "a message of 8 bytes");
	is_int(add_message(jw, JOURNAL_PROCESS, 0, 0), 0, "a message of an empty name");
	journal_writer__free(jw);
	ok(!stat(path, &st) && (st.st_mode & 0777) == 0600, "only the owner can read its file");
	is_int(journal_reader__new(path, &jr, &err), 0, "it can be read");
	for (int pass = 0; pass < 2; pass++) {
		is_int(journal_reader__next(jr, &rec), 1, "the first record");
		ok(rec->kind == JOURNAL_SESSION && rec->size % 8 == 0, "is the first");
		ok(has_message(rec, 'a', 3), "with its message, without the padding");
		is_int(journal_reader__next(jr, &rec), 1, "the second");
		is_mem(rec, &stack, stack.rec.hdr.size, "is the stack");
		ok(!has_any(rec), "which holds no message");
		is_int(journal_reader__next(jr, &rec), 1, "the third");
		is_mem(rec, &block, sizeof(block), "is the block");
		is_int(journal_reader__next(jr, &rec), 1, "the fourth");
		ok(has_message(rec, 'e', 6) && rec->size == sizeof(*rec) + 8, "needs no padding");
		is_int(journal_reader__next(jr, &rec), 1, "the fifth");
		ok(has_message(rec, 0, 0), "has its empty name");
		is_int(journal_reader__next(jr, &rec), 0, "then it ends");
		is_int(journal_reader__rewind(jr), 0, "and can be read again from the start");
	}
	journal_reader__free(jr);
	journal_reader__free(NULL);
	journal_writer__free(NULL);
}

/* Records larger than a read, and a file larger than the buffer. */
static void test_large(void)
{
	struct journal_writer *jw = writer();
	const struct jank_rec *rec;
	struct journal_reader *jr;
	struct err err = { 0 };
	size_t len = 0;
	bool same = true;

	for (int i = 0; i < 40; i++)
		add_message(jw, JOURNAL_FRAMES, (char)('A' + i), (size_t)i * 2991);
	journal_writer__free(jw);
	journal_reader__new(path, &jr, &err);
	for (int i = 0; i < 40; i++) {
		if (journal_reader__next(jr, &rec) != 1)
			break;
		len += rec->size;
		same &= has_message(rec, (char)('A' + i), (size_t)i * 2991);
		same &= (uintptr_t)rec % 8 == 0;
	}
	ok(same && len > 2 << 20, "records come back whole and aligned from %zu bytes", len);
	is_int(journal_reader__next(jr, &rec), 0, "all of them");
	journal_reader__free(jr);
}

static void test_too_large(void)
{
	struct journal_writer *jw = writer();
	int end;

	is_int(add_message(jw, JOURNAL_FRAMES, 'x', (1 << 20) - 40), 0,
	       "a message of a megabyte is taken");
	is_int(add_message(jw, JOURNAL_FRAMES, 'x', (1 << 20) + 10), -EMSGSIZE, "more is refused");
	journal_writer__free(jw);
	ok(count_records(&end) == 1 && !end, "the refused message left no trace");
}

/* The bytes of a small journal, and where its records end. */
static void small_journal(struct strbuf *bytes, size_t ends[], unsigned *cnt)
{
	struct fixture_stack stack = fixture__stack(11, 100, 110, 50);
	struct journal_writer *jw = writer();
	size_t at = HEADER_SZ;

	add_message(jw, JOURNAL_SESSION, 's', 14);
	journal_writer__raw(jw, &stack, stack.rec.hdr.size);
	add_message(jw, JOURNAL_END, 'e', 2);
	journal_writer__free(jw);
	slurp(bytes);
	for (*cnt = 0; at < bytes->len; (*cnt)++) {
		struct jank_rec rec;

		memcpy(&rec, bytes->data + at, sizeof(rec));
		at += rec.size;
		ends[*cnt] = at;
	}
}

static void test_torn(void)
{
	struct strbuf bytes = STRBUF_INIT;
	unsigned cnt, bad = 0;
	size_t ends[8];

	small_journal(&bytes, ends, &cnt);
	is_uint(cnt, 3, "a journal of three records");
	for (size_t len = HEADER_SZ; len <= bytes.len; len++) {
		unsigned want = 0;
		int end;

		while (want < cnt && ends[want] <= len)
			want++;
		spew(bytes.data, len);
		if (count_records(&end) != want)
			bad++;
		if (end != (len == HEADER_SZ || (want && ends[want - 1] == len) ? 0 : -EBADMSG))
			bad++;
	}
	is_uint(bad, 0, "torn at any byte, it gives its whole records and reports the rest");
	strbuf__free(&bytes);
}

static void is_refused(const char *words, const char *what)
{
	struct journal_reader *jr = NULL;
	struct err err = { 0 };

	is_int(journal_reader__new(path, &jr, &err), -EINVAL, "%s is refused", what);
	has_str(err.msg, words, "with these words");
	has_str(err.msg, path, "and its name");
	ok(!jr, "and no reader");
}

static void test_foreign(void)
{
	struct strbuf bytes = STRBUF_INIT;
	unsigned cnt;
	size_t ends[8];

	small_journal(&bytes, ends, &cnt);
	for (size_t len = 0; len < HEADER_SZ; len += 5) {
		spew(bytes.data, len);
		is_refused("is no journal of jankbpf: too short", "a header cut short");
	}
	spew("{\"type\":\"block\"}\n", 17);
	is_refused("is no journal of jankbpf", "another file");
	bytes.data[7] = '!';
	spew(bytes.data, bytes.len);
	is_refused("is no journal of jankbpf", "almost the magic");
	bytes.data[7] = '\0';
	bytes.data[8] = JANK_ABI_VERSION + 1;
	spew(bytes.data, bytes.len);
	is_refused("has version 3, this program reads version 2", "a later version");
	bytes.data[8] = JANK_ABI_VERSION;
	bytes.data[12] = HEADER_SZ + 8;
	spew(bytes.data, bytes.len);
	is_refused("this program reads version", "another header");
	strbuf__free(&bytes);
}

static void test_places(void)
{
	struct journal_reader *jr = NULL;
	struct err err = { 0 };

	unlink(path);
	is_int(journal_reader__new(path, &jr, &err), -ENOENT, "a missing file cannot be read");
	has_str(err.msg, "No such file", "the message says so");
	is_int(journal_reader__new(scratch_dir, &jr, &err), -EINVAL, "nor a directory");
	is_int(journal__create(scratch_dir, &err), -EISDIR, "nor can it be written");
	is_int(mkfifo(path, 0600), 0, "a pipe");
	is_int(journal_reader__new(path, &jr, &err), -EINVAL, "a FIFO cannot be read as a journal");
	is_int(journal__create(path, &err), -ENXIO, "nor written: no wait for a reader");
	unlink(path);
	is_int(symlink("/tmp/jank-must-not-be-made", path), 0, "a link in its place");
	is_int(journal__create(path, &err), -ELOOP, "is not followed");
	ok(access("/tmp/jank-must-not-be-made", F_OK), "its target is not created");
	unlink(path);
	is_int(journal__create("/nonexistent/j", &err), -ENOENT, "no directory, no journal");
	ok(!jr, "nothing is left open");
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	return stat(name, &st) ? 0 : st.st_mode & 07777;
}

static void was_kept(const char *why)
{
	struct strbuf bytes = STRBUF_INIT;

	slurp(&bytes);
	is_str(strbuf__str(&bytes), "precious", "%s: the file keeps its content", why);
	strbuf__free(&bytes);
}

/* Files that another user may have put in the journal's place. */
static void test_planted(void)
{
	struct err err = { 0 };
	char other[80];

	snprintf(other, sizeof(other), "%s-2", path);
	spew("precious", 8);
	chmod(path, 0666);
	if (link(path, other))
		abort();
	is_int(journal__create(path, &err), -EPERM, "a file with two names is refused");
	has_str(err.msg, "has other names (hard links): remove it, or choose another name",
		"with the remedy");
	was_kept("two names");
	unlink(other);
	journal_writer__free(writer());
	is_int(mode_of(path), 0600, "a file of our own is taken: only we can read it now");
	if (geteuid()) {
		skip(4, "needs root to make another user's file");
		return;
	}
	spew("precious", 8);
	if (chmod(path, 0666) || chown(path, 65534, 65534))
		abort();
	is_int(journal__create(path, &err), -EPERM, "another user's file is refused");
	has_str(err.msg, "belongs to user id 65534: remove it", "with the remedy");
	was_kept("another user's");
	is_int(mode_of(path), 0666, "and its mode");
	unlink(path);
}

/* Damage in the middle of a file, which no crash can cause. */
static void test_bad_sizes(void)
{
	static const uint32_t sizes[] = {
		0, 8, 31, 33, 100, (1 << 20) + 8, UINT32_MAX, UINT32_MAX - 7
	};
	struct strbuf bytes = STRBUF_INIT;
	unsigned cnt;
	size_t ends[8];

	small_journal(&bytes, ends, &cnt);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int end;

		memcpy(bytes.data + ends[0], &sizes[i], sizeof(sizes[i]));
		spew(bytes.data, bytes.len);
		is_uint(count_records(&end), 1, "a record of size %u ends the reading", sizes[i]);
		is_int(end, -EBADMSG, "as torn");
	}
	strbuf__free(&bytes);
}

/* A record of a later version may be only a header. */
static void test_bare(void)
{
	const struct jank_rec rec = { .size = sizeof(rec), .kind = 99 };
	struct journal_writer *jw = writer();
	int end;

	journal_writer__raw(jw, &rec, sizeof(rec));
	journal_writer__free(jw);
	ok(count_records(&end) == 1 && !end, "only a header is a valid record");
}

/* Bodies that are no message of their kind, or have too much padding. */
static void test_bad_message(void)
{
	static const uint8_t bodies[][8] = {
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, /* a tag of no end */
		{ 4 << 3 | 2, 200, 'x' }, /* a name longer than the record */
		{ 4 << 3 | 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 'x' },    /* of 4 GiB */
		{ 1 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, /* a number of no end */
		{ 1 << 3 | 7, 1 },				      /* no such wire type */
	};
	struct jank_rec *rec = calloc(1, 40);

	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		*rec = fixture__hdr(JOURNAL_PROCESS, 40, 0);
		memcpy(rec + 1, bodies[i], 8);
		ok(!has_any(rec), "body %zu holds no message", i);
	}
	memcpy(rec + 1, (const uint8_t[8]){ 4 << 3 | 2, 2, 'a', 'a' }, 8);
	rec->flags = 4;
	ok(has_message(rec, 'a', 2), "a short one does");
	rec->flags = 9;
	ok(!has_any(rec), "padding beyond its body does not");
	rec->flags = UINT16_MAX;
	ok(!has_any(rec), "nor by far");
	rec->flags = 0;
	rec->size = sizeof(*rec);
	ok(has_any(rec), "a record without a body holds a message without fields");
	rec->kind = JANK_REC_EXEC;
	ok(!has_any(rec), "the kernel's records hold none");
	free(rec);
}

static void limit_files(rlim_t size)
{
	const struct rlimit limit = { size, RLIM_INFINITY };

	if (setrlimit(RLIMIT_FSIZE, &limit))
		abort();
}

/* A file at its size limit behaves like a full disk. */
static void test_full(void)
{
	struct jank_rec_block block = fixture__block(11, 100, 200);
	struct journal_writer *jw = writer();
	int end, first;

	add_message(jw, JOURNAL_SESSION, 's', 2);
	is_int(journal_writer__flush(jw), 0, "a first flush");
	limit_files(1000);
	for (int i = 0; i < 3; i++)
		journal_writer__raw(jw, &block, sizeof(block));
	is_int(journal_writer__flush(jw), 0, "a second one, to just below the limit");
	for (int i = 0; i < 4; i++)
		journal_writer__raw(jw, &block, sizeof(block));
	first = journal_writer__flush(jw);
	is_int(first, -EFBIG, "a third one finds the disk full");
	is_uint(count_records(&end), 4, "the records before are whole");
	is_int(end, 0, "and nothing else is there");
	limit_files(RLIM_INFINITY);
	journal_writer__raw(jw, &block, sizeof(block));
	is_int(journal_writer__flush(jw), 0, "with room again, writing goes on");
	journal_writer__free(jw);
	ok(count_records(&end) == 5 && !end, "after the last whole record");
}

/* Full from the start: header and session are kept for later, records are not. */
static void test_full_header(void)
{
	struct jank_rec_block block = fixture__block(11, 100, 200);
	struct journal_writer *jw;
	unsigned failures = 0, cnt = 0;
	int end;

	limit_files(10);
	jw = writer();
	add_message(jw, JOURNAL_SESSION, 's', 2);
	add_message(jw, JOURNAL_PROCESS, 's', 2);
	is_int(journal_writer__flush(jw), -EFBIG, "no room for the header");
	for (size_t put = 0; put < 8 * FLUSH_AT; put += sizeof(block), cnt++)
		failures += journal_writer__raw(jw, &block, sizeof(block)) != 0;
	ok(failures > 0 && failures < 20, "buffered records are dropped now and then (%u of %u)",
	   failures, cnt);
	journal_writer__flush(jw);
	is_uint(count_records(&end), 0, "no record is there");
	limit_files(RLIM_INFINITY);
	journal_writer__raw(jw, &block, sizeof(block));
	is_int(journal_writer__flush(jw), 0, "with room again, writing goes on");
	journal_writer__free(jw);
	ok(count_records(&end) == 2 && !end, "after header and session, with new records only");
}

/* On a really full disk, where one is possible. */
static void test_full_disk(void)
{
	struct fixture_stack stack = fixture__stack(11, 100, 110, 50);
	struct journal_writer *jw;
	struct strbuf out = STRBUF_INIT;
	bool failed = false;
	char old[64];
	int end;

	snprintf(old, sizeof(old), "%s", path);
	snprintf(path, sizeof(path), "/dev/full");
	is_int(journal__create(path, &(struct err){ 0 }), -EINVAL, "/dev/full is no regular file");
	snprintf(path, sizeof(path), "%s", old);
	limit_files(3 * FLUSH_AT);
	jw = writer();
	for (int i = 0; i < 10000 && !failed; i++)
		failed = journal_writer__raw(jw, &stack, stack.rec.hdr.size);
	ok(failed, "the disk is full at last");
	slurp(&out);
	ok(count_records(&end) == (out.len - HEADER_SZ) / stack.rec.hdr.size && !end,
	   "only whole records are on it");
	journal_writer__free(jw);
	limit_files(RLIM_INFINITY);
	strbuf__free(&out);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	scratch__init();
	snprintf(path, sizeof(path), "%s", scratch__path("journal"));
	test_round_trip();
	test_large();
	test_too_large();
	test_torn();
	test_foreign();
	test_places();
	test_planted();
	test_bad_sizes();
	test_bare();
	test_bad_message();
	test_full();
	test_full_header();
	test_full_disk();
	return tap__done();
}
