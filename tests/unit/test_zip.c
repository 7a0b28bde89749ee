/* SPDX-License-Identifier: GPL-2.0 */
/* Libraries stored in an APK, by the offset at which they are mapped; and hostile archives. */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files/zip.h"
#include "tests/tap.h"
#include "tests/unit/zip_writer.h"

#define PAGE 4096

static struct zip_writer zip;
static size_t small_at, first_at, second_at;

static int file_of(const void *bytes, size_t len)
{
	int fd = memfd_create("zip", MFD_CLOEXEC);

	if (write(fd, bytes, len) != (ssize_t)len)
		perror("write");
	return fd;
}

static int find(const void *bytes, size_t len, uint64_t offset, struct zip_entry *ret)
{
	int fd = file_of(bytes, len), err;

	err = zip_entry__at(fd, offset, ret);
	close(fd);
	return err;
}

static void make(const char *comment)
{
	static uint8_t content[20000];

	memset(&zip, 0, sizeof(zip));
	zip__add(&zip, "AndroidManifest.xml", content, 700, 8, 1);
	small_at = zip__add(&zip, "res/raw", content, 10, 0, 1);
	first_at = zip__add(&zip, "lib/arm64-v8a/libone.so", content, 9000, 0, PAGE);
	second_at = zip__add(&zip, "lib/arm64-v8a/libtwo.so", content, 20000, 0, PAGE);
	zip__add(&zip, "classes.dex", content, 5000, 8, 1);
	zip__finish(&zip, comment);
}

static void test_found(void)
{
	struct zip_entry entry;

	is_int(find(zip.bytes, zip.len, first_at, &entry), 0, "the first library's begin");
	is_str(entry.name, "lib/arm64-v8a/libone.so", "its name");
	is_uint(entry.offset, first_at, "where it begins");
	is_uint(entry.size, 9000, "its size");
	is_int(find(zip.bytes, zip.len, first_at + 2 * PAGE, &entry), 0, "a later page of it");
	is_uint(entry.offset, first_at, "has the same begin");
	is_int(find(zip.bytes, zip.len, second_at + PAGE, &entry), 0, "a page of the second");
	is_str(entry.name, "lib/arm64-v8a/libtwo.so", "its name");
	is_int(find(zip.bytes, zip.len, small_at, &entry), 0, "a stored file of ten bytes");
	is_str(entry.name, "res/raw", "its name");
}

static void test_not_found(void)
{
	struct zip_entry entry;

	is_int(find(zip.bytes, zip.len, 0, &entry), -ENOENT, "a compressed file");
	is_int(find(zip.bytes, zip.len, first_at + 9000, &entry), -ENOENT,
	       "after the first, before the second");
	is_int(find(zip.bytes, zip.len, first_at - 1, &entry), -ENOENT, "the padding before it");
	is_int(find(zip.bytes, zip.len, zip.len + PAGE, &entry), -ENOENT, "after the end");
	is_int(find("PK", 2, 0, &entry), -ENOEXEC, "a file of two bytes");
	is_int(find("", 0, 0, &entry), -ENOEXEC, "an empty file");
	is_int(find(zip.directory, zip.directory_len, 0, &entry), -ENOEXEC, "no end record");
	ok(zip_entry__is_archive("/data/app/base.apk") && !zip_entry__is_archive(".apk") &&
		   !zip_entry__is_archive("base.apk.so"),
	   "archives by their names");
}

/* Any result lies within the bounds of the name and of the archive. */
static bool sane(const struct zip_entry *entry, uint64_t offset)
{
	return strlen(entry->name) < ZIP_NAME_MAX && offset >= entry->offset &&
	       offset - entry->offset < entry->size;
}

static void test_hostile(void)
{
	unsigned bad = 0, found = 0;
	size_t whole = zip.len;
	struct zip_entry entry;

	for (size_t len = whole; len-- > whole - 500;) {
		int err = find(zip.bytes, len, first_at, &entry);

		bad += !err && !sane(&entry, first_at);
	}
	is_uint(bad, 0, "truncated: nothing out of bounds");
	srand(7);
	for (unsigned run = 0; run < 4000; run++) {
		size_t at = rand() % 2 ? whole - 1 - (size_t)rand() % 400
				       : first_at - 1 - (size_t)rand() % 60;
		uint8_t before = zip.bytes[at];

		zip.bytes[at] = (uint8_t)rand();
		if (!find(zip.bytes, whole, first_at, &entry)) {
			found++;
			bad += !sane(&entry, first_at);
		}
		zip.bytes[at] = before;
	}
	is_uint(bad, 0, "a byte changed: nothing out of bounds (%u still found)", found);
	ok(found > 200 && found < 4000, "some are found, some are not");
}

int main(void)
{
	make("");
	test_found();
	test_not_found();
	test_hostile();
	make("a comment, with PK\5\6 in it and 22 bytes more behind it");
	test_found();
	return tap__done();
}
