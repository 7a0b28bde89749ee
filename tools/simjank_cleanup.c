/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process `janitor`. It reads from a pipe to which nobody writes, so the read returns when the
 * last process with the other end has ended: the program and its helpers, which die with it.
 */
#include "simjank_cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/swap.h>
#include <unistd.h>

#include "simjank_cgroup.h"
#include "simjank_clock.h"

#define TRY_NS	(20 * NS_PER_MS)
#define TRY_MAX 250

void cleanup__name(char *name, size_t size, int pid, unsigned index)
{
	snprintf(name, size, "simjank.%d.%u", pid, index);
}

static void dir__remove(const char *dir, const char *name)
{
	const struct dirent *entry;
	char path[512];
	DIR *files;

	snprintf(path, sizeof(path), "%s/%s/swap", dir, name);
	swapoff(path);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	files = opendir(path);
	while (files && (entry = readdir(files)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(files), entry->d_name, 0);
	if (files)
		closedir(files);
	rmdir(path);
}

/* A cgroup is busy until its last task is gone. */
static void cgroup__remove(const char *controller, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), CGROUP_ROOT "/%s/%s", controller, name);
	for (int i = 0; i < TRY_MAX && rmdir(path) && errno == EBUSY; i++)
		clock__sleep_until(clock__mono_ns() + TRY_NS);
}

static _Noreturn void cleanup__run(int fd, const char *dir, int pid, unsigned cnt)
{
	static const char *const controllers[] = CGROUP_CONTROLLERS;
	char name[JANITOR_NAME_SZ], byte;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "janitor");
	for (int other = 0; other < 1024; other++)
		if (other != fd)
			close(other);
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	for (unsigned i = 0; i < cnt; i++) {
		cleanup__name(name, sizeof(name), pid, i);
		dir__remove(dir, name);
		for (size_t c = 0; c < sizeof(controllers) / sizeof(controllers[0]); c++)
			cgroup__remove(controllers[c], name);
	}
	_exit(0);
}

int cleanup__start(const char *dir, unsigned cnt)
{
	int program = getpid(), fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		cleanup__run(fds[0], dir, program, cnt);
	close(fds[0]);
	return 0;
}
