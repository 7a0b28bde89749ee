/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records of mappings, execs, forks and exits: as the kernel writes them, truncated anywhere, and
 * random bytes. Each is in a buffer of exactly its size, so that the sanitizer catches any access
 * beyond.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/text.h"
#include "tests/tap.h"
#include "uprobes/mmaps.h"

/* A record under construction: a header, numbers, a text padded to 8 bytes, the time. */
struct raw {
	uint8_t bytes[8192];
	size_t len;
};

static void put(struct raw *raw, const void *data, size_t len)
{
	memcpy(raw->bytes + raw->len, data, len);
	raw->len += len;
}

static void put32(struct raw *raw, uint32_t value)
{
	put(raw, &value, sizeof(value));
}

static void put64(struct raw *raw, uint64_t value)
{
	put(raw, &value, sizeof(value));
}

static void put_text(struct raw *raw, const char *text)
{
	static const char zeros[8];

	put(raw, text, strlen(text) + 1);
	put(raw, zeros, -raw->len & 7);
}

static void begin(struct raw *raw, uint32_t type, uint16_t misc)
{
	const struct perf_event_header hdr = { .type = type, .misc = misc };

	raw->len = 0;
	put(raw, &hdr, sizeof(hdr));
}

static void finish(struct raw *raw)
{
	uint16_t size;

	put64(raw, 123456789); /* the time */
	size = (uint16_t)raw->len;
	memcpy(raw->bytes + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

static void make_map(struct raw *raw, uint16_t misc, uint64_t inode, const char *path)
{
	begin(raw, PERF_RECORD_MMAP2, misc);
	put32(raw, 77);
	put32(raw, 78);
	put64(raw, 0x7f0000001000);
	put64(raw, 0x2000);
	put64(raw, 0x3000);
	put32(raw, 254);
	put32(raw, 3);
	put64(raw, inode);
	put64(raw, 9); /* generation */
	put32(raw, 5);
	put32(raw, 2);
	put_text(raw, path);
	finish(raw);
}

static void make_task(struct raw *raw, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid)
{
	begin(raw, type, 0);
	put32(raw, pid);
	put32(raw, ppid);
	put32(raw, tid);
	put32(raw, ppid);
	put64(raw, 1);
	finish(raw);
}

static void make_comm(struct raw *raw, uint16_t misc)
{
	begin(raw, PERF_RECORD_COMM, misc);
	put32(raw, 77);
	put32(raw, 78);
	put_text(raw, "name");
	finish(raw);
}

/* Only the given bytes of it exist. */
static bool decode_bytes(const void *bytes, size_t len, struct mmaps_record *ret)
{
	void *copy = malloc(len ? len : 1);
	bool good;

	memcpy(copy, bytes, len);
	memset(ret, 0xa5, sizeof(*ret));
	good = mmaps_record__decode(copy, len, ret);
	free(copy);
	return good;
}

static bool decode(const struct raw *raw, struct mmaps_record *ret)
{
	return decode_bytes(raw->bytes, raw->len, ret);
}

static void test_map(void)
{
	struct mmaps_record rec;
	struct raw raw;

	make_map(&raw, 0, 42, "/usr/lib/libuv.so.1");
	ok(decode(&raw, &rec) && rec.kind == MMAPS_MAP, "a mapping");
	is_int(rec.map.pid, 77, "its process");
	is_uint(rec.map.start, 0x7f0000001000, "its begin");
	is_uint(rec.map.len, 0x2000, "its length");
	is_uint(rec.map.file_offset, 0x3000, "its offset in the file");
	is_uint(rec.map.dev, makedev(254, 3), "its device");
	is_uint(rec.map.inode, 42, "its inode");
	is_str(rec.map.path, "/usr/lib/libuv.so.1", "its path");
	is_str(text__base_name(rec.map.path), "libuv.so.1", "the last part of it");
	is_str(text__base_name("libuv"), "libuv", "the last part of a path without any '/'");
	make_map(&raw, 0, 42, "/usr/lib/libuv.so.1 (deleted)");
	ok(decode(&raw, &rec), "a deleted file's");
	is_str(rec.map.path, "/usr/lib/libuv.so.1", "… without the word");
	make_map(&raw, 0, 42, "/a\nb\xff\x80 c");
	ok(decode(&raw, &rec), "a name may have any bytes");
	is_str(rec.map.path, "/a\nb\xff\x80 c", "… unchanged");
}

static void test_not_files(void)
{
	static const char *const names[] = {
		"",  "//anon", "[vdso]", "/", "//enomem", "//toolong", "anon_inode:[perf_event]",
		"x",
	};
	struct mmaps_record rec;
	struct raw raw;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		make_map(&raw, 0, 42, names[i]);
		ok(!decode(&raw, &rec), "no file: '%s'", names[i]);
	}
	make_map(&raw, 0, 0, "/lib/x");
	ok(!decode(&raw, &rec), "no inode");
	make_map(&raw, PERF_RECORD_MISC_MMAP_BUILD_ID, 42, "/lib/x");
	ok(!decode(&raw, &rec), "a build id in place of the inode");
}

static void test_long(void)
{
	char path[PATH_MAX + 64];
	struct mmaps_record rec;
	struct raw raw;

	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[PATH_MAX - 1] = 0;
	make_map(&raw, 0, 42, path);
	ok(decode(&raw, &rec) && strlen(rec.map.path) == PATH_MAX - 1, "the longest path");
	path[PATH_MAX - 1] = 'a';
	path[PATH_MAX] = 0;
	make_map(&raw, 0, 42, path);
	ok(!decode(&raw, &rec), "a longer one");
	make_map(&raw, 0, 42, "/lib/1234567");
	memset(raw.bytes + raw.len - 16, 'x', 8); /* the end of the text, including its NUL */
	ok(decode(&raw, &rec) && strstr(rec.map.path, "xxxxxxxx"), "a path without an end");
	is_str(rec.map.path, "/lib/123xxxxxxxx", "… ends where the time begins");
}

static void test_tasks(void)
{
	struct mmaps_record rec;
	struct raw raw;

	make_comm(&raw, PERF_RECORD_MISC_COMM_EXEC);
	ok(decode(&raw, &rec) && rec.kind == MMAPS_EXEC && rec.pid == 77, "an exec");
	make_comm(&raw, 0);
	ok(!decode(&raw, &rec), "only a change of name");
	make_task(&raw, PERF_RECORD_FORK, 80, 77, 80);
	ok(decode(&raw, &rec) && rec.kind == MMAPS_FORK && rec.pid == 80 && rec.parent == 77,
	   "a fork");
	make_task(&raw, PERF_RECORD_FORK, 77, 77, 81);
	ok(!decode(&raw, &rec), "a new thread");
	make_task(&raw, PERF_RECORD_EXIT, 77, 1, 81);
	ok(decode(&raw, &rec) && rec.kind == MMAPS_EXIT && rec.pid == 77 && rec.tid == 81,
	   "a thread's end");
	make_task(&raw, PERF_RECORD_EXIT, 0, 1, 0);
	ok(!decode(&raw, &rec), "a process of another pid namespace");
	make_task(&raw, PERF_RECORD_FORK, (uint32_t)-1, 1, (uint32_t)-1);
	ok(!decode(&raw, &rec), "an ended one");
	begin(&raw, PERF_RECORD_LOST, 0);
	put64(&raw, 5);
	put64(&raw, 1234);
	finish(&raw);
	ok(decode(&raw, &rec) && rec.kind == MMAPS_LOST && rec.lost_cnt == 1234, "records lost");
	begin(&raw, PERF_RECORD_THROTTLE, 0);
	put64(&raw, 5);
	finish(&raw);
	ok(!decode(&raw, &rec), "an unknown kind");
}

/*
 * Truncated anywhere, once with the original size in its header, once with the size that is left.
 */
static void test_cut(void)
{
	struct raw raws[5], cut;
	struct mmaps_record rec;
	unsigned wrong = 0;

	make_map(&raws[0], 0, 42, "/usr/lib/libuv.so.1 (deleted)");
	make_comm(&raws[1], PERF_RECORD_MISC_COMM_EXEC);
	make_task(&raws[2], PERF_RECORD_FORK, 80, 77, 80);
	make_task(&raws[3], PERF_RECORD_EXIT, 80, 77, 80);
	begin(&raws[4], PERF_RECORD_LOST, 0);
	put64(&raws[4], 5);
	put64(&raws[4], 1);
	finish(&raws[4]);
	for (size_t i = 0; i < 5; i++) {
		for (size_t len = 0; len < raws[i].len; len++) {
			uint16_t size = (uint16_t)len;

			wrong += decode_bytes(raws[i].bytes, len, &rec);
			cut = raws[i];
			memcpy(cut.bytes + 6, &size, sizeof(size));
			if (decode_bytes(cut.bytes, len, &rec) && rec.kind == MMAPS_MAP)
				wrong += strlen(rec.map.path) >= len;
		}
	}
	is_uint(wrong, 0, "truncated records give nothing that is not in them");
}

static void test_random(void)
{
	static const uint32_t types[] = { PERF_RECORD_MMAP2, PERF_RECORD_COMM, PERF_RECORD_FORK,
					  PERF_RECORD_EXIT, PERF_RECORD_LOST };
	struct mmaps_record rec;
	unsigned good = 0, bad = 0;

	srand(1);
	for (unsigned run = 0; run < 20000; run++) {
		struct raw raw = { .len = (size_t)rand() % 200 };
		uint16_t size = (uint16_t)raw.len;

		for (size_t i = 0; i < raw.len; i++)
			raw.bytes[i] = (uint8_t)rand();
		memcpy(raw.bytes, &types[run % 5], 4);
		memcpy(raw.bytes + 6, &size, sizeof(size));
		if (raw.len > 72)
			raw.bytes[72] = '/';
		if (!decode(&raw, &rec))
			continue;
		good++;
		bad += rec.kind != MMAPS_LOST && rec.pid <= 0;
		bad += rec.kind == MMAPS_MAP &&
		       (rec.map.path[0] != '/' || strlen(rec.map.path) >= raw.len);
	}
	ok(good > 1000, "random bytes: some are records (%u)", good);
	is_uint(bad, 0, "… and those are whole");
}

int main(void)
{
	test_map();
	test_not_files();
	test_long();
	test_tasks();
	test_cut();
	test_random();
	return tap__done();
}
