/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where to put uprobes in a traced process: its mapped libraries, their symbols, and the cheapest
 * instruction near a function's entry (docs/design.md, "Where a uprobe is put decides its cost").
 */
#ifndef JANK_TARGETS_H
#define JANK_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define TARGET_PATH_MAX 4352

/* A file mapped executable by a process. */
struct target_lib {
	char path[TARGET_PATH_MAX]; /* as in maps, " (deleted)" removed */
	char open_path
		[TARGET_PATH_MAX]; /* opens that very inode: /proc/PID/map_files/…, else /proc/PID/root/PATH */
	uint64_t dev, inode;
};

/* What a uprobe site is for. */
enum site_kind {
	SITE_WAIT_BEGIN, /* an epoll wait function, before its system call, arguments intact */
	SITE_WAIT_END, /* the same function, after its system call, result in the return register */
	SITE_LOOPER,   /* android::Looper::pollOnce, this intact */
};

/* How dear the instruction is, see the table in docs/kernel-facts.md. */
enum site_cost { SITE_NOP5, SITE_EMULATED, SITE_STEPPED };

struct site {
	enum site_kind kind;
	enum site_cost cost;
	uint64_t file_offset; /* what perf_event_open's uprobe wants */
	const char *function; /* static: "epoll_wait", … */
	unsigned lib;	      /* index into targets.libs */
};

struct targets {
	struct target_lib *libs; /* the libraries that sites point to */
	size_t lib_cnt;
	struct site *sites;
	size_t site_cnt;
};

/*
 * Finds the sites in what pid maps now. want_epoll: the libc's epoll_wait, epoll_pwait, epoll_pwait2
 * (a libc by its symbols, whatever its name; the executable itself when it is static); want_looper:
 * Looper::pollOnce. 0 also when nothing was found (site_cnt 0: the caller says why that matters).
 * -ESRCH: pid is gone. A hostile or broken ELF is skipped. targets__free releases ret's members.
 */
int targets__find(pid_t pid, bool want_epoll, bool want_looper, struct targets *ret,
		  struct err *err);
void targets__free(struct targets *targets);

#endif
