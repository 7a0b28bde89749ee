/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of this process: its open files, and its cgroup's memory. */
#ifndef JANK_SESSION_LIMITS_H
#define JANK_SESSION_LIMITS_H

#include "base/err.h"

/*
 * Raises the soft limit of open files to the hard one: a link takes two descriptors, each CPU and
 * uprobe one. The soft limit is low only for programs that use select(), which we do not. A COMMAND
 * is forked earlier, since it would inherit the raised limit.
 */
void limits__raise(void);

/*
 * Adds the limit of open files to the message of a start that failed, if it may be the reason: who
 * found no descriptor names the wrong remedy, and libraries turn EMFILE into other errors. res: 0
 * or -errno of the start. Returns res.
 */
int limits__explain(int res, struct err *err);

/*
 * How many programs the probes may load beside libbpf (probes/program_loads.h): one for each
 * further CPU of this process, at most three; 0 where its cgroup has little memory left. Warns if
 * that is less than a start takes: a kernel that kills says nothing.
 */
unsigned limits__load_threads(void);

#endif
