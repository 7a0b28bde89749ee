/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `jankbpf loops` found in running processes, and its two forms. loops_report.c collects the
 * list on the sink thread; the printers only read it.
 */
#ifndef JANK_SESSION_LOOPS_REPORT_H
#define JANK_SESSION_LOOPS_REPORT_H

#include "base/text.h"
#include "catalogue/catalogue.h"
#include "uprobes/sites.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOOP_FRAMES_MAX 8

/* --- loops_marks.c: the marks of a row, each looked up in the process's files as for a probe */

struct loop_mark {
	const struct catalogue_mark *mark;
	enum mark_absence absence; /* with a file: found there, or why not */
	char *file;		   /* NULL: no mapped file is one of the row's */
};

struct loop_marks {
	bool looked; /* a file was searched */
	unsigned cnt, there_cnt;
	struct loop_mark marks[];
};

/* exe may be NULL. NULL: the mappings cannot be read, or no memory. */
struct loop_marks *loop_marks__find(const struct catalogue *cat, const struct catalogue_row *row,
				    uint32_t pid, const char *exe);
void loop_marks__free(struct loop_marks *marks); /* accepts NULL */

bool loop_mark__is_there(const struct loop_mark *mark);

/* Why the mark cannot be probed. */
const char *loop_mark__reason(const struct loop_mark *mark);

/* The same for all marks, if none is there. */
const char *loop_marks__reason(const struct loop_marks *marks);

/* --- the list */

/* A frame around the wait. */
struct loop_frame {
	char *function; /* NULL: no name */
	char *module;	/* NULL: unknown */
};

/* A thread in its loop. */
struct loop_line {
	struct jank_rec_wait rec;
	const struct catalogue_row *row; /* NULL: the catalogue has none */
	const char *exe;		 /* NULL: unknown */
	char process[64];		 /* its name */
	bool is_first;			 /* of its process */
	bool is_again;			 /* the row of the line before: its marks are there */
	struct loop_marks *marks;	 /* NULL: no row, or unknown */
	/* Nearest first. The nearest is the caller if the thread was still in its wait. */
	struct loop_frame frames[LOOP_FRAMES_MAX];
	size_t frame_cnt;
};

struct loops_list {
	struct loop_line *lines; /* by process and thread */
	size_t cnt;
	bool failed; /* out of memory: some are missing */
};

/*
 * Records read from /proc have no kind. They describe a thread that waits now, so its stack is that
 * of the wait.
 */
static inline bool jank_rec__is_now(const struct jank_rec_wait *rec)
{
	return !rec->hdr.kind;
}

/* The system call's name; NULL: a function that is probed. */
static inline const char *loop_line__wait(const struct loop_line *line)
{
	const struct jank_rec_wait *rec = &line->rec;

	if (rec->syscall < 0)
		return NULL;
	return rec->syscall < JANK_SYSCALL_32 ? syscall__name(rec->syscall)
					      : syscall__name_32(rec->syscall - JANK_SYSCALL_32);
}

/* stdout; verbose: a line for each mark, and all frames */
void loops_text__print(const struct loops_list *list, bool verbose);

/* stdout: one object on one line (docs/contract.md). 0 or -ENOMEM. */
int loops_json__print(const struct loops_list *list);

#endif
