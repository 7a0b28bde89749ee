/* SPDX-License-Identifier: GPL-2.0 */
/* Processes that a test can inspect. They end with the test at the latest. */
#ifndef JANK_TEST_CHILD_H
#define JANK_TEST_CHILD_H

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

/* As fork. The calling thread must outlive the child. */
static inline pid_t child__fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* Starts a child that runs fn (NULL: nothing) and then sleeps; returns when fn is done. */
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
		diag("child %d did not report that it is ready", pid);
	close(ready[0]);
	return pid;
}

/*
 * Starts a program, after prepare (NULL: nothing) in the child; returns when it has written
 * something, or has ended without.
 */
static inline pid_t child__run_after(void (*prepare)(void *ctx), void *ctx, const char *const *argv,
				     bool *ret_wrote)
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
		if (prepare)
			prepare(ctx);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(out[1]);
	*ret_wrote = read(out[0], &byte, 1) == 1;
	close(out[0]);
	return pid;
}

/* The same, and complains about a program that has written nothing. */
static inline pid_t child__run(const char *const *argv)
{
	bool wrote;
	pid_t pid = child__run_after(NULL, NULL, argv, &wrote);

	if (!wrote)
		diag("%s did not start", argv[0]);
	return pid;
}

/* A child that has ended and is not reaped yet. */
static inline pid_t child__zombie(void)
{
	pid_t pid = child__fork();

	if (!pid)
		_exit(0);
	waitid(P_PID, pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	return pid;
}

/* Ends and reaps a child: its pid is free then. */
static inline void child__end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The pid of a child that has ended and is reaped. */
static inline pid_t child__on_exit(void)
{
	pid_t pid = child__start(NULL, NULL);

	child__end(pid);
	return pid;
}

#endif
