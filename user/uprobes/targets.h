/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sites for uprobes in a traced process: its mapped libraries, their symbols, and the cheapest
 * instruction near a function's entry (docs/decisions/uprobe_sites.md).
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
	char path[TARGET_PATH_MAX]; /* as in maps, no " (deleted)"; in an APK "….apk!/lib/…" */
	char open_path[TARGET_PATH_MAX]; /* opens that inode: /proc/PID/map_files/… or root/PATH */
	uint64_t dev, inode;
	uint64_t base,
		size; /* bytes, in the file; base is 0 but in an APK; size UINT64_MAX: to its end */
};

/* Purpose of a uprobe site. */
enum site_kind {
	SITE_WAIT_BEGIN, /* an epoll wait function before its system call, arguments intact */
	SITE_WAIT_END, /* the same function after its system call, result in the return register */
	SITE_LOOPER,   /* android::Looper::pollOnce, `this` intact */
	SITE_MARK,     /* a mark of the catalogue, its arguments intact */
	SITE_CUSTOM,   /* a wait that a row of the catalogue names */
};

/* Cost of a probe at the instruction; see the table in docs/kernel-facts.md. */
enum site_cost { SITE_NOP5, SITE_EMULATED, SITE_STEPPED };

struct site {
	enum site_kind kind;
	enum site_cost cost;
	uint64_t file_offset; /* offset for the uprobe of perf_event_open */
	const char *function; /* "epoll_wait", …, or a name that the catalogue owns */
	unsigned lib;	      /* index into targets.libs */
	unsigned mark;	      /* SITE_MARK: index in the catalogue's marks */
	bool pausable;	      /* its loop is seen without this site too */
};

struct targets {
	struct target_lib *libs; /* the libraries with sites */
	size_t lib_cnt;
	struct site *sites;
	size_t site_cnt;
	size_t leased_cnt; /* files not searched because another process holds a lease on them */
};

struct catalogue;

/* What to search for. */
struct target_wants {
	bool epoll;  /* those of the libc, recognised by its symbols; or of a static executable */
	bool looper; /* Looper::pollOnce */
	const struct catalogue *catalogue; /* its marks and waits; NULL: none */
};

/* A file to search. */
struct target_file {
	const char *path; /* as in maps */
	uint64_t dev, inode;
	uint64_t offset; /* of the executable mapping: selects a library in an APK */
	bool is_exe;	 /* the process's own program */
	bool is_odd;	 /* search it for waits, whatever its name */
};

/*
 * Finds the sites in what pid maps now. Returns 0 also when there are none (site_cnt 0); the caller
 * explains the consequence. err then names a file that was not searched because of a lease. -ESRCH:
 * pid has ended. A hostile or broken ELF file is skipped. Free the members with targets__free.
 */
int targets__find(pid_t pid, const struct target_wants *wants, struct targets *ret,
		  struct err *err);
void targets__free(struct targets *targets);

/*
 * Adds the sites in one file, and its library unless it is there already; the library is added even
 * without sites. The caller fills in its open_path. Takes over fd. Returns 0 or -ENOMEM.
 */
int targets__search(struct targets *targets, const struct target_wants *wants,
		    const struct target_file *file, int fd);

#endif
