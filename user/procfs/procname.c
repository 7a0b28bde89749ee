/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one process with a name. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "procfs/procinfo.h"

#define LISTED_MAX 8 /* processes that the message lists */

/* By the name that ps -o comm shows, or by the whole name if the kernel cut that one. */
static bool is_named(const struct proc_info *info, const char *name)
{
	return !info->kernel_thread &&
	       (!strcmp(info->comm, name) || !strcmp(procinfo__known_as(info), name));
}

static bool has_name(pid_t pid, const char *name)
{
	struct err err = {};
	struct proc_info info;
	bool is_it;

	if (pid <= 0 || pid == getpid() || procinfo__read(pid, &info, &err))
		return false;
	is_it = is_named(&info, name);
	procinfo__free(&info);
	return is_it;
}

static int refuse_many(const char *name, size_t cnt, const char *pids, struct err *err)
{
	return err__set(err, ENOTUNIQ,
			"--pid '%s': %zu processes have this name (%s%s): give the number of one, "
			"or all of them by -c %s",
			name, cnt, pids, cnt > LISTED_MAX ? ", …" : "", name);
}

int procname__find(const char *name, uint64_t *ret, struct err *err)
{
	struct strbuf pids = STRBUF_INIT;
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t cnt = 0;
	int res = 0;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtoul(entry->d_name, NULL, 10);

		if (!has_name(pid, name))
			continue;
		*ret = (uint64_t)pid;
		if (cnt++ < LISTED_MAX)
			strbuf__addf(&pids, "%s%d", cnt > 1 ? ", " : "", pid);
	}
	if (proc)
		closedir(proc);
	if (!cnt)
		res = err__set(err, ESRCH,
			       "--pid '%s': no process has this name; `ps -e` shows their names",
			       name);
	else if (cnt > 1)
		res = refuse_many(name, cnt, strbuf__str(&pids), err);
	strbuf__free(&pids);
	return res;
}
