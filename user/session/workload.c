/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child process, controlled by two pipes: one releases the child; the other closes at its exec or
 * delivers the errno.
 */

#include "session/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "files/file.h"

/* It becomes the user before it waits, so that the records have that user from the first on. */
static void run_child(char **argv, const struct user_account *as, int go_fd, int failed_fd)
{
	int code = as ? -user_account__become(as) : 0;
	char go;

	if (read(go_fd, &go, 1) != 1)
		_exit(127); /* the parent gave up */
	if (!code) {
		execvp(argv[0], argv);
		code = errno;
	}
	file__write_all(failed_fd, &code, sizeof(code));
	_exit(127);
}

int workload__prepare(char **argv, const struct user_account *as, struct workload *ret,
		      struct err *err)
{
	int go[2], failed[2];

	*ret = (struct workload){ .go_fd = -1, .failed_fd = -1, .as = as ? as->name : NULL };
	if (pipe2(go, O_CLOEXEC))
		return err__set(err, errno, "cannot start '%s': %s", argv[0], strerror(errno));
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return err__set(err, errno, "cannot start '%s': %s", argv[0], strerror(errno));
	}
	ret->pid = fork();
	if (!ret->pid) {
		close(go[1]);
		run_child(argv, as, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	ret->go_fd = go[1];
	ret->failed_fd = failed[0];
	if (ret->pid < 0) {
		ret->pid = 0;
		return err__set(err, errno, "cannot start '%s': %s", argv[0], strerror(errno));
	}
	return 0;
}

static void close_fds(struct workload *wl)
{
	if (wl->go_fd >= 0)
		close(wl->go_fd);
	if (wl->failed_fd >= 0)
		close(wl->failed_fd);
	wl->go_fd = wl->failed_fd = -1;
}

int workload__go(struct workload *wl, char **argv, struct err *err)
{
	int code = 0;
	ssize_t len;

	if (write(wl->go_fd, "", 1) != 1)
		code = errno;
	do
		len = read(wl->failed_fd, &code, sizeof(code));
	while (len < 0 && errno == EINTR);
	close_fds(wl);
	if (!code)
		return 0;
	return err__set(err, code, "cannot run '%s'%s%s: %s", argv[0], wl->as ? " as user " : "",
			wl->as ? wl->as : "", strerror(code));
}

void workload__reap(struct workload *wl)
{
	if (wl->pid && !wl->ended && waitpid(wl->pid, &wl->status, WNOHANG) == wl->pid)
		wl->ended = true;
}

void workload__stop(struct workload *wl)
{
	const struct timespec step = { .tv_nsec = 10 * 1000 * 1000 };

	close_fds(wl);
	workload__reap(wl);
	if (!wl->pid || wl->ended)
		return;
	kill(wl->pid, SIGTERM);
	kill(wl->pid, SIGCONT);
	for (int i = 0; i < 200 && !wl->ended; i++) {
		nanosleep(&step, NULL);
		workload__reap(wl);
	}
	if (!wl->ended && !kill(wl->pid, SIGKILL))
		wl->ended = waitpid(wl->pid, &wl->status, 0) == wl->pid;
}

int workload__exit_status(const struct workload *wl)
{
	if (WIFSIGNALED(wl->status))
		return 128 + WTERMSIG(wl->status);
	return WEXITSTATUS(wl->status);
}
