/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Libraries mapped out of an archive: each has its own names, lines, classes, unwind tables and
 * build id.
 */
#include <errno.h>
#include <sys/mman.h>

#include "symbol/elf/mapped_file.h"
#include "symbol/unwind/tables.h"
#include "tests/unit/symbol_fixture.h"
#include "tests/unit/zip_writer.h"

#define PROGRAMS "tests/live/programs"
#define PAGE	 4096

static struct zip_writer zip;
static uint8_t library[ZIP_WRITER_MAX];
static size_t whole_at, mini_at, broken_at, library_sz;
static char whole_id[BUILD_ID_HEX_SZ], mini_id[BUILD_ID_HEX_SZ];

static void read_line(const char *cmd, char *buf, size_t cap)
{
	FILE *out = popen(cmd, "r");

	buf[0] = 0;
	if (!out || !fgets(buf, cap, out))
		diag("%s has no output", cmd);
	buf[strcspn(buf, "\n")] = 0;
	if (out)
		pclose(out);
}

static uint64_t address_of(const char *symbol)
{
	char cmd[256], line[64];

	snprintf(cmd, sizeof(cmd), "nm $D/whole.so | sed -n 's/ . %s.*$//p'", symbol);
	read_line(cmd, line, sizeof(line));
	return strtoull(line, NULL, 16);
}

static size_t add_library(const char *name, const char *file)
{
	FILE *in = fopen(scratch__path(file), "r");

	library_sz = in ? fread(library, 1, sizeof(library), in) : 0;
	if (in)
		fclose(in);
	return zip__add(&zip, name, library, library_sz, 0, PAGE);
}

static void write_zip(const char *name, size_t len)
{
	FILE *out = fopen(scratch__path(name), "w");

	if (!out || fwrite(zip.bytes, 1, len, out) != len)
		abort();
	fclose(out);
}

/*
 * The mini library is what a distribution makes of the same code: stripped, its names compressed.
 */
static void build(void)
{
	static const char read_id[] = "readelf -n $D/%s.so | sed -n 's/.*Build ID: //p'";
	char cmd[256];

	fixture__sh("gcc -O1 -o $D/archived " PROGRAMS "/archived.c");
	fixture__sh("g++ -O2 -g -fno-rtti -fomit-frame-pointer -shared -fPIC -nostdlib "
		    "-Wl,--build-id -o $D/whole.so " PROGRAMS "/archived_lib.cc");
	fixture__sh("g++ -O2 -fno-rtti -fomit-frame-pointer -shared -fPIC -nostdlib "
		    "-Wl,--build-id=md5 -o $D/full.so " PROGRAMS "/archived_lib.cc");
	fixture__sh("objcopy --only-keep-debug $D/full.so $D/mini && xz -f $D/mini && "
		    "strip -o $D/bare.so $D/full.so && "
		    "objcopy --add-section .gnu_debugdata=$D/mini.xz $D/bare.so $D/mini.so");
	snprintf(cmd, sizeof(cmd), read_id, "whole");
	read_line(cmd, whole_id, sizeof(whole_id));
	snprintf(cmd, sizeof(cmd), read_id, "mini");
	read_line(cmd, mini_id, sizeof(mini_id));
	zip__add(&zip, "classes.dex", library, 700, 8, 1);
	mini_at = add_library("lib/x86_64/libmini.so", "mini.so");
	whole_at = add_library("lib/x86_64/libwhole.so", "whole.so");
	memset(library, 0xff, 4); /* still loadable for the program */
	broken_at = zip__add(&zip, "lib/x86_64/libbroken.so", library, library_sz, 0, PAGE);
	zip__finish(&zip, "");
	write_zip("base.apk", zip.len);
}

static uint64_t start(struct fixture *fx, const char *archive, size_t begin)
{
	char path[PATH_MAX], at[32];
	char *argv[] = { path, (char *)scratch__path(archive), at, "0", NULL };
	char *copy = strdup(argv[1]);

	argv[1] = copy;
	snprintf(path, sizeof(path), "%s", scratch__path("archived"));
	snprintf(at, sizeof(at), "%zu", begin);
	fixture__start(fx, argv);
	free(copy);
	return fixture__addr(fx, "base");
}

static void is_path(const char *path, const char *entry, const char *what)
{
	char want[PATH_MAX];

	snprintf(want, sizeof(want), "%s%s", scratch__path("base.apk"), entry);
	is_str(path, want, "%s", what);
}

static void check_whole(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	uint64_t base, inner = address_of("_ZL14archived_inner");
	struct frame frame;
	struct fixture fx;

	base = start(&fx, "base.apk", whole_at);
	NAMED(sym, &fx, base + address_of("archived_handle"), 0, "archived_handle");
	frame = fixture__frame(sym, fx.pid, base + inner + 1, true);
	is_str(frame.function, "archived_inner", "a static function of it");
	is_path(frame.module, "!/lib/x86_64/libwhole.so",
		"the module names the archive and the entry");
	is_str(frame.build_id, whole_id, "… and has its own build id");
	ok(frame.file && strstr(frame.file, "archived_lib.cc") && frame.line, "… and lines (%s)",
	   frame.file ?: "-");
	symbolizer__class(sym, fx.pid, base + address_of("_ZTV14archived_class") + 16, &frame);
	is_str(frame.function, "archived_class", "a class of it, by its vtable's symbol");
	is_path(frame.module, "!/lib/x86_64/libwhole.so", "is that library's");
	symbolizer__code(sym, fx.pid, base + inner, (struct code_opts){ .exact = true }, &frame);
	is_path(frame.module, "!/lib/x86_64/libwhole.so", "and so is its code");
	/* The file is not read again for what is known. */
	fixture__sh(": > $D/base.apk");
	is_int(symbolizer__process(sym, fx.pid, NULL), 0, "its maps are read again");
	is_path(fixture__frame(sym, fx.pid, base + inner + 1, true).module,
		"!/lib/x86_64/libwhole.so",
		"a file that was truncated since still has its entries");
	fixture__stop(&fx);
	symbolizer__free(sym);
	write_zip("base.apk", zip.len);
}

