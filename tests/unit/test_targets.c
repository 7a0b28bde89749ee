/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a process to its sites: own children of several kinds (dynamic, static, a private copy of libc
 * that was deleted, more mappings than anybody has), and files made to mislead.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/candidates.h"
#include "kernel/elffunc.h"
#include "kernel/targets.h"
#include "tests/tap.h"

#define WANTS(e, l) (&(const struct target_wants){ .epoll = (e), .looper = (l) })

#define LIBC   "/lib/x86_64-linux-gnu/libc.so.6"
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#define UTILS  "/usr/lib/x86_64-linux-gnu/android/libutils.so"

static char dir[] = "/tmp/test_targets_XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][4352];
	static unsigned next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/%s", dir, name);
	return path[next];
}

static int __attribute__((format(printf, 1, 2))) shell(const char *fmt, ...)
{
	char command[9000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return system(command);
}

/* A child that runs fn and then sleeps; returns when fn is done. */
static pid_t spawn(void (*fn)(void *arg), void *arg)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		close(ready[0]);
		fn(arg);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) < 0)
		pid = -1;
	close(ready[0]);
	return pid;
}

/* A child that runs a program which says a line when it is up. */
static pid_t spawn_program(const char *const *argv)
{
	int out[2];
	char byte;
	pid_t pid;

	if (pipe(out))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(out[1]);
	if (read(out[0], &byte, 1) != 1)
		diag("%s did not start", argv[0]);
	close(out[0]);
	return pid;
}

