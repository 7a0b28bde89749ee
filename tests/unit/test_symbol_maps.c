/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /proc/PID/maps, through a made-up /proc: a hundred thousand mappings, odd paths, invalid lines.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "files/file.h"
#include "symbol/names/proc_maps.h"
#include "tests/unit/symbol_fixture.h"

static const char library[] =
	"__attribute__((visibility(\"default\"))) int lib_fn(int v) { return v + 1; }\n";

/* Creates $D/proc/PID/maps for writing. */
static FILE *open_maps(unsigned pid)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%u", pid);
	if (mkdir(scratch__path(name), 0700) && errno != EEXIST)
		abort();
	snprintf(name, sizeof(name), "proc/%u/maps", pid);
	return fopen(scratch__path(name), "w");
}

static void add_file(FILE *f, uint64_t start, const char *path, const char *shown)
{
	struct stat st;

	if (stat(path, &st))
		abort();
	fprintf(f, "%llx-%llx r-xp 00000000 %02x:%02x %llu                  %s\n",
		(unsigned long long)start, (unsigned long long)start + 0x10000, major(st.st_dev),
		minor(st.st_dev), (unsigned long long)st.st_ino, shown);
}

static uint64_t file_offset(const char *lib, const char *name)
{
	unsigned long long ret = 0;
	char cmd[PATH_MAX + 64];
	FILE *f;

	/* linked with -z noseparate-code: the text is in the first segment, offset and address
	 * agree */
	snprintf(cmd, sizeof(cmd), "nm -D '%s' | awk '/ %s$/ {print $1}'", lib, name);
	f = popen(cmd, "r");
	if (fscanf(f, "%llx", &ret) != 1)
		ok(false, "nm finds %s", name);
	pclose(f);
	return ret;
}

/* Memory of JIT compilers that looks like a file. */
static void test_jit_memory(void)
{
	static const struct {
		const char *line;
		enum mapped_kind kind;
		bool is_art;
	} lines[] = {
		{ "00:01 7 /memfd:doublemapper (deleted)", MAPPED_ANON, false },
		{ "00:01 7 /memfd:jit-cache (deleted)", MAPPED_ANON, true },
		{ "00:01 7 /memfd:jit-zygote-cache (deleted)", MAPPED_ANON, true },
		{ "00:13 7 /dev/ashmem/dalvik-jit-code-cache (deleted)", MAPPED_ANON, true },
		{ "00:00 0 [anon:dalvik-jit-code-cache]", MAPPED_ANON, true },
		{ "00:00 0 [anon:dalvik-main space]", MAPPED_ANON, false },
		{ "00:01 7 /memfd:other (deleted)", MAPPED_FILE, false },
		{ "08:01 7 /system/lib64/libart.so", MAPPED_FILE, false },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct proc_maps maps = { 0 };
		const struct mapped *mapped;
		char text[256];

		snprintf(text, sizeof(text), "7000000-7001000 r-xp 00000000 %s\n", lines[i].line);
		scratch__write_text("maps", text);
		if (proc_maps__read(&maps, scratch__path("maps")))
			abort();
		mapped = maps.cnt ? maps.regions[0].mapped : NULL;
		ok(mapped && mapped->kind == lines[i].kind && mapped->is_art_jit == lines[i].is_art,
		   "%s: its kind", lines[i].line);
		proc_maps__free(&maps);
	}
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Almost all of them are data, as in a process with many small mappings. */
static void check_many(unsigned pid, unsigned cnt, const char *perms)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, scratch__path("proc"));
	const char *lib = scratch__path("lib.so");
	uint64_t fn = file_offset(lib, "lib_fn");
	FILE *f = open_maps(pid);
	double begin;
	unsigned i;

	for (i = 0; i < cnt; i++)
		fprintf(f, "%llx-%llx %s 00000000 00:00 0 \n", 0x10000000ull + i * 0x2000ull,
			0x10001000ull + i * 0x2000ull, perms);
	add_file(f, 0x7f0000000000, lib, lib);
	fclose(f);
	begin = seconds();
	is_int(symbolizer__process(sym, pid, NULL), 0, "%u mappings %s are read", cnt, perms);
	ok(seconds() - begin < 2, "in %.3f s", seconds() - begin);
	is_str(fixture__frame(sym, pid, 0x7f0000000000 + fn, true).function, "lib_fn",
	       "a mapping after them is found");
	symbolizer__free(sym);
}

static void check_paths(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, scratch__path("proc"));
	char odd[PATH_MAX], shown[PATH_MAX];
	const char *lib = scratch__path("lib.so");
	uint64_t fn = file_offset(lib, "lib_fn");
	struct frame frame;
	FILE *f;

	snprintf(odd, sizeof(odd), "%s/a b\n(deleted)\\101\x01\xff", scratch_dir);
	snprintf(shown, sizeof(shown), "%s/a b\\012(deleted)\\101\x01\xff", scratch_dir);
	if (link(lib, odd))
		abort();
	f = open_maps(1);
	add_file(f, 0x10000, odd, shown);
	snprintf(shown, sizeof(shown), "%s (deleted)", lib);
	add_file(f, 0x7f0000000000, lib, shown);
	fprintf(f, "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  "
		   "[vsyscall]\n");
	fclose(f);
	frame = fixture__frame(sym, 1, 0x10000 + fn, true);
	is_str(frame.module, odd, "a path with a newline, spaces, control bytes and no UTF-8");
	is_str(frame.function, "lib_fn", "the file is opened by it");
	frame = fixture__frame(sym, 1, 0x7f0000000000 + fn, true);
	is_str(frame.module, lib, "a path marked as deleted");
	is_str(frame.function, "lib_fn", "although it exists");
	frame = fixture__frame(sym, 1, 0xffffffffff600000, true);
	is_str(frame.module, "[vsyscall]", "the vsyscall page");
	symbolizer__free(sym);
}

