/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about a process from /proc, read once. The process chooses its texts: any bytes. */
#ifndef JANK_PROCFS_PROCINFO_H
#define JANK_PROCFS_PROCINFO_H

#include "base/err.h"
#include "bpf/jank_abi.h"
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
	uint64_t code_start, code_end; /* the program's own code; 0: not readable */
	uint64_t start_ticks; /* start time in clock ticks since boot: detects a reused pid */
	bool kernel_thread;
	char comm[64];
	char *exe;    /* path of the program, " (deleted)" removed; NULL: none, or hidden */
	char *cgroup; /* path in the v2 hierarchy, else in systemd's or memory's; NULL when none */
};

/*
 * Reads the facts. 0; -ESRCH: no such process, or it has ended; -EINVAL: pid is a thread of another
 * process. procinfo__free releases ret's members.
 */
int procinfo__read(pid_t pid, struct proc_info *ret, struct err *err);
void procinfo__free(struct proc_info *info);

/*
 * Reads only /proc/PID/stat: name, parent, threads, start, state ('Z': ended, the parent has not
 * waited). Cheaper than procinfo__read; there is nothing to free. 0, -ESRCH or -EBADMSG.
 */
int procinfo__read_stat(pid_t pid, struct proc_info *ret, char *ret_state);

/*
 * The name that people use for the process: its own name (redis-server is a link to another
 * program), in full where the kernel cut it to 15 bytes. The string belongs to info.
 */
const char *procinfo__known_as(const struct proc_info *info);

/*
 * Finds the only process with that name (as of ps -o comm, or procinfo__known_as), but for this one
 * and kernel threads. 0; -ESRCH or -ENOTUNIQ with a message that names --pid.
 */
int procname__find(const char *name, uint64_t *ret, struct err *err);

/* By their first field in proc(5)'s stat, counted from 1. */
enum procinfo_memory { PROCINFO_COMMAND_LINE = 48, PROCINFO_ENVIRONMENT = 50 };

/*
 * Where the process has them in its memory, which it may change. False: not known, or empty. Any
 * thread.
 */
bool procinfo__memory_at(pid_t pid, enum procinfo_memory which, uint64_t *ret, uint64_t *ret_end);

/* The parsers, for tests; they change the texts. 0 or -EBADMSG. */
int procinfo__parse_stat(char *text, struct proc_info *ret, char *ret_state);
int procinfo__parse_status(const char *text, struct proc_info *ret, uint32_t *ret_tgid);
const char *procinfo__parse_cgroup(char *text); /* into text, or NULL */

/*
 * --- the role of a browser's process, by its command line: Chromium, Electron and CEF name it
 * (--type=renderer), and so does Firefox (-contentproc … tab).
 */

/*
 * Reads the command line, which lies in the process's memory, through the helper process
 * (files/apart.h): half a second and 4 KiB at most. *ret: the role, freed by the caller; NULL:
 * none, or not readable. 0 or -ENOMEM. Any thread except the intake thread.
 */
int procrole__read(pid_t pid, char **ret);

/*
 * The same for the first word: the program's name, or the title that it has written over it. An
 * Android app writes its own there, after its start.
 */
int procname__read(pid_t pid, char **ret);

/*
 * Parses words that each end in a zero byte (or in a blank: Chromium joins them). Changes the text.
 */
const char *procrole__parse(char *words, size_t len);

/* --- a live thread by its tid, of the machine or of its process's pid namespace */

/*
 * Reads the thread's name; any bytes. 0; -ESRCH: the process has no such thread; or -errno. proc:
 * "/proc".
 */
int threadname__read(const char *proc, uint32_t pid, uint32_t tid, char ret[JANK_COMM_SZ + 1]);

/* The tid of the process's thread that has this number in its own pid namespace, or 0: none. */
uint32_t threadname__by_ns_tid(const char *proc, uint32_t pid, uint32_t ns_tid);

/*
 * --- compat32.c: 32-bit programs on this 64-bit kernel (i386 on x86-64, arm on arm64). Their
 * system calls bypass the tracepoints of single system calls, and uprobes do not work in them. So
 * this must be known before the probes are chosen.
 */

/* Does the process run a 32-bit program? False also when unknown. Never waits. */
bool compat32__process(pid_t pid);

/*
 * Calls fn for each such process until fn returns true. About 4 us for each process of the machine.
 */
void compat32__each(bool (*fn)(void *ctx, pid_t pid), void *ctx);

/*
 * Is `name` a 32-bit program, as a shell would find it (in PATH unless it contains a slash)? For a
 * script, the interpreter counts. May ask the helper process (files/apart.h), as does
 * compat32__file: for the start of a run.
 */
bool compat32__command(const char *name);

/* Is the file a 32-bit program, or a script with a 32-bit interpreter? */
bool compat32__file(const char *path);

#endif
