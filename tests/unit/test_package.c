/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The package that a file says it comes from: APKs that aapt and aapt2 of Android 10 made of
 * tests/apk/AndroidManifest.xml, manifests in other forms and damaged ones, and this program, which
 * has package metadata.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "symbol/elf/elf.h"
#include "tests/tap.h"
#include "tests/unit/zip_writer.h"

#define CODE	   0x0101021b
#define NAME	   0x0101021c
#define CODE_MAJOR 0x01010576
#define NONE	   UINT32_MAX

#define METADATA                                                                                   \
	"{\"type\":\"deb\",\"name\":\"janky\",\"version\":\"1.2-3\",\"architecture\":\"amd64\"}"

static const struct {
	Elf64_Nhdr head;
	char owner[4];
	char text[(sizeof(METADATA) + 3) & ~3u];
} note __attribute__((section(".note.package"), aligned(4),
		      used)) = { { 4, sizeof(METADATA), 0xcafe1a7e }, "FDO", METADATA };

static void check(const char *what, int res, const struct package *package, const char *name,
		  const char *version, uint64_t code)
{
	is_int(res, 0, "%s: read", what);
	is_str(package->name, name, "%s: name", what);
	is_str(package->version, version, "%s: version", what);
	is_uint(package->code, code, "%s: version code", what);
}

static void check_file(const char *path, const char *name, const char *version, uint64_t code)
{
	struct package package;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	check(path, package__of_file(fd, &package), &package, name, version, code);
	close(fd);
}

static void check_files(void)
{
	struct package package;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), text = memfd_create("text", 0);

	check("this program", package__of_file(fd, &package), &package, "janky", "1.2-3", 0);
	close(fd);
	check_file("tests/apk/aapt.apk", "org.example.jank", "1.2.3-β", 45);
	check_file("tests/apk/aapt2.apk", "org.example.jank", "1.2.3-β", 45);
	fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	is_int(package__of_file(fd, &package), -ENOENT, "a program without metadata");
	ok(!*package.name && !*package.version, "has no package");
	close(fd);
	ok(write(text, "PK", 2) == 2 && package__of_file(text, &package) == -ENOEXEC,
	   "neither an executable nor an archive");
	close(text);
}

/* --- manifests in other forms */

struct writer {
	uint8_t bytes[8192];
	size_t len;
};

static void put(struct writer *w, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		w->bytes[w->len++] = i < 8 ? (uint8_t)(value >> 8 * i) : 0;
}

static void set32(struct writer *w, size_t at, uint32_t value)
{
	memcpy(w->bytes + at, &value, sizeof(value));
}

static void put_chunk(struct writer *w, uint16_t kind, uint16_t head)
{
	put(w, kind, 2);
	put(w, head, 2);
	put(w, 0, 4); /* its size, which end_chunk sets */
}

static void end_chunk(struct writer *w, size_t begin)
{
	while (w->len % 4)
		put(w, 0, 1);
	set32(w, begin + 4, (uint32_t)(w->len - begin));
}

static void put_length(struct writer *w, size_t len, bool utf8)
{
	if (utf8 && len >= 0x80)
		put(w, 0x80 | len >> 8, 1);
	put(w, utf8 ? len & 0xff : len, utf8 ? 1 : 2);
}

struct string {
	const void *units; /* UTF-8 or UTF-16 */
	size_t cnt;
};

static void put_strings(struct writer *w, const struct string *strings, size_t cnt, bool utf8)
{
	size_t begin = w->len, data;

	put_chunk(w, 1, 28);
	put(w, cnt, 4);
	put(w, 0, 4);
	put(w, utf8 ? 0x100 : 0, 4);
	put(w, 28 + 4 * cnt, 4);
	put(w, 0, 4);
	put(w, 0, 4 * cnt);
	data = w->len;
	for (size_t i = 0; i < cnt; i++) {
		set32(w, begin + 28 + 4 * i, (uint32_t)(w->len - data));
		if (utf8)
			put_length(w, strings[i].cnt, true);
		put_length(w, strings[i].cnt, utf8);
		memcpy(w->bytes + w->len, strings[i].units, strings[i].cnt * (utf8 ? 1 : 2));
		w->len += strings[i].cnt * (utf8 ? 1 : 2);
		put(w, 0, utf8 ? 1 : 2);
	}
	end_chunk(w, begin);
}

