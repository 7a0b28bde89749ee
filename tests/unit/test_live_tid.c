/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The thread whose /proc entry shows a process's memory: in a made-up /proc, and for a real process
 * without a main thread.
 */
#include "files/proc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"

static void make_dir(const char *name)
{
	if (mkdir(scratch__path(name), 0700))
		exit(1);
}

static void make_stat(const char *tid, const char *text)
{
	char name[16];

	make_dir(tid);
	snprintf(name, sizeof(name), "%s/stat", tid);
	scratch__write_text(name, text);
}

static void test_made_up(void)
{
	make_stat("7", "7 (a) Z) S (b) S 1");
	is_uint(live_tid__thread(scratch_dir, 7), 7, "a living main thread with an odd name");
	make_stat("8", "8 (a) S b) Z 1");
	is_uint(live_tid__thread(scratch_dir, 8), 8, "a zombie without threads");
	make_dir("8/task");
	make_dir("8/task/8");
	make_dir("8/task/9");
	make_dir("8/task/10");
	make_stat("9", "9 (a) X 1");
	is_uint(live_tid__thread(scratch_dir, 8), 8,
		"a zombie whose other threads have ended or are unreadable");
	make_dir("8/task/11");
	make_stat("11", "11 (a) D 1");
	is_uint(live_tid__thread(scratch_dir, 8), 11, "or whose other thread lives");
	is_uint(live_tid__thread(scratch_dir, 12), 12, "no such process");
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void test_real(void)
{
	pid_t pid = child__fork();
	uint32_t tid = 0;

	if (!pid) {
		pthread_t thread;

		pthread_create(&thread, NULL, wait_for_ever, NULL);
		pthread_exit(NULL);
	}
	for (int i = 0; i < 500 && (!tid || tid == (uint32_t)pid); i++) {
		usleep(10000);
		tid = live_tid__thread("/proc", pid);
	}
	ok(tid > (uint32_t)pid, "a real process whose main thread has ended");
	child__end(pid);
	is_uint(live_tid__thread("/proc", getpid()), getpid(), "ourselves");
}

int main(void)
{
	scratch__init();
	test_made_up();
	test_real();
	return tap__done();
}
