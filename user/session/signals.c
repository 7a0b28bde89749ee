/* SPDX-License-Identifier: GPL-2.0 */
/* SIGINT, SIGTERM and SIGHUP end a run; a file's end or a pipe's is an error like others. */
#include "session/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

/* nohup means it. SIGINT that is ignored comes from a shell's `&`: whoever sends it all the same, by
 * kill, wants the summary. */
static bool is_wanted(int sig)
{
	struct sigaction action;

	return sig != SIGHUP || sigaction(sig, NULL, &action) || action.sa_handler != SIG_IGN;
}

static sigset_t ending_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (is_wanted(ending[i]))
			sigaddset(&set, ending[i]);
	return set;
}

void signals__write_errors(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file at its size limit is an error like a full disk */
}

int signals__open(void)
{
	sigset_t set = ending_set();
	int fd;

	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	signal(SIGCHLD, SIG_DFL); /* ignored, it would take a COMMAND's status away */
	signals__write_errors();
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

bool signals__end(int fd)
{
	struct signalfd_siginfo info;
	bool any = false;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		any = true;
	return any;
}

void signals__default(int fd)
{
	sigset_t set = ending_set();

	signals__end(fd); /* those that came twice at once are one */
	for (unsigned i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (sigismember(&set, ending[i]))
			signal(ending[i], SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
