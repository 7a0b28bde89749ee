/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Uprobes that follow files: for every process that maps a library, in any way, each call is
 * counted once. Runs in its own process namespace (mmaps.t), so that no other program's library is
 * probed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/live/follow/follow.h"
#include "tests/tap.h"
#include "tests/unit/zip_writer.h"
#include "uprobes/links.h"
#include "uprobes/mmaps.h"

#define LINGER_TICKS 8 /* seconds: longer than uprobe_files keeps an unused file */

static const char *how(void)
{
	return follow.multi ? "multi" : "single";
}

/* Checks by the marks that the worker's next calls are counted, once each. */
static void check_calls(struct worker *worker, const char *what)
{
	uint64_t before = follow__hits(follow.message, worker->tag);
	uint64_t others = follow__hits(follow.other, worker->tag);

	for (int i = 0; i < 3; i++)
		worker__do(worker, "c");
	worker__do(worker, "o");
	is_uint(follow__hits(follow.message, worker->tag) - before, 3, "%s: %s", how(), what);
	is_uint(follow__hits(follow.other, worker->tag) - others, 1, "%s: … the other mark", how());
}

static void load_and_check(struct worker *worker, const char *path, const char *what)
{
	worker__do(worker, "l %s", path);
	follow__resolve_all();
	check_calls(worker, what);
}

/*
 * A process that runs before the start of the test, with a deleted library and a new file in its
 * place.
 */
static void test_running(void)
{
	struct worker plain, deleted;

	shell("cp %s %s", in_dir("libfollow.so"), in_dir("libfollow-gone.so"));
	ok(worker__start(&plain, in_dir("worker-linked"), NULL) &&
		   worker__start(&deleted, in_dir("worker"), NULL) &&
		   worker__do(&deleted, "l %s", in_dir("libfollow-gone.so")),
	   "%s: workers start", how());
	unlink(in_dir("libfollow-gone.so"));
	ok(follow__begin(), "%s: probes follow", how());
	is_uint(follow__stats().process_cnt, 2, "%s: both processes are known", how());
	check_calls(&plain, "a running process");
	check_calls(&deleted, "a running process with a deleted library");
	shell("cp %s %s", in_dir("libfollow.so"), in_dir("libfollow-gone.so"));
	worker__end(&plain);
	ok(worker__start(&plain, in_dir("worker"), NULL), "%s: another", how());
	load_and_check(&plain, in_dir("libfollow-gone.so"), "a new file of that name");
	check_calls(&deleted, "… and the old one");
	worker__end(&plain);
	worker__end(&deleted);
}

static void test_life(void)
{
	struct worker worker;
	size_t links = follow__stats().link_cnt;

	ok(worker__start(&worker, in_dir("worker-linked"), NULL), "%s: a known file", how());
	is_uint(follow__hits(follow.message, worker.tag), 1, "%s: its very first call", how());
	follow__resolve_all();
	is_uint(follow__stats().link_cnt, links, "%s: no new uprobe", how());
	check_calls(&worker, "a new process");
	worker__do(&worker, "e");
	check_calls(&worker, "… after an exec of its own");
	worker__do(&worker, "f");
	follow__resolve_all();
	check_calls(&worker, "… its child, after its own end");
	worker__do(&worker, "t");
	follow__resolve_all();
	for (int i = 0; i < 3; i++)
		uprobe_files__tick(follow.files);
	ok(follow__stats().process_cnt >= 1, "%s: the process is known after its main thread's end",
	   how());
	check_calls(&worker, "… its other thread");
	worker__end(&worker);
}

static void test_dlopen(void)
{
	struct worker worker;

	shell("cp %s %s", in_dir("libfollow.so"), in_dir("libfollow-late.so"));
	ok(worker__start(&worker, in_dir("worker"), NULL), "%s: a worker starts", how());
	follow__resolve_all();
	load_and_check(&worker, in_dir("libfollow-late.so"), "a library loaded later");
	worker__end(&worker);
}

static int other_mount(void)
{
	return unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount(in_dir("libfollow-b.so"), in_dir("libfollow-a.so"), NULL, MS_BIND, NULL);
}

/* One path, two files. */
static void test_mounts(void)
{
	struct worker here, there;
	size_t files;

	shell("cp %s %s; cp %s %s", in_dir("libfollow.so"), in_dir("libfollow-a.so"),
	      in_dir("libfollow.so"), in_dir("libfollow-b.so"));
	if (!worker__start(&there, in_dir("worker"), other_mount)) {
		skip(5, "no mount namespaces here");
		return;
	}
	ok(worker__start(&here, in_dir("worker"), NULL), "%s: two workers", how());
	files = follow__stats().file_cnt;
	load_and_check(&there, in_dir("libfollow-a.so"), "in another mount namespace");
	load_and_check(&here, in_dir("libfollow-a.so"), "… the same path in ours");
	is_uint(follow__stats().file_cnt, files + 2, "%s: two files", how());
	worker__end(&here);
	worker__end(&there);
}

