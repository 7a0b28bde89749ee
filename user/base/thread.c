/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/thread.h"

#include <cap-ng.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FD_MAX 65536 /* without close_range */

int thread__start(pthread_t *ret, const char *name, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(ret, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_setname_np(*ret, name);
	return -err;
}

void thread__set_nice(pid_t tid, int nice)
{
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_NICE))
		setpriority(PRIO_PROCESS, tid, nice);
}

void fds__close_from(int first)
{
	if (syscall(SYS_close_range, first, ~0u, 0)) /* close_range is missing before 5.9 */
		for (int fd = first; fd < FD_MAX; fd++)
			close(fd);
}
