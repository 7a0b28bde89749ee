/* SPDX-License-Identifier: GPL-2.0 */
/* What was read and muted: in memory, in its file, and with a damaged or hostile file. */
#include "export/record_file.h"
#include "serve/marks.h"

#include <errno.h>
#include <fcntl.h>

#include "serve/record_index.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define SIG "5eaebb9add11d7c3"

static int dirfd_;

static void put(const char *text)
{
	unlink(scratch__path(MARKS_NAME));
	scratch__write_text(MARKS_NAME, text);
}

static struct marks loaded(void)
{
	struct marks marks = {};

	is_int(marks__load(&marks, dirfd_), 0, "the file is read");
	return marks;
}

static unsigned muted_cnt;

static void count(void *ctx, const char *signature)
{
	muted_cnt++;
}

static void test_kept(void)
{
	struct marks marks = {};

	is_int(marks__load(&marks, dirfd_), 0, "no file: no marks");
	ok(!marks__is_read(&marks, 1), "nothing is read");
	marks__set_read(&marks, 1);
	marks__set_read(&marks, UINT64_MAX);
	is_int(marks__mute(&marks, SIG, true), 0, "a signature is muted");
	ok(marks.changed && marks.due_ns, "there is something to save");
	is_int(marks__save(&marks, dirfd_), 0, "saved");
	ok(!marks.changed && !marks.due_ns, "and nothing more to save");
	marks__free(&marks);

	marks = loaded();
	ok(marks__is_read(&marks, 1) && marks__is_read(&marks, UINT64_MAX) &&
		   !marks__is_read(&marks, 2),
	   "what was read is known again");
	ok(marks__is_muted(&marks, record_index__hash(SIG)), "and what was muted");
	ok(!marks.changed, "reading changes nothing");
	marks__mute(&marks, SIG, false);
	ok(!marks__is_muted(&marks, record_index__hash(SIG)), "muting is undone");
	marks__save(&marks, dirfd_);
	marks__free(&marks);
	marks = loaded();
	ok(!marks__is_muted(&marks, record_index__hash(SIG)), "for good");
	marks__free(&marks);
}

static void test_signatures(void)
{
	static const char *const bad[] = {
		"",
		"xyz",
		"ABC",
		"5e\nread 1",
		"<b>",
		"5e ",
		"00000000000000000000000000000000000000000000000000000000000000000"
	};
	struct marks marks = {};
	char sig[32];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		is_int(marks__mute(&marks, bad[i], true), -EINVAL, "no signature: %s", bad[i]);
	for (unsigned i = 0; i < MARKS_MUTE_MAX; i++) {
		snprintf(sig, sizeof(sig), "%x", i);
		if (marks__mute(&marks, sig, true))
			ok(false, "%u are muted", i);
	}
	is_int(marks__mute(&marks, "ffffff", true), -ENOSPC, "no more than that");
	is_int(marks__mute(&marks, "0", true), 0, "one of them again");
	muted_cnt = 0;
	marks__each_muted(&marks, count, NULL);
	is_int(muted_cnt, MARKS_MUTE_MAX, "each is listed once");
	marks__free(&marks);
}

static void test_bounded(void)
{
	struct marks marks = {};

	for (uint64_t i = 1; i <= MARKS_READ_MAX + 1; i++)
		marks__set_read(&marks, i);
	ok(!marks__is_read(&marks, 1) && marks__is_read(&marks, 2) &&
		   marks__is_read(&marks, MARKS_READ_MAX + 1),
	   "the oldest mark gives way");
	is_int(marks__save(&marks, dirfd_), 0, "all are saved");
	marks__free(&marks);
	marks = loaded();
	ok(marks__is_read(&marks, 2) && marks__is_read(&marks, MARKS_READ_MAX + 1),
	   "and read again");
	marks__free(&marks);
}

static bool is_even(void *ctx, uint64_t id)
{
	return id % 2 == 0;
}

static void test_prune(void)
{
	struct marks marks = {};

	marks__set_read(&marks, 1);
	marks__set_read(&marks, 2);
	marks__prune(&marks, is_even, NULL);
	ok(!marks__is_read(&marks, 1) && marks__is_read(&marks, 2),
	   "marks of blocks that are gone are forgotten");
	marks__free(&marks);
}

static void test_damaged(void)
{
	struct marks marks;

	put("nonsense\nread 12\nread 000000000000000g\nmuted <script>\nread 0000000000000003\n"
	    "read 0000000000000004");
	marks = loaded();
	ok(marks__is_read(&marks, 3) && marks__is_read(&marks, 4) && !marks__is_read(&marks, 0x12),
	   "what is whole in a damaged file is used");
	marks__free(&marks);
}

static void test_hostile(void)
{
	struct marks marks = {};
	int fd;

	unlink(scratch__path(MARKS_NAME));
	if (symlink("/etc/passwd", scratch__path(MARKS_NAME)))
		abort();
	ok(marks__load(&marks, dirfd_) < 0, "a link is not followed");
	marks__set_read(&marks, 1);
	is_int(marks__save(&marks, dirfd_), 0, "saving replaces it");
	marks__free(&marks);
	unlink(scratch__path(MARKS_NAME));
	fd = open(scratch__path(MARKS_NAME), O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 1ll << 40))
		abort();
	close(fd);
	is_int(marks__load(&marks, dirfd_), -EFBIG, "a huge file is not read");
	unlink(scratch__path(MARKS_NAME));
	if (mkfifo(scratch__path(MARKS_NAME), 0600))
		abort();
	ok(marks__load(&marks, dirfd_) < 0, "a pipe does not block");
	unlink(scratch__path(MARKS_NAME));
	marks__set_read(&marks, 1);
	is_int(marks__save(&marks, -1), -ENOENT, "a directory that is gone");
	ok(marks.changed && marks.save_error && marks__is_read(&marks, 1), "loses no mark");
	marks__free(&marks);
}

int main(void)
{
	scratch__init();
	dirfd_ = open(scratch_dir, O_RDONLY | O_DIRECTORY);
	test_kept();
	test_signatures();
	test_bounded();
	test_prune();
	test_damaged();
	test_hostile();
	close(dirfd_);
	return tap__done();
}