static void put_attribute(struct writer *w, uint32_t name, uint8_t kind, uint32_t data)
{
	put(w, NONE, 4);
	put(w, name, 4);
	put(w, kind == 3 ? data : NONE, 4);
	put(w, 8, 2);
	put(w, 0, 1);
	put(w, kind, 1);
	put(w, data, 4);
}

/* Strings 0 to 2 name versionCode, versionName and versionCodeMajor, which their ids say. */
enum { S_PACKAGE = 3, S_MANIFEST, S_NAME, S_VERSION, S_CNT };

static void put_manifest(struct writer *w, const struct string *strings, bool utf8)
{
	size_t begin;

	*w = (struct writer){};
	put_chunk(w, 3, 8);
	put_strings(w, strings, S_CNT, utf8);
	begin = w->len;
	put_chunk(w, 0x180, 8);
	put(w, CODE, 4);
	put(w, NAME, 4);
	put(w, CODE_MAJOR, 4);
	end_chunk(w, begin);
	begin = w->len;
	put_chunk(w, 0x102, 16);
	put(w, 1, 4);
	put(w, NONE, 4);
	put(w, NONE, 4);
	put(w, S_MANIFEST, 4);
	put(w, 20, 2);
	put(w, 20, 2);
	put(w, 4, 2);
	put(w, 0, 6);
	put_attribute(w, 0, 0x10, 7);
	put_attribute(w, 1, 3, S_VERSION);
	put_attribute(w, 2, 0x11, 2);
	put_attribute(w, S_PACKAGE, 3, S_NAME);
	end_chunk(w, begin);
	end_chunk(w, 0);
}

#define BYTES(text)                                                                                \
	{                                                                                          \
		(text), sizeof(text) - 1                                                           \
	}
#define UNITS(text)                                                                                \
	{                                                                                          \
		(text), sizeof(text) / 2 - 1                                                       \
	}

static void check_utf8(void)
{
	static const struct string strings[S_CNT] = {
		BYTES("a"),
		BYTES("b"),
		BYTES("c"),
		BYTES("package"),
		BYTES("manifest"),
		BYTES("org.b"),
		BYTES("2\n\xff-\xf0\x9f\x9a\x80"),
	};
	struct package package;
	struct writer w;

	put_manifest(&w, strings, true);
	check("UTF-8, control characters, bytes that are no text",
	      manifest__package(w.bytes, w.len, &package), &package, "org.b", "2?\xef\xbf\xbd-🚀",
	      2ull << 32 | 7);
}

static void check_utf16(void)
{
	static uint16_t long_name[3000];
	struct string strings[S_CNT] = {
		UNITS(u"a"),	    UNITS(u"b"),	 UNITS(u"c"),	UNITS(u"package"),
		UNITS(u"manifest"), { long_name, 3000 }, UNITS(u"3-🚀"),
	};
	struct package package;
	struct writer w;

	for (size_t i = 0; i < 3000; i++)
		long_name[i] = u'€';
	put_manifest(&w, strings, false);
	is_int(manifest__package(w.bytes, w.len, &package), 0, "UTF-16, a long name");
	is_uint(strlen(package.name), 126, "which is cut at a character");
	is_str(package.version, "3-🚀", "two surrogates are a character");
	long_name[0] = 0xd83d;
	strings[S_NAME].cnt = 1;
	put_manifest(&w, strings, false);
	manifest__package(w.bytes, w.len, &package);
	is_str(package.name, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "one alone is no character");
}

