/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where to put uprobes in a traced process: its mapped libraries, their symbols, and the cheapest
 * instruction near a function's entry (docs/design.md, "Where a uprobe is put decides its cost").
 */
#ifndef JANK_UPROBES_TARGETS_H
#define JANK_UPROBES_TARGETS_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TARGET_PATH_MAX 4352

/* A file mapped executable by a process. */
struct target_lib {
	char path
		[TARGET_PATH_MAX]; /* as in maps, " (deleted)" removed; in an APK "…/base.apk!/lib/…" */
	char open_path
		[TARGET_PATH_MAX]; /* opens that very inode: /proc/PID/map_files/…, else /proc/PID/root/PATH */
	uint64_t dev, inode;
	uint64_t base,
		size; /* where in the file it begins: 0 but in an APK; UINT64_MAX: to its end */
};

/* What a uprobe site is for. */
enum site_kind {
	SITE_WAIT_BEGIN, /* an epoll wait function, before its system call, arguments intact */
	SITE_WAIT_END, /* the same function, after its system call, result in the return register */
	SITE_LOOPER,   /* android::Looper::pollOnce, this intact */
	SITE_MARK,     /* of the catalogue: its arguments intact */
	SITE_CUSTOM,   /* a wait that a row of the catalogue names */
};

/* How dear the instruction is, see the table in docs/kernel-facts.md. */
enum site_cost { SITE_NOP5, SITE_EMULATED, SITE_STEPPED };

struct site {
	enum site_kind kind;
	enum site_cost cost;
	uint64_t file_offset; /* what perf_event_open's uprobe wants */
	const char *function; /* "epoll_wait", …, or the catalogue's; lasts as long as that */
	unsigned lib;	      /* index into targets.libs */
	unsigned mark;	      /* SITE_MARK: index in the catalogue's marks */
	bool pausable;	      /* its loop is seen without it */
};

struct targets {
	struct target_lib *libs; /* the libraries that sites point to */
	size_t lib_cnt;
	struct site *sites;
	size_t site_cnt;
	size_t leased_cnt; /* files not searched: another process holds a lease on them */
};

struct catalogue;

/* What is looked for. */
struct target_wants {
	bool epoll; /* the libc's epoll_wait, epoll_pwait, epoll_pwait2: a libc by its symbols, whatever
		      * its name; the executable itself when it is static */
	bool looper;			   /* Looper::pollOnce */
	const struct catalogue *catalogue; /* its marks and waits; NULL: none */
};

/* A file that may be searched. */
struct target_file {
	const char *path; /* as in maps */
	uint64_t dev, inode;
	uint64_t offset; /* of the executable mapping: says which of an APK's libraries it is */
	bool is_exe;	 /* the process's own program */
	bool is_odd;	 /* to be searched for waits whatever its name */
};

/*
 * Finds the sites in what pid maps now. 0 also when nothing was found (site_cnt 0: the caller says
 * why that matters); err then tells of a file that could not be searched for a lease on it. -ESRCH:
 * pid is gone. A hostile or broken ELF is skipped. targets__free releases ret's members.
 */
int targets__find(pid_t pid, const struct target_wants *wants, struct targets *ret,
		  struct err *err);
void targets__free(struct targets *targets);

/*
 * Whether a file of that name (the last part of its path) may hold what is wanted: worth opening
 * it.
 */
bool targets__fits(const struct target_wants *wants, const char *name, bool is_exe);

/*
 * Adds the sites in one file, the library to which they belong even when there are none, unless
 * that is there already. Its open_path is the caller's to fill in. Takes over fd. 0 or -ENOMEM.
 */
int targets__search(struct targets *targets, const struct target_wants *wants,
		    const struct target_file *file, int fd);

#endif
