/* SPDX-License-Identifier: GPL-2.0 */
/* The one process with a name: none, one, several, ourselves, a thread's name, a zombie. */
#include "procfs/procinfo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/child.h"

static char name[16];

static void rename_self(void *arg)
{
	prctl(PR_SET_NAME, name);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	struct err err = {};
	uint64_t found = 0;
	pid_t one, two;

	snprintf(name, sizeof(name), "t-%d", getpid());
	is_int(procname__find(name, &found, &err), -ESRCH, "no process has the name");
	has_str(err.msg, "no process has this name", "the message");
	one = child__start(rename_self, NULL);
	is_int(procname__find(name, &found, &err), 0, "one has it: %s", err.msg);
	is_uint(found, (uint64_t)one, "its number");
	prctl(PR_SET_NAME, name);
	is_int(procname__find(name, &found, &err), 0, "we do not count: %s", err.msg);
	is_uint(found, (uint64_t)one, "its number");
	two = child__start(rename_self, NULL);
	is_int(procname__find(name, &found, &err), -ENOTUNIQ, "two have it");
	has_str(err.msg, "2 processes have this name", "the message");
	kill(one, SIGKILL);
	waitid(P_PID, (id_t)one, NULL, WEXITED | WNOWAIT);
	is_int(procname__find(name, &found, &err), 0, "one has ended, and is not waited for");
	is_uint(found, (uint64_t)two, "the other one");
	end(one);
	end(two);
	return tap__done();
}
