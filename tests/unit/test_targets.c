/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a process to its sites: child processes of several kinds (dynamic, static, with a deleted
 * private copy of libc, with more mappings than any real one), one of them hostile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"
#include "uprobes/targets.h"

#define WANTS(e, l) (&(const struct target_wants){ .epoll = (e), .looper = (l) })

#define LIBC   "/lib/x86_64-linux-gnu/libc.so.6"
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#define UTILS  "/usr/lib/x86_64-linux-gnu/android/libutils.so"

static size_t count(const struct targets *targets, enum site_kind kind, const char *path_part)
{
	size_t n = 0;

	for (size_t i = 0; i < targets->site_cnt; i++) {
		const struct site *site = &targets->sites[i];

		n += site->kind == kind && strstr(targets->libs[site->lib].path, path_part);
	}
	return n;
}

/* Does every site's file open, is it the mapped file, and is there no system call at the site? */
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

static void test_child(void)
{
	pid_t pid = child__start(NULL, NULL);
	struct targets targets;
	struct err err;

	is_int(targets__find(pid, WANTS(true, true), &targets, &err), 0, "own child: searched");
	ok(count(&targets, SITE_WAIT_BEGIN, "libc.so") == 3, "a begin for each wait function");
	ok(count(&targets, SITE_WAIT_END, "libc.so") >= 3, "an end for each, at least");
	is_uint(count(&targets, SITE_LOOPER, ""), 0, "no Looper");
	ok(sites_are_real(&targets), "the files open and the offsets are right");
	ok(no_place_twice(&targets), "no place appears twice");
	targets__free(&targets);
	is_int(targets__find(pid, WANTS(false, false), &targets, &err), 0, "with nothing wanted");
	is_uint(targets.site_cnt, 0, "nothing is found");
	targets__free(&targets);
	is_int(targets__find(pid, WANTS(false, true), &targets, &err), 0, "only the Looper wanted");
	is_uint(targets.site_cnt, 0, "it has none");
	targets__free(&targets);
	child__end(pid);
}

static void test_no_process(void)
{
	struct targets targets;
	struct err err;

	is_int(targets__find(child__on_exit(), WANTS(true, true), &targets, &err), -ESRCH,
	       "a process that is gone");
	has_str(err.msg, "No such process", "the message says so");
	is_int(err.exit, JANK_EXIT_FAILED, "is a failure at run time");
	is_int(targets__find(2, WANTS(true, true), &targets, NULL), 0, "a kernel thread");
	is_uint(targets.site_cnt, 0, "has no sites");
	targets__free(&targets);
}

static void test_static(void)
{
	const char *argv[] = { scratch__path("static"), NULL };
	struct targets targets;
	pid_t pid;

	scratch__write_text("static.c",
			    "#include <stdio.h>\n#include <sys/epoll.h>\n#include <unistd.h>\n"
			    "int main(void){struct epoll_event e;puts(\"up\");fflush(stdout);"
			    "if(epoll_wait(-1,&e,1,0)<1)pause();return 0;}\n");
	if (system("cc -static -o $D/static $D/static.c 2>/dev/null")) {
		skip(4, "no compiler or no static libc here");
		return;
	}
	pid = child__run(argv);
	is_int(targets__find(pid, WANTS(true, true), &targets, NULL), 0,
	       "static program: searched");
	is_uint(count(&targets, SITE_WAIT_BEGIN, "/static"), 1, "its own epoll_wait begins");
	ok(count(&targets, SITE_WAIT_END, "/static") >= 1, "and ends");
	ok(sites_are_real(&targets), "the offsets are right");
	targets__free(&targets);
	child__end(pid);
}

static void test_looper(void)
{
	const char *argv[] = {
		LOADER, "--preload", UTILS, "/bin/sh", "-c", "echo up; kill -STOP $$; :", NULL
	};
	struct targets targets;
	pid_t pid;

	if (access(UTILS, R_OK) || access(LOADER, X_OK)) {
		skip(3, "Android's libutils is not installed");
		return;
	}
	pid = child__run(argv);
	is_int(targets__find(pid, WANTS(false, true), &targets, NULL), 0, "libutils: searched");
	is_uint(count(&targets, SITE_LOOPER, "libutils"), 1, "pollOnce is found");
	is_uint(targets.site_cnt, 1, "and nothing else was searched for");
	targets__free(&targets);
	child__end(pid);
}

/* A private copy of libc, replaced on disk while it runs. */
static void test_deleted(void)
{
	const char *argv[] = { scratch__path("ld.so"),
			       "--library-path",
			       scratch_dir,
			       "/bin/sh",
			       "-c",
			       "echo up; kill -STOP $$; :",
			       NULL };
	struct targets targets;
	struct stat st = { 0 };
	pid_t pid;

	if (access(LIBC, R_OK) || access(LOADER, R_OK) ||
	    system("cp " LIBC " $D/libc.so.6 && cp " LOADER " $D/ld.so")) {
		skip(5, "no libc of that name here");
		return;
	}
	stat(scratch__path("libc.so.6"), &st);
	pid = child__run(argv);
	unlink(scratch__path("libc.so.6"));
	is_int(targets__find(pid, WANTS(true, false), &targets, NULL), 0, "deleted libc: searched");
	is_uint(count(&targets, SITE_WAIT_BEGIN, scratch_dir), 3, "its waits are found");
	if (targets.lib_cnt) {
		is_str(targets.libs[0].path, scratch__path("libc.so.6"),
		       "its path, without (deleted)");
		ok(targets.libs[0].inode == st.st_ino, "it is that file");
	}
	ok(!geteuid() ? sites_are_real(&targets) : true, "and still opens");
	targets__free(&targets);
	child__end(pid);
}

/*
 * Each executable page of a file is a mapping of its own: neighbours are not adjacent in the file.
 */
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
	pid = child__start(map_much, &cnt);
	ok(!kill(pid, 0) && !targets__find(pid, WANTS(true, true), &targets, NULL),
	   "%ld mappings: searched", cnt);
	is_uint(count(&targets, SITE_WAIT_BEGIN, "libc.so"), 3, "each wait once");
	ok(sites_are_real(&targets), "the offsets are right");
	targets__free(&targets);
	child__end(pid);
}

/* Maps the file at path as executable, as a traced program may. */
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

	snprintf(path, sizeof(path), "%s", scratch__write("libc.so.6", "\177ELF\2\1\1", 7));
	pid = child__start(map_file, path);
	is_int(targets__find(pid, WANTS(true, true), &targets, NULL), 0,
	       "a child that maps a broken libc");
	ok(count(&targets, SITE_WAIT_BEGIN, "libc.so") == 3, "has the real one's sites");
	targets__free(&targets);
	child__end(pid);
}

int main(void)
{
	scratch__init();
	test_child();
	test_no_process();
	test_static();
	test_looper();
	test_deleted();
	test_many_mappings();
	test_hostile_child();
	return tap__done();
}
