/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc tells of a process, read once. Its texts are the process's own choice: any bytes. */
#ifndef JANK_PROCFS_PROCINFO_H
#define JANK_PROCFS_PROCINFO_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_info {
	uint32_t pid;
	uint32_t uid;	 /* real */
	uint32_t ns_pid; /* in its own pid namespace */
	uint32_t parent_pid;
	uint32_t tracer_pid; /* of the debugger, or 0 */
	uint32_t thread_cnt;
	uint64_t code_start, code_end; /* the program's own code; 0: may not be known */
	uint64_t start_ticks; /* when it started, in clock ticks since boot: tells a reused pid */
	bool kernel_thread;
	char comm[64];
	char *exe; /* path of the program, " (deleted)" removed; NULL when there is none or it is hidden */
	char *cgroup; /* path in the v2 hierarchy, else in systemd's or memory's; NULL when none */
};

/* 0; -ESRCH: there is no such process, or it has ended; -EINVAL: pid is another process's thread.
 * procinfo__free releases ret's members. */
int procinfo__read(pid_t pid, struct proc_info *ret, struct err *err);
void procinfo__free(struct proc_info *info);

/*
 * What /proc/PID/stat alone tells: name, parent, threads, start, state ('Z': ended, the parent has
 * not waited). Cheaper, and nothing is to be freed. 0, -ESRCH or -EBADMSG.
 */
int procinfo__read_stat(pid_t pid, struct proc_info *ret, char *ret_state);

/*
 * The name that people know a process by: what it calls itself (redis-server is a link to another
 * program), in full where the kernel cut it to 15 bytes. Into info.
 */
const char *procinfo__known_as(const struct proc_info *info);

/* The parts that parse, for tests. The texts are changed. 0 or -EBADMSG. */
int procinfo__parse_stat(char *text, struct proc_info *ret, char *ret_state);
int procinfo__parse_status(const char *text, struct proc_info *ret, uint32_t *ret_tgid);
const char *procinfo__parse_cgroup(char *text); /* into text, or NULL */

/*
 * What a process of a browser does, by its command line: Chromium, Electron and CEF name it
 * (--type=renderer), Firefox, too (-contentproc … tab).
 */

/*
 * Reads the command line, which lies in the process's memory, apart: at most half a second, 4 KiB.
 * *ret: the role, owned by the caller; NULL: none, or it cannot be read. 0 or -ENOMEM. Any thread
 * but the one that serves the ring.
 */
int procrole__read(pid_t pid, char **ret);

/*
 * The same of words that each end in a zero byte (or in a blank: Chromium joins them). The text is
 * changed.
 */
const char *procrole__parse(char *words, size_t len);

#endif