static void finish(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static size_t count(const struct targets *targets, enum site_kind kind, const char *path_part)
{
	size_t n = 0;

	for (size_t i = 0; i < targets->site_cnt; i++) {
		const struct site *site = &targets->sites[i];

		n += site->kind == kind && strstr(targets->libs[site->lib].path, path_part);
	}
	return n;
}

/* Whether every site's file opens, is the file mapped, and holds no system call there. */
static bool sites_are_real(const struct targets *targets)
{
	bool real = true;

	for (size_t i = 0; i < targets->site_cnt; i++) {
		const struct site *site = &targets->sites[i];
		const struct target_lib *lib = &targets->libs[site->lib];
		int fd = open(lib->open_path, O_RDONLY);
		unsigned char code[2];
		struct stat st;

		real &= fd >= 0 && !fstat(fd, &st) && st.st_ino == lib->inode &&
			pread(fd, code, 2, (off_t)site->file_offset) == 2 &&
			!(code[0] == 0x0f && code[1] == 0x05) && site->function;
		if (fd >= 0)
			close(fd);
	}
	return real;
}

static bool no_place_twice(const struct targets *targets)
{
	for (size_t i = 0; i < targets->site_cnt; i++) {
		for (size_t j = 0; j < i; j++) {
			if (targets->sites[i].file_offset == targets->sites[j].file_offset &&
			    targets->sites[i].lib == targets->sites[j].lib)
				return false;
		}
	}
	return true;
}

static void nothing(void *arg)
{
}

static void test_child(void)
{
	pid_t pid = spawn(nothing, NULL);
	struct targets targets;
	struct err err;

	is_int(targets__find(pid, WANTS(true, true), &targets, &err), 0, "own child: searched");
	ok(count(&targets, SITE_WAIT_BEGIN, "libc.so") == 3, "a begin for each wait function");
	ok(count(&targets, SITE_WAIT_END, "libc.so") >= 3, "an end for each, at least");
	is_uint(count(&targets, SITE_LOOPER, ""), 0, "no Looper");
	ok(sites_are_real(&targets), "the files open and the offsets are right");
	ok(no_place_twice(&targets), "no place twice");
	targets__free(&targets);
	is_int(targets__find(pid, WANTS(false, false), &targets, &err), 0, "nothing wanted");
	is_uint(targets.site_cnt, 0, "nothing found");
	targets__free(&targets);
	is_int(targets__find(pid, WANTS(false, true), &targets, &err), 0, "only the Looper wanted");
	is_uint(targets.site_cnt, 0, "none there");
	targets__free(&targets);
	finish(pid);
}

static void test_no_process(void)
{
	struct targets targets;
	struct err err;
	pid_t pid = spawn(nothing, NULL);

	finish(pid);
	is_int(targets__find(pid, WANTS(true, true), &targets, &err), -ESRCH,
	       "a process that is gone");
	has_str(err.msg, "no such process", "says so");
	is_int(err.exit, JANK_EXIT_FAILED, "is a failure at run time");
	is_int(targets__find(2, WANTS(true, true), &targets, NULL), 0, "a kernel thread");
	is_uint(targets.site_cnt, 0, "has no sites");
	targets__free(&targets);
}

static void test_static(void)
{
	const char *argv[] = { in_dir("static"), NULL };
	struct targets targets;
	FILE *source = fopen(in_dir("static.c"), "w");
	pid_t pid;

	fputs("#include <stdio.h>\n#include <sys/epoll.h>\n#include <unistd.h>\n"
	      "int main(void){struct epoll_event e;puts(\"up\");fflush(stdout);"
	      "if(epoll_wait(-1,&e,1,0)<1)pause();return 0;}\n",
	      source);
	fclose(source);
	if (shell("cc -static -o %s %s 2>/dev/null", argv[0], in_dir("static.c"))) {
		skip(4, "no compiler or no static libc here");
		return;
	}
	pid = spawn_program(argv);
	is_int(targets__find(pid, WANTS(true, true), &targets, NULL), 0,
	       "static program: searched");
	is_uint(count(&targets, SITE_WAIT_BEGIN, "/static"), 1, "its own epoll_wait begins");
	ok(count(&targets, SITE_WAIT_END, "/static") >= 1, "and ends");
	ok(sites_are_real(&targets), "the offsets are right");
	targets__free(&targets);
	finish(pid);
}

static void test_looper(void)
{
	const char *argv[] = {
		LOADER, "--preload", UTILS, "/bin/sh", "-c", "echo up; kill -STOP $$; :", NULL
	};
	struct targets targets;
	pid_t pid;

	if (access(UTILS, R_OK) || access(LOADER, X_OK)) {
		skip(3, "no libutils of Android here");
		return;
	}
	pid = spawn_program(argv);
	is_int(targets__find(pid, WANTS(false, true), &targets, NULL), 0, "libutils: searched");
	is_uint(count(&targets, SITE_LOOPER, "libutils"), 1, "pollOnce is found");
	is_uint(targets.site_cnt, 1, "and nothing else was wanted");
	targets__free(&targets);
	finish(pid);
}

/* A private copy of the whole libc, replaced on disk while it runs. */
static void test_deleted(void)
{
	const char *argv[] = { in_dir("ld.so"),
			       "--library-path",
			       dir,
			       "/bin/sh",
			       "-c",
			       "echo up; kill -STOP $$; :",
			       NULL };
	struct targets targets;
	struct stat st = { 0 };
	pid_t pid;

	if (access(LIBC, R_OK) || access(LOADER, R_OK) ||
	    shell("cp %s %s", LIBC, in_dir("libc.so.6")) || shell("cp %s %s", LOADER, argv[0])) {
		skip(5, "no libc of that name here");
		return;
	}
	stat(in_dir("libc.so.6"), &st);
	pid = spawn_program(argv);
	unlink(in_dir("libc.so.6"));
	is_int(targets__find(pid, WANTS(true, false), &targets, NULL), 0, "deleted libc: searched");
	is_uint(count(&targets, SITE_WAIT_BEGIN, dir), 3, "its waits are found");
	if (targets.lib_cnt) {
		is_str(targets.libs[0].path, in_dir("libc.so.6"), "its path, without (deleted)");
		ok(targets.libs[0].inode == st.st_ino, "it is that file");
	}
	ok(!geteuid() ? sites_are_real(&targets) : true, "and still opens");
	targets__free(&targets);
	finish(pid);
}

/* Each executable page of a file a mapping of its own: neighbours are not adjacent in the file. */
static void map_much(void *arg)
{
	int fd = open(LIBC, O_RDONLY);

	for (long i = *(long *)arg; i > 0; i--)
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (i & 1) * 8192) ==
		    MAP_FAILED)
			_exit(1);
}

static void test_many_mappings(void)
{
	FILE *limit = fopen("/proc/sys/vm/max_map_count", "r");
	struct targets targets;
	long cnt = 0;
	pid_t pid;

	if (!limit || fscanf(limit, "%ld", &cnt) != 1)
		cnt = 65530;
	if (limit)
		fclose(limit);
	cnt = cnt - 2000 > 100000 ? 100000 : cnt - 2000;
	pid = spawn(map_much, &cnt);
	ok(!kill(pid, 0) && !targets__find(pid, WANTS(true, true), &targets, NULL),
	   "%ld mappings: searched", cnt);
	is_uint(count(&targets, SITE_WAIT_BEGIN, "libc.so"), 3, "each wait once");
	ok(sites_are_real(&targets), "the offsets are right");
	targets__free(&targets);
	finish(pid);
}

