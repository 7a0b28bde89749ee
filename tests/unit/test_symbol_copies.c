/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which files are the same: copies share an identity, look-alikes do not, and the number of kept
 * files is bounded.
 */
#include "symbol/modules/module.h"
#include "tests/unit/symbol_fixture.h"

#define FILES (MODULE_IDS_MAX + 500)

static struct module_id file_at(const char *name, struct image_part part, int *fd)
{
	struct stat st;

	*fd = open(scratch__path(name), O_RDONLY | O_CLOEXEC);
	if (*fd < 0 || fstat(*fd, &st))
		abort();
	return module_id__of_file(&st, part);
}

static struct module_id part_id(const char *name, struct image_part part)
{
	struct module_ids ids = {};
	struct module_id file, ret;
	int fd;

	file = file_at(name, part, &fd);
	ret = module_ids__look(&ids, &file, fd);
	module_ids__free(&ids);
	close(fd);
	return ret;
}

static struct module_id id_of(const char *name)
{
	return part_id(name, (struct image_part){});
}

static void same(const char *a, const char *b, const char *what)
{
	struct module_id ia = id_of(a), ib = id_of(b);

	ok(module_id__is_shared(&ia) && module_id__is(&ia, &ib), "the same: %s", what);
}

static void differ(const char *a, const char *b, const char *what)
{
	struct module_id ia = id_of(a), ib = id_of(b);

	ok(module_id__is_shared(&ia) && module_id__is_shared(&ib) && !module_id__is(&ia, &ib),
	   "not the same: %s", what);
}

static void alone(const char *name, const char *what)
{
	struct module_id id = id_of(name);
	struct module_id file;
	int fd;

	file = file_at(name, (struct image_part){}, &fd);
	ok(module_id__is(&id, &file), "only by the file itself: %s", what);
	close(fd);
}

static void check_copies(void)
{
	same("lib", "a/lib", "a copy");
	fixture__sh("cp $D/lib $D/a/renamed && touch -d 2001-02-03 $D/a/renamed");
	same("lib", "a/renamed", "of another name and time");
	fixture__sh("chmod 600 $D/a/renamed");
	same("lib", "a/renamed", "and mode");
	differ("lib", "other", "another library");
	fixture__sh("strip -o $D/a/stripped $D/lib");
	differ("lib", "a/stripped", "stripped, of the same build id");
	fixture__sh("cp $D/lib $D/a/longer && printf x >>$D/a/longer");
	differ("lib", "a/longer", "a byte longer");
}

/* The same build id on two libraries, as set by hand. */
static void check_forged(void)
{
	fixture__sh("cc -shared -fPIC -Wl,--build-id=0x0123456789abcdef -o $D/forged1 $D/lib.c && "
		    "cc -shared -fPIC -Wl,--build-id=0x0123456789abcdef -o $D/forged2 $D/other.c");
	differ("forged1", "forged2", "other functions under one build id");
	fixture__sh("cp $D/lib $D/a/entry && printf '\\001' | "
		    "dd of=$D/a/entry bs=1 seek=25 conv=notrunc status=none");
	differ("lib", "a/entry", "another entry");
	fixture__sh("cp $D/lib $D/a/section && size=$(stat -c %s $D/lib) && printf '\\001' | "
		    "dd of=$D/a/section bs=1 seek=$((size - 40)) conv=notrunc status=none");
	differ("lib", "a/section", "a section at another place");
	if (geteuid()) {
		skip(1, "files of other owners need root");
		return;
	}
	fixture__sh("cp $D/lib $D/a/theirs && chown 65534 $D/a/theirs");
	differ("lib", "a/theirs", "of another owner");
}

