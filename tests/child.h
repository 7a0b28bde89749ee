/* SPDX-License-Identifier: GPL-2.0 */
/* Processes for a test to look at. They end with the test at the latest. */
#ifndef JANK_TEST_CHILD_H
#define JANK_TEST_CHILD_H

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

/* As fork; the caller's thread has to outlive it. */
static inline pid_t child__fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* One that runs fn (NULL: nothing) and then sleeps; returns when fn is done. */
static inline pid_t child__start(void (*fn)(void *arg), void *arg)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		abort();
	pid = child__fork();
	if (!pid) {
		close(ready[0]);
		if (fn)
			fn(arg);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) < 0)
		diag("child %d does not say when it is ready", pid);
	close(ready[0]);
	return pid;
}

/* One that runs a program; returns when that has written something. */
static inline pid_t child__run(const char *const *argv)
{
	int out[2];
	char byte;
	pid_t pid;

	if (pipe(out))
		abort();
	pid = child__fork();
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

/* One that has ended, and waits to be told of. */
static inline pid_t child__zombie(void)
{
	pid_t pid = child__fork();

	if (!pid)
		_exit(0);
	waitid(P_PID, pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	return pid;
}

/* Ends one, and forgets it: its number is nobody's. */
static inline void child__end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The number of one that has ended. */
static inline pid_t child__on_exit(void)
{
	pid_t pid = child__start(NULL, NULL);

	child__end(pid);
	return pid;
}

#endif
