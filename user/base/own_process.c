/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/own_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Since 6.3; some machines refuse others (vm.memfd_noexec=2). */
#define NOEXEC_SEAL 8u

#define END_MS	  1000 /* for a process that has nothing to do; then it is killed */
#define FDS_MAX	  4
#define FD_BEYOND 16 /* copies are made there first, so that no target is a source */

#define OWN_MAX 32 /* a dozen at once; pids of further ones are not known as ours */

static _Atomic pid_t own[OWN_MAX];

static void replace(pid_t from, pid_t to)
{
	for (size_t i = 0; i < OWN_MAX; i++) {
		pid_t expected = from;

		if (atomic_compare_exchange_strong(&own[i], &expected, to))
			return;
	}
}

void own_process__add(pid_t pid)
{
	replace(0, pid);
}

void own_process__remove(pid_t pid)
{
	replace(pid, 0);
}

pid_t own_process__fork(void)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (!pid)
		return 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid > 0)
		own_process__add(pid);
	return pid;
}

bool own_process__has(pid_t pid)
{
	if (pid == getpid())
		return true;
	for (size_t i = 0; pid && i < OWN_MAX; i++)
		if (own[i] == pid)
			return true;
	return false;
}

static int add_fds(posix_spawn_file_actions_t *files, const struct own_process_fd *fds, size_t cnt,
		   int *copies)
{
	for (size_t i = 0; i < cnt; i++) {
		copies[i] = fcntl(fds[i].fd, F_DUPFD_CLOEXEC, FD_BEYOND);
		if (copies[i] < 0)
			return errno;
	}
	for (size_t i = 0; i < cnt; i++) {
		int res = posix_spawn_file_actions_adddup2(files, copies[i], fds[i].as);

		if (res)
			return res;
	}
	return 0;
}

int own_process__start(const char *name, const char *word, const struct own_process_fd *fds,
		       size_t cnt, pid_t *ret)
{
	char *const argv[] = { (char *)name, (char *)word, NULL };
	int copies[FDS_MAX] = { -1, -1, -1, -1 };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t all;
	int res;

	if (cnt > FDS_MAX)
		return -EINVAL;
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&files))
		return -ENOMEM;
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &all);
	res = add_fds(&files, fds, cnt, copies);
	if (!res)
		res = posix_spawn(ret, "/proc/self/exe", &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	for (size_t i = 0; i < cnt; i++)
		if (copies[i] >= 0)
			close(copies[i]);
	if (!res)
		own_process__add(*ret);
	return -res;
}

bool own_process__begin(int sock)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ };
	struct stat st;
	sigset_t none;

	if (fstat(sock, &st) || !S_ISSOCK(st.st_mode))
		return false;
	for (unsigned i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return true;
}

int own_process__shared(const char *name, size_t size)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)size) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	close(fd);
	return -EIO;
}

/* False: the time is up. */
static bool reap(pid_t pid, int *ret_status)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	if (end.fd >= 0) {
		poll(&end, 1, END_MS);
		close(end.fd);
	}
	return waitpid(pid, ret_status, WNOHANG) == pid;
}

/* Kill it before its socket is closed: else it may end by itself, with a misleading status. */
void own_process__end(_Atomic pid_t *pid, int *sock, bool at_once, int *ret_status)
{
	if (*pid && at_once)
		kill(*pid, SIGKILL);
	if (*sock >= 0)
		close(*sock);
	*sock = -1;
	if (*pid && !reap(*pid, ret_status) && !at_once && !kill(*pid, SIGKILL))
		reap(*pid, ret_status);
	own_process__remove(*pid);
	*pid = 0;
}

void own_process__add_end(struct strbuf *sb, int status)
{
	if (WIFSIGNALED(status))
		strbuf__addf(sb, "killed by signal %d", WTERMSIG(status));
	else
		strbuf__addf(sb, "exit status %d", WEXITSTATUS(status));
}