static void check_alone(void)
{
	fixture__sh("cc -shared -fPIC -Wl,--build-id=none -o $D/none $D/lib.c && "
		    "cc -shared -fPIC -Wl,--build-id=0x1234 -o $D/short $D/lib.c && "
		    "cc -shared -fPIC -Wl,--build-id=0x0000000000000000 -o $D/zeros $D/lib.c");
	alone("none", "without a build id");
	alone("short", "one of two bytes");
	alone("zeros", "one of zeros");
	fixture__sh("at=$(readelf -SW $D/lib | sed -n 's/.*note.gnu.bu[^ ]* *NOTE *[^ ]* //p') && "
		    "at=$((0x${at%% *})) && cp $D/lib $D/half && printf '\\377' | "
		    "dd of=$D/half bs=1 seek=$((at + 5)) conv=notrunc status=none");
	alone("half", "a note that is longer than its section");
	fixture__sh("head -c 100 $D/lib >$D/cut");
	alone("cut", "headers cut off");
	alone("lib.c", "no ELF file");
	fixture__sh(": >$D/empty");
	alone("empty", "an empty one");
}

static void check_parts(void)
{
	const char *const make = "size=$(stat -c %s $D/lib) && for a in one two; do "
				 "{ head -c 4096 /dev/zero; cat $D/lib; echo $a; cat $D/lib; "
				 "} >$D/$a.apk; done && echo more >>$D/two.apk";
	struct stat st;
	struct module_id a, b;
	uint64_t size;

	fixture__sh(make);
	if (stat(scratch__path("lib"), &st))
		abort();
	size = st.st_size;
	a = part_id("one.apk", (struct image_part){ 4096, size });
	b = part_id("two.apk", (struct image_part){ 4096, size });
	ok(module_id__is_shared(&a) && module_id__is(&a, &b), "a library in two archives");
	b = part_id("one.apk", (struct image_part){ 4096 + size + 4, size });
	ok(module_id__is_shared(&b) && !module_id__is(&a, &b), "but not at another offset of one");
}

/*
 * A file that was read is not read again. A file that changed since its stat is identified only by
 * itself.
 */
static void check_known(void)
{
	struct module_ids ids = {};
	struct module_id file, id, again;
	int fd;

	file = file_at("lib", (struct image_part){}, &fd);
	ok(!module_ids__find(&ids, &file, &id), "not read yet");
	id = module_ids__look(&ids, &file, fd);
	again = module_ids__look(&ids, &file, -1);
	ok(module_id__is_shared(&id) && module_id__is(&id, &again), "known without being read");
	ok(module_ids__find(&ids, &file, &again) && module_id__is(&id, &again), "found");
	file.file.mtime_ns++;
	id = module_ids__look(&ids, &file, fd);
	ok(module_id__is(&id, &file), "written to meanwhile: only by the file itself");
	module_ids__free(&ids);
	is_uint(module_ids__bytes(&ids), 0, "nothing is kept afterwards");
	close(fd);
}

static void check_bounded(void)
{
	struct module_ids ids = {};
	struct module_id file, id;
	size_t most = 0;
	int fd;

	file = file_at("empty", (struct image_part){}, &fd);
	for (file.file.inode = 1; file.file.inode <= FILES; file.file.inode++) {
		struct module_id first = file;

		module_ids__look(&ids, &file, fd);
		first.file.inode = 1;
		if (!module_ids__find(&ids, &first, &id))
			most++;
	}
	is_uint(most, 0, "a file that is seen again and again is kept");
	ok(module_ids__bytes(&ids) < 2u << 20, "%u files: %zu KiB", FILES,
	   module_ids__bytes(&ids) >> 10);
	file.file.inode = 2;
	ok(!module_ids__find(&ids, &file, &id), "the one seen longest ago is dropped");
	file.file.inode = FILES;
	ok(module_ids__find(&ids, &file, &id), "the last is known");
	module_ids__free(&ids);
	close(fd);
}

int main(void)
{
	scratch__init();
	scratch__write_text("lib.c", "int one(int v) { return v * 3; }\nint two;\n");
	scratch__write_text("other.c", "int another_one(int v) { return v * 5; }\nint two;\n");
	fixture__sh(
		"mkdir $D/a && cc -shared -fPIC -Wl,--build-id=sha1 -o $D/lib $D/lib.c && "
		"cc -shared -fPIC -Wl,--build-id=sha1 -o $D/other $D/other.c && cp $D/lib $D/a/");
	check_copies();
	check_forged();
	check_alone();
	check_parts();
	check_known();
	check_bounded();
	return tap__done();
}