static int enter_root(void)
{
	return chroot(in_dir("root")) || chdir("/");
}

static void test_chroot(void)
{
	struct worker worker;

	shell("mkdir -p %s && cd %s && for f in $(ldd worker | grep -o '/[^ ]*'); do "
	      "mkdir -p root/${f%%/*} && cp $f root/$f; done && cp worker libfollow.so root",
	      in_dir("root"), follow.dir);
	if (!worker__start(&worker, "/worker", enter_root)) {
		skip(2, "no root to change to");
		return;
	}
	load_and_check(&worker, "/libfollow.so", "below another root");
	worker__end(&worker);
}

/* Two containers of one image. */
static void test_overlay(void)
{
	struct worker one, two;
	size_t files;

	shell("cd %s && mkdir -p lower up1 up2 work1 work2 m1 m2 && cp libfollow.so lower",
	      follow.dir);
	if (shell("cd %s && for i in 1 2; do mount -t overlay overlay -o lowerdir=lower,"
		  "upperdir=up$i,workdir=work$i m$i || exit 1; done 2>/dev/null",
		  follow.dir)) {
		skip(7, "no overlays here");
		return;
	}
	ok(worker__start(&one, in_dir("worker"), NULL) &&
		   worker__start(&two, in_dir("worker"), NULL),
	   "%s: two workers", how());
	files = follow__stats().file_cnt;
	load_and_check(&one, in_dir("m1/libfollow.so"), "on an overlay");
	load_and_check(&two, in_dir("m2/libfollow.so"), "on another overlay over the same");
	is_uint(follow__stats().file_cnt, files + 1, "%s: one file", how());
	worker__end(&one);
	worker__end(&two);
	is_int(shell("umount %s %s", in_dir("m1"), in_dir("m2")), 0,
	       "%s: the probe holds the file below, and no mount", how());
}

static size_t make_archive(const char *path)
{
	static struct zip_writer zip;
	static uint8_t library[1 << 16];
	FILE *file = fopen(in_dir("libfollow.so"), "r");
	size_t size = fread(library, 1, sizeof(library), file), at;

	fclose(file);
	memset(&zip, 0, sizeof(zip));
	zip__add(&zip, "AndroidManifest.xml", library, 1234, 0, 1);
	zip__add(&zip, "lib/arm64-v8a/libother.so", library, size, 0, 4096);
	at = zip__add(&zip, "lib/arm64-v8a/libfollow.so", library, size, 0, 4096);
	zip__finish(&zip, "");
	file = fopen(path, "w");
	fwrite(zip.bytes, 1, zip.len, file);
	fclose(file);
	return at;
}

static void test_archive(void)
{
	size_t at = make_archive(in_dir("base.apk"));
	struct worker worker;
	uint64_t before;

	if (!shell("which unzip >/dev/null"))
		is_int(shell("unzip -l %s | grep -q libfollow.so", in_dir("base.apk")), 0,
		       "%s: the archive is valid", how());
	else
		skip(1, "no unzip here");
	shell("cp %s %s", in_dir("libfollow.so"), in_dir("plain.so"));
	ok(worker__start(&worker, in_dir("worker"), NULL), "%s: a worker starts", how());
	worker__do(&worker, "z %s %zu %s", in_dir("base.apk"), at, in_dir("plain.so"));
	follow__resolve_all();
	before = follow__hits(follow.message, worker.tag);
	worker__do(&worker, "c");
	is_uint(follow__hits(follow.message, worker.tag) - before, 1, "%s: a library in an APK",
		how());
	worker__end(&worker);
}

/* When no process maps a file any longer, everything is released. */
static void test_release(void)
{
	struct uprobe_files_stats stats;

	ok(follow__stats().file_cnt > 3, "%s: many files (%zu)", how(), follow__stats().file_cnt);
	follow__resolve_all();
	for (int i = 0; i < LINGER_TICKS; i++) {
		uprobe_files__tick(follow.files);
		sleep(1);
		follow__resolve_all();
	}
	stats = follow__stats();
	is_uint(stats.process_cnt, 0, "%s: no process is left", how());
	is_uint(stats.file_cnt, 0, "%s: no file is held", how());
	is_uint(stats.link_cnt, 0, "%s: no uprobe is left", how());
	is_uint(stats.missed_cnt, 0, "%s: no file was missed", how());
}

static uint64_t own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

/*
 * Runs processes that call only once. *ret_ns is our own CPU time without the time to start them.
 */
