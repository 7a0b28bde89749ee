/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All members of an archive, one after the other, with compressed ones unpacked; also damaged ones.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "files/zip.h"
#include "tests/tap.h"
#include "tests/unit/zip_writer.h"

#define CONTENT_SZ 200000
#define HEAD_SZ	   100
#define PAGE	   4096

static struct zip_writer zip;
static uint8_t content[CONTENT_SZ], packed[CONTENT_SZ + 1000], room[CONTENT_SZ];
static size_t packed_sz, packed_at, stored_at;

/* Some of it repeats, some does not: the packed form is neither tiny nor full-size. */
static void make_content(void)
{
	z_stream z = { .next_in = content, .avail_in = CONTENT_SZ };

	srand(3);
	for (size_t i = 0; i < CONTENT_SZ; i++)
		content[i] = i % 3000 < 1000 ? (uint8_t)rand() : (uint8_t)(i >> 8);
	z.next_out = packed;
	z.avail_out = sizeof(packed);
	deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
	deflate(&z, Z_FINISH);
	packed_sz = z.total_out;
	deflateEnd(&z);
}

/* size: of the compressed member, as the archive says. */
static int make(size_t size)
{
	int fd = memfd_create("zip", MFD_CLOEXEC);

	memset(&zip, 0, sizeof(zip));
	stored_at = zip__add(&zip, "lib/x86_64/liba.so", content, 5000, 0, PAGE);
	packed_at = zip__add_packed(&zip, "lib/x86_64/libb.so", packed, packed_sz, size, 8, 1);
	zip__add(&zip, "strange", content, 10, 12, 1);
	zip__add(&zip, "empty", content, 0, 0, 1);
	zip__finish(&zip, "");
	if (write(fd, zip.bytes, zip.len) != (ssize_t)zip.len)
		perror("write");
	return fd;
}

static void test_members(void)
{
	struct zip_directory dir;
	struct zip_member member;
	int fd = make(CONTENT_SZ);
	size_t at = 0;

	is_int(zip_directory__read(&dir, fd), 0, "an archive");
	is_int(zip_directory__next(&dir, &at, &member), 1, "the first member");
	is_str(member.name, "lib/x86_64/liba.so", "its name");
	ok(!member.deflated && member.offset == stored_at && member.packed == 5000 &&
		   member.size == 5000,
	   "it is stored, at this place");
	is_int(zip_directory__next(&dir, &at, &member), 1, "the second");
	ok(member.deflated && member.offset == packed_at && member.packed == packed_sz &&
		   member.size == CONTENT_SZ,
	   "it is compressed");
	is_int(zip_directory__next(&dir, &at, &member), -ENOENT, "one compressed in another way");
	is_int(zip_directory__next(&dir, &at, &member), 1, "does not hide the one after it");
	is_str(member.name, "empty", "its name");
	is_int(zip_directory__next(&dir, &at, &member), 0, "there are no more");
	is_int(zip_directory__next(&dir, &at, &member), 0, "however often it is asked");
	zip_directory__free(&dir);
	close(fd);
}

/* The compressed one. */
static struct zip_member member_of(int fd)
{
	struct zip_directory dir;
	struct zip_member member;
	size_t at = 0;

	zip_directory__read(&dir, fd);
	zip_directory__next(&dir, &at, &member);
	zip_directory__next(&dir, &at, &member);
	zip_directory__free(&dir);
	return member;
}

static void test_unpacked(void)
{
	int fd = make(CONTENT_SZ), file;
	struct zip_member member = member_of(fd);

	is_int(zip_unpack__head(fd, &member, room, HEAD_SZ), HEAD_SZ, "its begin");
	ok(!memcmp(room, content, HEAD_SZ), "is unchanged");
	is_int(zip_unpack__head(fd, &member, room, sizeof(room)), CONTENT_SZ, "all of it");
	ok(!memcmp(room, content, CONTENT_SZ), "is unchanged");
	file = zip_unpack__file(fd, &member, CONTENT_SZ);
	ok(file >= 0, "as a file");
	memset(room, 0, sizeof(room));
	ok(pread(file, room, sizeof(room), 0) == CONTENT_SZ && !memcmp(room, content, CONTENT_SZ),
	   "is unchanged");
	close(file);
	is_int(zip_unpack__file(fd, &member, CONTENT_SZ - 1), -EFBIG, "more than the limit");
	close(fd);
}

static void check_lie(size_t size, const char *what)
{
	int fd = make(size);
	struct zip_member member = member_of(fd);

	is_int(zip_unpack__file(fd, &member, CONTENT_SZ * 2), -EBADMSG, "%s", what);
	close(fd);
}

static void test_lies(void)
{
	int fd = make(CONTENT_SZ);
	struct zip_member member = member_of(fd);

	check_lie(CONTENT_SZ - 1, "the stated size is too small");
	check_lie(CONTENT_SZ + 1, "the stated size is too large");
	member.packed -= 10;
	is_int(zip_unpack__file(fd, &member, CONTENT_SZ), -EBADMSG, "its end is missing");
	is_int(zip_unpack__head(fd, &member, room, HEAD_SZ), HEAD_SZ, "but its begin is there");
	member.offset = zip.len - 4;
	ok(zip_unpack__file(fd, &member, CONTENT_SZ) < 0, "after the end of the file");
	close(fd);
}

/* A damaged member is an error, or has the stated size. */
static void test_damaged(void)
{
	unsigned bad = 0, whole = 0;
	int fd = make(CONTENT_SZ);
	struct zip_member member = member_of(fd);

	for (unsigned run = 0; run < 300; run++) {
		off_t at = packed_at + (size_t)rand() % packed_sz;
		uint8_t damage = rand();
		int file;

		if (pwrite(fd, &damage, 1, at) != 1)
			perror("pwrite");
		file = zip_unpack__file(fd, &member, CONTENT_SZ);
		if (file >= 0) {
			whole++;
			bad += lseek(file, 0, SEEK_END) != CONTENT_SZ;
			close(file);
		}
		if (pwrite(fd, zip.bytes + at, 1, at) != 1)
			perror("pwrite");
	}
	is_uint(bad, 0, "of the stated size or none (%u still unpacked)", whole);
	ok(whole < 300, "some are refused");
	close(fd);
}

int main(void)
{
	make_content();
	test_members();
	test_unpacked();
	test_lies();
	test_damaged();
	return tap__done();
}
