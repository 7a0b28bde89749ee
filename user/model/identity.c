/* SPDX-License-Identifier: GPL-2.0 */
/* Copies of a process's description: each thread has its own. */
#include "model/identity.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool copy(char **ret, const char *str)
{
	*ret = str ? strdup(str) : NULL;
	return !str || *ret;
}

struct identity *identity__copy(const struct identity *process)
{
	struct identity *ret = calloc(1, sizeof(*ret));

	if (!ret)
		return NULL;
	ret->pid = process->pid;
	ret->uid = process->uid;
	ret->ns_pid = process->ns_pid;
	if (copy(&ret->name, process->name) && copy(&ret->exe, process->exe) &&
	    copy(&ret->cgroup, process->cgroup) && copy(&ret->container, process->container) &&
	    copy(&ret->pod, process->pod) && copy(&ret->unit, process->unit))
		return ret;
	identity__free(ret);
	return NULL;
}

void identity__free(struct identity *process)
{
	if (!process)
		return;
	free(process->name);
	free(process->exe);
	free(process->cgroup);
	free(process->container);
	free(process->pod);
	free(process->unit);
	free(process);
}