static void check_mini(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	uint64_t base;
	struct fixture fx;
	struct frame frame;

	base = start(&fx, "base.apk", mini_at);
	frame = fixture__frame(sym, fx.pid, base + address_of("_ZL14archived_inner") + 1, true);
	is_str(frame.function, "archived_inner", "a name of .gnu_debugdata");
	is_str(frame.build_id, mini_id, "another build id");
	fixture__stop(&fx);
	base = start(&fx, "base.apk", broken_at);
	frame = fixture__frame(sym, fx.pid, base + 0x1010, true);
	is_str(frame.function, NULL, "an entry that is no ELF file has no names");
	is_path(frame.module, "!/lib/x86_64/libbroken.so", "but its own name");
	is_uint(frame.offset, 0x1010, "… and offsets in it");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

/* Two regions of a made-up process: the rows are those of the library's own tables. */
static void check_rows(void)
{
	struct process_env env = { .proc = "/proc", .debug_dir = "/nonexistent" };
	const struct region *region;
	const struct cfi_row *row;
	struct process *process;
	struct fixture fx;
	uint64_t addr = start(&fx, "base.apk", whole_at) + address_of("_ZL14archived_inner");
	struct cfi *cfi;

	process = process__new(fx.pid);
	is_int(process__refresh(&env, process, false), 0, "a process");
	region = proc_maps__find(&process->maps, addr);
	ok(region && region->mapped->archive, "its library is an entry of an archive");
	row = region ? tables__row(&env, process, region, addr, true, &cfi) : NULL;
	ok(row && row->has_table, "which has an unwind table");
	is_int(row ? row->cfa.value : 0, 8, "the CFA at a function's begin");
	is_uint(region ? tables__start(&env, process, region, addr, true) : 0,
		region ? addr - region->start + region->offset : 1, "where the function starts");
	is_uint(region ? tables__start(&env, process, region, addr + 1, false) : 0,
		region ? addr - region->start + region->offset : 1, "… of a call in it");
	fixture__stop(&fx);
	process__free(&env, process);
	modules__free(&env.modules);
}

/* Whatever the archive says, only names are lost. */
static void check_damaged(const char *what, size_t len, const char *want)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	uint64_t base, at = address_of("archived_handle");
	struct fixture fx;
	struct frame frame;

	write_zip("bad.apk", len);
	base = start(&fx, "bad.apk", whole_at);
	frame = fixture__frame(sym, fx.pid, base + at, true);
	is_str(frame.function, want, "%s", what);
	ok(frame.module && strstr(frame.module, "/bad.apk"), "… and the archive is named (%s)",
	   frame.module ?: "-");
	ok(want || frame.offset == whole_at + at, "… with the offset in it");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

static void check_hostile(void)
{
	size_t directory = zip.len - 22 - zip.directory_len;
	uint8_t *second = zip.bytes + directory; /* each entry's header: its begin is at 42 */

	for (int i = 0; i < 2; i++)
		second += 46 + (second[28] | second[29] << 8);
	check_damaged("intact", zip.len, "archived_handle");
	check_damaged("truncated before its directory", directory, NULL);
	second[42 + 3] = 0x7f; /* no content there */
	check_damaged("an entry beyond the file", zip.len, NULL);
	second[42 + 3] = 0;
	second[24 + 3] = second[20 + 3] = 0x7f;
	check_damaged("an entry longer than the file", zip.len, "archived_handle");
	second[24 + 3] = second[20 + 3] = 0;
	second[10] = 8;
	check_damaged("an entry marked as compressed", zip.len, NULL);
	second[10] = 0;
}

/* A program may have any name. */
static void check_misnomer(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	char *argv[] = { (char *)scratch__path("program.apk"), "nowhere", "0", "0", NULL };
	struct fixture fx;
	char line[64], *path = strdup(argv[0]);

	argv[0] = path;
	fixture__sh("gcc -O1 -no-pie -DAPK -o $D/program.apk -x c - <<'.'\n"
		    "#include <stdio.h>\n"
		    "int main(void) { puts(\"ready\"); fflush(stdout); return getchar(); }\n.");
	fixture__start(&fx, argv);
	read_line("nm $D/program.apk | sed -n 's/ T main$//p'", line, sizeof(line));
	is_str(fixture__frame(sym, fx.pid, strtoull(line, NULL, 16), true).function, "main",
	       "a program named .apk is a program");
	fixture__stop(&fx);
	symbolizer__free(sym);
	free(path);
}

int main(void)
{
	scratch__init();
	build();
	check_whole();
	check_mini();
	check_rows();
	check_hostile();
	check_misnomer();
	return tap__done();
}