/* The name belongs to another file now. */
static void check_other_inode(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, scratch__path("proc"));
	const char *lib = scratch__path("lib.so");
	struct frame frame;
	FILE *f = open_maps(2);

	fprintf(f, "10000-20000 r-xp 00000000 00:ff 12345 %s\n", lib);
	fclose(f);
	if (symlink("/", scratch__path("proc/2/root"))) /* found there first */
		abort();
	frame = fixture__frame(sym, 2, 0x10000 + file_offset(lib, "lib_fn"), true);
	is_str(frame.function, NULL, "a file of another device and inode is not read");
	is_str(frame.module, lib, "its name stays");
	is_uint(frame.offset, file_offset(lib, "lib_fn"), "and the offset in the file");
	symbolizer__free(sym);
}

/* Special files in place of the mapped one must not be opened. */
static void check_special(const char *path, unsigned pid)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, scratch__path("proc"));
	FILE *f = open_maps(pid);
	struct frame frame;

	add_file(f, 0x10000, path, path);
	fclose(f);
	frame = fixture__frame(sym, pid, 0x10100, true);
	is_str(frame.function, NULL, "no names from %s", path);
	is_str(frame.module, path, "but the module");
	symbolizer__free(sym);
}

/* A lease of another process would delay us just like our own here. */
static void check_lease(void)
{
	int fd = open(scratch__path("leased"), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	signal(SIGIO, SIG_IGN);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK)) {
		skip(2, "no leases here");
	} else {
		is_int(openfile__path(scratch__path("leased"), NULL), -EWOULDBLOCK,
		       "a lease is not waited for");
		fcntl(fd, F_SETLEASE, F_UNLCK);
		ok(openfile__path(scratch__path("leased"), NULL) >= 0,
		   "without a lease the file opens");
	}
	close(fd);
}

static void check_bad_lines(void)
{
	static const char text[] = "\n"
				   "garbage\n"
				   "10000\n"
				   "10000-\n"
				   "10000-20000\n"
				   "10000-20000 r-xp\n"
				   "10000-20000 r-xp zz 00:00 0 \n"
				   "10000-20000 r-xp 0 00-00 0 \n"
				   "20000-10000 r-xp 00000000 00:00 0 backwards\n"
				   "10000-20000 r-x 00000000 00:00 0 short\n"
				   "10000-1ffffffffffffffff r-xp 00000000 00:00 0 large\n"
				   "50000-60000 r-xp 00000000 00:00 0 later\n"
				   "30000-40000 r-xp 00000000 00:00 0 earlier\n"
				   "70000-80000 r-xp 00000000 00:00 0 without an end";
	struct proc_maps maps = { 0 };

	is_int(proc_maps__read(&maps, scratch__write_text("maps", text)), 0,
	       "bad lines are skipped");
	is_uint(maps.cnt, 2, "the good ones are kept");
	ok(proc_maps__find(&maps, 0x30000) &&
		   !strcmp(proc_maps__find(&maps, 0x30000)->mapped->path, "earlier"),
	   "and found, although out of order");
	ok(proc_maps__find(&maps, 0x5ffff) && !proc_maps__find(&maps, 0x60000), "up to their ends");
	ok(!proc_maps__find(&maps, 0x40000) && !proc_maps__find(&maps, 0) &&
		   !proc_maps__find(&maps, ~0ull),
	   "nothing between, before or after them");
	proc_maps__free(&maps);
	is_int(proc_maps__read(&maps, scratch__write_text("maps", "")), -ESRCH,
	       "empty: the process has ended");
	proc_maps__free(&maps);
}

int main(void)
{
	scratch__init();
	test_jit_memory();
	scratch__write_text("lib.c", library);
	if (mkdir(scratch__path("proc"), 0700))
		abort();
	fixture__sh("gcc -O1 -shared -fPIC -Wl,-z,noseparate-code -o $D/lib.so $D/lib.c && mkfifo "
		    "$D/fifo");
	check_bad_lines();
	check_many(3, 100000, "rw-p");
	check_many(4, 100000, "rwxp");
	check_paths();
	check_other_inode();
	check_special(scratch__path("fifo"), 5);
	is_int(openfile__path(scratch__path("fifo"), NULL), -EINVAL, "a FIFO is never opened");
	is_int(openfile__path("/dev/zero", NULL), -EINVAL, "nor is a device");
	check_lease();
	is_int(openfile__in_root("/", "dev/zero", NULL), -EINVAL, "nor is one in another root");
	check_special("/dev/zero", 6);
	check_special(scratch__path("proc"), 7);
	check_special(scratch__path("lib.c"), 8);
	return tap__done();
}