/* Each byte of a manifest in turn, and each length: the sanitizers find what is read beyond. */
static void check_damage(void)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	static const struct string strings[S_CNT] = {
		UNITS(u"a"),	    UNITS(u"b"),     UNITS(u"c"), UNITS(u"package"),
		UNITS(u"manifest"), UNITS(u"org.c"), UNITS(u"4"),
	};
	struct package package;
	size_t refused = 0, whole = 0, endless = 0;
	struct writer w;

	put_manifest(&w, strings, false);
	for (size_t len = 0; len < w.len; len++) {
		uint8_t *part = malloc(len);

		memcpy(part, w.bytes, len);
		refused += !!manifest__package(part, len, &package);
		free(part);
	}
	is_uint(refused, w.len, "a manifest that is cut anywhere is refused");
	for (size_t i = 0; i < w.len * sizeof(values); i++) {
		size_t at = i / sizeof(values);
		uint8_t *copy = malloc(w.len);

		memcpy(copy, w.bytes, w.len);
		copy[at] = values[i % sizeof(values)];
		whole += !manifest__package(copy, w.len, &package);
		endless += strnlen(package.name, PACKAGE_TEXT_SZ) == PACKAGE_TEXT_SZ ||
			   strnlen(package.version, PACKAGE_TEXT_SZ) == PACKAGE_TEXT_SZ;
		free(copy);
	}
	ok(whole > w.len, "%zu of %zu damaged ones have a package all the same", whole,
	   w.len * sizeof(values));
	is_uint(endless, 0, "and each text has an end");
}

/* Its first element has this many attributes `package` before one that names a version. */
static int read_crowded(uint16_t before, struct package *ret)
{
	static const struct string strings[S_CNT] = {
		BYTES("a"),	   BYTES("b"),	   BYTES("c"),	 BYTES("package"),
		BYTES("manifest"), BYTES("org.d"), BYTES("5.6"),
	};
	struct writer w;
	size_t begin;

	put_manifest(&w, strings, true);
	/* In place of the element. */
	w.len -= 16 + 20 + 4 * 20;
	begin = w.len;
	put_chunk(&w, 0x102, 16);
	put(&w, 1, 4);
	put(&w, NONE, 4);
	put(&w, NONE, 4);
	put(&w, S_MANIFEST, 4);
	put(&w, 20, 2);
	put(&w, 20, 2);
	put(&w, before + 1u, 2);
	put(&w, 0, 6);
	for (uint16_t i = 0; i < before; i++)
		put_attribute(&w, S_PACKAGE, 3, S_NAME);
	put_attribute(&w, 1, 3, S_VERSION);
	end_chunk(&w, begin);
	end_chunk(&w, 0);
	return manifest__package(w.bytes, w.len, ret);
}

static void check_crowded(void)
{
	struct package package;

	check("64 attributes", read_crowded(63, &package), &package, "org.d", "5.6", 0);
	check("more are not read", read_crowded(64, &package), &package, "org.d", "", 0);
}

/* An archive says that its packed manifest has this many bytes. */
static int read_packed(uint32_t packed_sz, struct package *ret)
{
	static const struct string strings[S_CNT] = {
		BYTES("a"),	   BYTES("b"),	   BYTES("c"), BYTES("package"),
		BYTES("manifest"), BYTES("org.e"), BYTES("7"),
	};
	static struct zip_writer zip;
	static uint8_t packed[8192], more[100000];
	z_stream z = { .next_out = packed, .avail_out = sizeof(packed) };
	int fd = memfd_create("apk", MFD_CLOEXEC), res;
	struct writer w;

	put_manifest(&w, strings, true);
	z.next_in = w.bytes;
	z.avail_in = (unsigned)w.len;
	deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
	deflate(&z, Z_FINISH);
	memset(&zip, 0, sizeof(zip));
	zip__add_packed(&zip, "AndroidManifest.xml", packed, z.total_out, w.len, 8, 1);
	deflateEnd(&z);
	zip__add(&zip, "more", more, sizeof(more), 0, 1);
	memcpy(zip.directory + 20, &packed_sz, sizeof(packed_sz));
	zip__finish(&zip, "");
	if (write(fd, zip.bytes, zip.len) != (ssize_t)zip.len)
		perror("write");
	res = apk__package(fd, ret);
	close(fd);
	return res;
}

static void check_packed(void)
{
	struct package package;

	check("a packed manifest of 1 MiB", read_packed(1u << 20, &package), &package, "org.e", "7",
	      2ull << 32 | 7);
	is_int(read_packed((1u << 20) + 1, &package), -EFBIG, "a larger one is not unpacked");
}

int main(void)
{
	check_crowded();
	check_packed();
	check_files();
	check_utf8();
	check_utf16();
	check_damage();
	return tap__done();
}
