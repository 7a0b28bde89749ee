/* SPDX-License-Identifier: GPL-2.0 */
/* Which thread tells of a process's memory: a made-up /proc, and a real process without a main thread. */
#include "base/living.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

static char dir[] = "/tmp/test_living.XXXXXX";

static void make_dir(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (mkdir(path, 0700))
		exit(1);
}

static void make_stat(const char *tid, const char *text)
{
	char path[128];
	FILE *file;

	make_dir(tid);
	snprintf(path, sizeof(path), "%s/%s/stat", dir, tid);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		exit(1);
}

static void test_made_up(void)
{
	make_stat("7", "7 (a) Z) S (b) S 1");
	is_uint(living__thread(dir, 7), 7,
		"a main thread that lives, whatever its name looks like");
	make_stat("8", "8 (a) S b) Z 1");
	is_uint(living__thread(dir, 8), 8, "a zombie without threads");
	make_dir("8/task");
	make_dir("8/task/8");
	make_dir("8/task/9");
	make_dir("8/task/10");
	make_stat("9", "9 (a) X 1");
	is_uint(living__thread(dir, 8), 8, "whose other threads have ended, or can't be read");
	make_dir("8/task/11");
	make_stat("11", "11 (a) D 1");
	is_uint(living__thread(dir, 8), 11, "or one that lives");
	is_uint(living__thread(dir, 12), 12, "no such process");
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void test_real(void)
{
	pid_t pid = fork();
	uint32_t tid = 0;

	if (!pid) {
		pthread_t thread;

		pthread_create(&thread, NULL, wait_for_ever, NULL);
		pthread_exit(NULL);
	}
	for (int i = 0; i < 500 && (!tid || tid == (uint32_t)pid); i++) {
		usleep(10000);
		tid = living__thread("/proc", pid);
	}
	ok(tid > (uint32_t)pid, "a real process whose main thread has ended");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_uint(living__thread("/proc", getpid()), getpid(), "ourselves");
}

int main(void)
{
	char command[64];

	if (!mkdtemp(dir))
		exit(1);
	test_made_up();
	test_real();
	snprintf(command, sizeof(command), "rm -r %s", dir);
	if (system(command))
		diag("%s is left", dir);
	return tap__done();
}