static void run_many(unsigned cnt, bool consume, uint64_t *ret_ns)
{
	pid_t runner = fork();
	int status;

	if (!runner)
		_exit(shell("i=0; while [ $i -lt %u ]; do %s 77 x; i=$((i+1)); done", cnt,
			    in_dir("worker-linked")) != 0);
	*ret_ns = own_cpu_ns();
	while (!waitpid(runner, &status, WNOHANG)) {
		if (consume)
			follow__resolve_all();
		else
			usleep(1000);
	}
	*ret_ns = own_cpu_ns() - *ret_ns;
}

static void test_many(void)
{
	unsigned descriptors, cnt = 500;
	struct uprobe_files_stats stats;
	struct worker keeper; /* so that the file stays */
	uint64_t ns, before;

	worker__start(&keeper, in_dir("worker-linked"), NULL);
	follow__resolve_all();
	descriptors = follow__descriptors();
	before = follow__hits(follow.message, 77);
	run_many(cnt, true, &ns);
	follow__resolve_all();
	diag("%s: %.0f us of our CPU for each of %u processes", how(), (double)ns / 1e3 / cnt, cnt);
	is_uint(follow__hits(follow.message, 77) - before, cnt, "%s: the one call of each", how());
	ok(ns / cnt < NS_PER_MS, "%s: less than 1 ms of our CPU for each", how());
	ok(follow__descriptors() <= descriptors, "%s: no more descriptors than before", how());
	for (int i = 0; i < 3; i++)
		uprobe_files__tick(follow.files);
	stats = follow__stats();
	is_uint(stats.process_cnt, 1, "%s: none of them is kept", how());
	worker__end(&keeper);
}

/* Records are lost while the rings are not read. */
static void test_lost(void)
{
	struct worker worker;
	uint64_t ns;

	shell("cp %s %s", in_dir("libfollow.so"), in_dir("libfollow-lost.so"));
	run_many(800, false, &ns);
	worker__start(&worker, in_dir("worker"), NULL);
	worker__do(&worker, "l %s", in_dir("libfollow-lost.so"));
	follow__resolve_all();
	uprobe_files__tick(follow.files);
	check_calls(&worker, "a library mapped meanwhile");
	worker__do(&worker,
		   "e"); /* the kernel reports the loss with the next record, on each CPU */
	follow__resolve_all();
	ok(follow__stats().lost_cnt > 0, "%s: records were lost (%llu)", how(),
	   (unsigned long long)follow__stats().lost_cnt);
	worker__end(&worker);
}

/* Its own thread reads the rings. */
static void test_thread(void)
{
	struct worker worker;
	struct err err = {};

	follow__end();
	shell("cp %s %s", in_dir("libfollow.so"), in_dir("libfollow-thread.so"));
	ok(follow__begin() && !uprobe_files__start(follow.files, &err), "%s: a thread follows",
	   how());
	worker__start(&worker, in_dir("worker"), NULL);
	worker__do(&worker, "l %s", in_dir("libfollow-thread.so"));
	for (int i = 0; i < 100 && !follow__stats().process_cnt; i++)
		usleep(20000);
	is_uint(follow__stats().process_cnt, 1, "%s: it has found the process", how());
	check_calls(&worker, "a library found by the thread");
	worker__end(&worker);
	for (int i = 0; i < 2 * LINGER_TICKS * 50 && follow__stats().link_cnt; i++)
		usleep(20000);
	is_uint(follow__stats().link_cnt, 0, "%s: it has released the file", how());
}

static bool any_name(void *ctx, const char *name)
{
	return true;
}

static void test_forbidden(void)
{
	const struct mmaps_ops ops = { .wants = any_name };
	struct mmaps *mmaps;
	struct err err = {};
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(2);
		_exit(mmaps__new(&ops, &mmaps, &err) != -EACCES || err.exit != JANK_EXIT_CANNOT ||
		      !strstr(err.msg, "CAP_PERFMON"));
	}
	waitpid(pid, &status, 0);
	is_int(status, 0, "without privilege: an error with its remedy");
}

static void run_all(bool multi)
{
	unsigned descriptors = follow__descriptors();

	follow.multi = multi;
	test_running();
	if (follow.files) {
		test_life();
		test_dlopen();
		test_mounts();
		test_chroot();
		test_overlay();
		test_archive();
		test_release();
		test_many();
		test_lost();
		test_thread();
	}
	follow__end();
	is_uint(follow__descriptors(), descriptors, "%s: all descriptors are closed", how());
}

int main(int argc, char **argv)
{
	if (argc < 2 || geteuid())
		skip_all("needs root");
	if (getpid() != 1)
		skip_all("needs a process namespace of its own");
	if (!follow__prepare(argv[1])) {
		ok(false, "a place to work in");
		return tap__done();
	}
	test_forbidden();
	run_all(false);
	if (uprobe_links__has_multi(false))
		run_all(true);
	else
		skip(1, "this kernel has no uprobe_multi");
	follow__clean();
	return tap__done();
}