static void write_maps(FILE *maps)
{
	fputs("00400000-00401000 r-xp 00000000 08:01 11 /bin/a b\\012c\n"
	      "7f00-7f01 r--p 00000000 08:01 12 /lib/libc.so.6\n"
	      "7f01-7f02 r-xp 00001000 08:01 12 /lib/libc.so.6 (deleted)\n"
	      "7f02-7f03 r-xp 00001000 08:01 12 /lib/libc.so.6 (deleted)\n"
	      "7f03-7f04 r-xp 00000000 00:00 0 [vdso]\n"
	      "7f04-7f05 r-xp 00000000 00:00 0 \n"
	      "7f05-7f06 r-xp 00000000 08:01 13 relative/libc.so\n"
	      "7f06-7f07 r-xp\n\nnonsense\n"
	      "7f07-7f08 r-xp 00000000 zz:01 14 /lib/libc.so.7\n",
	      maps);
	for (int i = 0; i < 200000; i++)
		fprintf(maps, "%x000-%x000 r-xp 00000000 08:02 %d /opt/%d.so\n", i + 0x8000,
			i + 0x8001, i + 1, i);
	for (int i = 0; i < 1000; i++)
		fprintf(maps, "%x000-%x000 r-xp 00000000 08:03 %d /x/libc.so.%d\n", i + 0x90000,
			i + 0x90001, i + 1, i);
	fputs("f0000000-f0001000 r-xp 00000000 08:04 1 /", maps);
	for (int i = 0; i < 70000; i++)
		fputc('x', maps);
	fputs("/libc.so.6\nf1000000-f1001000 r-xp 00000000 08:04 2 /libutils.so", maps);
}

static void test_maps(void)
{
	struct candidates found;
	FILE *maps = fopen(in_dir("maps"), "w");
	size_t libc = 0, odd = 0;

	write_maps(maps);
	fclose(maps);
	is_int(candidates__read_file(in_dir("maps"), getpid(), WANTS(true, true), &found), 0,
	       "maps of 201,000 lines");
	is_uint(found.likely_cnt, CANDIDATES_LIKELY_MAX, "as many likely files as are kept");
	is_uint(found.cnt, CANDIDATES_LIKELY_MAX + CANDIDATES_OTHER_MAX, "and others");
	is_str(found.items[found.likely_cnt - 1].likely ? "likely" : "other", "likely",
	       "likely first");
	for (size_t i = 0; i < found.cnt; i++) {
		const struct candidate *item = &found.items[i];

		odd += !strcmp(item->path, "/bin/a b\nc");
		if (strcmp(item->path, "/lib/libc.so.6"))
			continue;
		libc++;
		ok(item->start == 0x7f01 && item->end == 0x7f02, "a deleted file's range");
	}
	is_uint(libc, 1, "a file mapped twice is kept once, (deleted) is no part of its path");
	is_uint(odd, 1, "a path with a blank and a newline");
	candidates__free(&found);
	is_int(candidates__read_file(in_dir("none"), getpid(), WANTS(true, true), &found), -ESRCH,
	       "no maps, no process");
	candidates__free(&found);
}

static const char *const names[] = { "epoll_wait", "epoll_pwait",
				     "_ZN7android6Looper8pollOnceEiPiS1_PPv" };

/* Everything that is asked of a file; true when it did not misbehave. */
static bool use_elf(const char *path)
{
	struct elffunc_place places[3];
	struct elffunc elf;
	uint8_t code[256];
	uint64_t offset;
	bool sane = true;
	int len;

	if (elffunc__open(open(path, O_RDONLY | O_NONBLOCK), &elf))
		return true;
	if (elffunc__find(&elf, names, 3, places) > 0) {
		for (int i = 0; i < 3; i++) {
			len = elffunc__code(&elf, places[i].value, code, sizeof(code), &offset);
			sane &= len <= (int)sizeof(code) &&
				(len <= 0 || offset + (uint64_t)len <= elf.size);
		}
	}
	elffunc__close(&elf);
	return sane;
}

