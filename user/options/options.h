/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user asked for: one table makes the parser, --help and the man page's option list. */
#ifndef JANK_OPTIONS_OPTIONS_H
#define JANK_OPTIONS_OPTIONS_H

#include "base/err.h"
#include "options/filter.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef JANK_VERSION
#define JANK_VERSION "0.1.0"
#endif

enum command {
	CMD_TRACE,
	CMD_REPLAY,
	CMD_LOOPS,
	CMD_DOCTOR,
	CMD_SYMBOLIZE,
	CMD_SCHEMA,
	CMD_HELP,
	CMD_VERSION
};
/* In the order in which the table of options has their words. */
enum backend { BACKEND_AUTO, BACKEND_KERNEL, BACKEND_UPROBE };
enum marks { MARKS_AUTO, MARKS_ALWAYS, MARKS_NEVER };
enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_PROTO };

struct options {
	enum command command;
	pid_t *pids; /* -p, without repeats */
	size_t pid_cnt;
	struct filter filter; /* -a and what narrows it, but for -l */
	char **loops;	      /* -l, without repeats: names that the catalogue may know */
	size_t loop_cnt;
	bool follow; /* -f, or a COMMAND without --no-follow: children are traced, too */
	bool no_follow;
	bool workers; /* --workers: threads of pools are loops, too */
	char **argv;  /* after --: NULL-terminated, borrowed from main's argv; NULL for none */
	uint64_t threshold_ns, hang_ns;
	unsigned fps;
	bool threshold_given, fps_given; /* for replay: else the recording's count */
	enum backend backend;
	enum marks marks;
	const char *btf_path;	/* NULL: the kernel's own, or what is built in */
	unsigned frequency_hz;	/* 0: no samples */
	uint64_t stack_sz;	/* of a user stack that is copied; 0: none */
	uint64_t duration_ns;	/* 0: until stopped */
	uint64_t count;		/* 0: no limit */
	const char *output_dir; /* NULL: none */
	uint64_t keep_ns, max_size;
	enum format format;
	bool debugging;	       /* report blocks that were mostly stopped by a debugger or SIGSTOP */
	const char *journal;   /* NULL: none; for replay: the input file */
	const char *qualifier; /* BlockCanary's qua; NULL: none given */
	const char **loop_files; /* --loop-file FILE (repeatable) */
	size_t loop_file_cnt;
	const char **debug_dirs; /* --debug-dir DIR (repeatable) */
	size_t debug_dir_cnt;
	const char **files; /* of symbolize */
	size_t file_cnt;
	const char **disabled; /* --disable-feature NAME, for tests (repeatable) */
	size_t disabled_cnt;
	int verbosity; /* -v minus -q */
};

/*
 * Parses a command line. 0, or -EINVAL with a message and JANK_EXIT_USAGE. Defaults are set for
 * what is not given. On success options__free releases what was allocated.
 */
int options__parse(int argc, char **argv, struct options *ret, struct err *err);
void options__free(struct options *opts);

void options__print_help(void);	   /* stdout */
void options__print_version(void); /* stdout */
void options__print_man(
	void); /* stdout: the OPTIONS section of the man page, from the same table */

#endif
