/* SPDX-License-Identifier: GPL-2.0 */
/* Two pipes: one that releases the child, one that closes at its exec or brings the errno. */
#include "app/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

static void child(char **argv, int go_fd, int failed_fd)
{
	sigset_t none;
	char go;
	int code;

	if (read(go_fd, &go, 1) != 1)
		_exit(127); /* the parent gave up */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
	code = errno;
	file__write_all(failed_fd, &code, sizeof(code));
	_exit(127);
}

int command__prepare(char **argv, struct command *ret, struct err *err)
{
	int go[2], failed[2];

	*ret = (struct command){ .go_fd = -1, .failed_fd = -1 };
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
		child(argv, go[0], failed[1]);
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

static void close_fds(struct command *cmd)
{
	if (cmd->go_fd >= 0)
		close(cmd->go_fd);
	if (cmd->failed_fd >= 0)
		close(cmd->failed_fd);
	cmd->go_fd = cmd->failed_fd = -1;
}

int command__go(struct command *cmd, char **argv, struct err *err)
{
	int code = 0;
	ssize_t len;

	if (write(cmd->go_fd, "", 1) != 1)
		code = errno;
	do
		len = read(cmd->failed_fd, &code, sizeof(code));
	while (len < 0 && errno == EINTR);
	close_fds(cmd);
	if (!code)
		return 0;
	return err__set(err, code, "cannot run '%s': %s", argv[0], strerror(code));
}

void command__reap(struct command *cmd)
{
	if (cmd->pid && !cmd->ended && waitpid(cmd->pid, &cmd->status, WNOHANG) == cmd->pid)
		cmd->ended = true;
}

void command__stop(struct command *cmd)
{
	const struct timespec step = { .tv_nsec = 10 * 1000 * 1000 };

	close_fds(cmd);
	command__reap(cmd);
	if (!cmd->pid || cmd->ended)
		return;
	kill(cmd->pid, SIGTERM);
	kill(cmd->pid, SIGCONT);
	for (int i = 0; i < 200 && !cmd->ended; i++) {
		nanosleep(&step, NULL);
		command__reap(cmd);
	}
	if (!cmd->ended && !kill(cmd->pid, SIGKILL))
		cmd->ended = waitpid(cmd->pid, &cmd->status, 0) == cmd->pid;
}

int command__exit_status(const struct command *cmd)
{
	if (WIFSIGNALED(cmd->status))
		return 128 + WTERMSIG(cmd->status);
	return WEXITSTATUS(cmd->status);
}