static void write_file(const char *path, const void *data, size_t len)
{
	FILE *file = fopen(path, "w");

	fwrite(data, 1, len, file);
	fclose(file);
}

static void test_good_elf(void)
{
	struct elffunc_place places[3];
	struct elffunc elf;

	if (access(UTILS, R_OK)) {
		skip(4, "no libutils of Android here");
		return;
	}
	is_int(elffunc__open(open(UTILS, O_RDONLY), &elf), 0, "a sound file opens");
	is_int(elffunc__find(&elf, names, 3, places), 1, "one of three names is defined in it");
	ok(places[2].value && places[2].size && !places[0].value,
	   "the Looper's; the others are imports");
	elffunc__close(&elf);
	is_int(elffunc__open(open("/dev/null", O_RDONLY), &elf), -ENOEXEC,
	       "a device is no ELF file");
}

struct damage {
	const char *what;
	size_t offset, len;
	uint64_t value;
};

#define FILE_MAX (1u << 20)

/* Random bytes in the header, the tables of sections and of dynamic symbols; some files cut off. */
static bool survives_damage(const char *path, const unsigned char *data, size_t len)
{
	static unsigned char bad[FILE_MAX];
	bool sane = true;

	srand(1);
	for (int i = 0; i < 1500; i++) {
		size_t cut = i % 3 ? len : (size_t)rand() % len;

		memcpy(bad, data, len);
		for (int j = 0; j < 8; j++) {
			size_t at = j < 2   ? (size_t)rand() % 64
				    : j < 5 ? len - 1 - (size_t)rand() % 2000
					    : (size_t)rand() % 12000;
			bad[at] = (unsigned char)rand();
		}
		write_file(path, bad, cut);
		sane &= use_elf(path);
	}
	return sane;
}

static void test_bad_elf(void)
{
	static const struct damage damages[] = {
		{ "another magic", 0, 1, 0 },
		{ "32 bits", EI_CLASS, 1, ELFCLASS32 },
		{ "the other byte order", EI_DATA, 1, ELFDATA2MSB },
		{ "sections beyond the end", offsetof(Elf64_Ehdr, e_shoff), 8, 1ull << 40 },
		{ "sections at the end of the world", offsetof(Elf64_Ehdr, e_shoff), 8, ~0ull - 8 },
		{ "segments beyond the end", offsetof(Elf64_Ehdr, e_phoff), 8, ~0ull },
		{ "too many segments", offsetof(Elf64_Ehdr, e_phnum), 2, 0xffff },
		{ "too many sections", offsetof(Elf64_Ehdr, e_shnum), 2, 0xffff },
		{ "segments of another size", offsetof(Elf64_Ehdr, e_phentsize), 2, 1 },
	};
	static unsigned char data[FILE_MAX], bad[FILE_MAX];
	FILE *file = fopen(UTILS, "r");
	size_t len = file ? fread(data, 1, sizeof(data), file) : 0;
	const char *path = in_dir("libc.so.6");

	if (!len) {
		skip(1, "no libutils of Android here");
		return;
	}
	fclose(file);
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		memcpy(bad, data, len);
		memcpy(bad + damages[i].offset, &damages[i].value, damages[i].len);
		write_file(path, bad, len);
		ok(use_elf(path), "%s", damages[i].what);
	}
	ok(survives_damage(path, data, len), "1,500 damaged files");
}

/* Maps what lies at path executable, as a traced program may. */
static void map_file(void *path)
{
	int fd = open(path, O_RDONLY);

	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
}

static void test_hostile_child(void)
{
	struct targets targets;
	char path[4352];
	pid_t pid;

	snprintf(path, sizeof(path), "%s", in_dir("libc.so.6"));
	write_file(path, "\177ELF\2\1\1", 7);
	pid = spawn(map_file, path);
	is_int(targets__find(pid, WANTS(true, true), &targets, NULL), 0,
	       "a child that maps a broken libc");
	ok(count(&targets, SITE_WAIT_BEGIN, "libc.so") == 3, "has the real one's sites");
	targets__free(&targets);
	finish(pid);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_child();
	test_no_process();
	test_static();
	test_looper();
	test_deleted();
	test_many_mappings();
	test_maps();
	test_good_elf();
	test_bad_elf();
	test_hostile_child();
	shell("rm -rf %s", dir);
	return tap__done();
}
