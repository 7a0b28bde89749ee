/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports: the blocks of many records in one file that another tool reads. Each format is one
 * `struct report_ops`. A report gets every record once; it may come from a damaged or hostile file.
 * One thread.
 *
 * A new format: its file in this folder, a row of `formats` in user/cli/cmd_report.c, a word of
 * --format in user/options, the table in docs/contract.md, and its reader in tests/lib/reports.py.
 */
#ifndef JANK_EXPORT_REPORT_REPORT_H
#define JANK_EXPORT_REPORT_REPORT_H

#include "base/err.h"
#include "base/strbuf.h"
#include "export/record/faults.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- report_out.c: the output, written in parts to stdout or to a new file */

struct report_out {
	int fd;		     /* -1: all bytes stay in memory */
	struct strbuf bytes; /* not written yet: reports add here, then call report_out__added */
	int error;	     /* first -errno of a write; later writes do nothing */
};

/* Writes the bytes if there are enough of them. 0 or -errno. */
int report_out__added(struct report_out *out);
/* Writes all bytes. 0 or -errno. */
int report_out__flush(struct report_out *out);

/* A file that appears under its name only when it is complete. */
struct report_file {
	struct report_out out;
	const char *path; /* borrowed; NULL: stdout */
	const char *name; /* the last part of path */
	int dirfd;
	char temporary[64];
};

/*
 * Opens a temporary file, mode 0600, in the directory of path; NULL: stdout. An existing path must
 * be a regular file. Returns 0, or -errno with a message. Call report_file__close in both cases.
 */
int report_file__open(struct report_file *file, const char *path, struct err *err);
/* Writes what is left, and gives the file its name. Returns 0, or -errno with a message. */
int report_file__commit(struct report_file *file, struct err *err);
/* Removes the temporary file unless it got its name. */
void report_file__close(struct report_file *file);

/* --- a report */

struct report;

struct report_ops {
	const char *name;  /* the word of --format */
	bool is_binary;	   /* not for a terminal */
	bool is_directory; /* writes into report->dirfd */
	size_t size;	   /* of the report's own struct, which begins with struct report */
	/* Each returns 0 or -errno. */
	int (*init)(struct report *report); /* the struct is zeroed */
	int (*record)(struct report *report, const Jankbpf__Record *record);
	int (*finish)(struct report *report);
	void (*free)(struct report *report); /* what init and record allocated */
};

/* What a report for people shows. */
struct report_list {
	enum fault_order order;
	unsigned top;	 /* faults; 0: all */
	unsigned stacks; /* of a block */
};

struct report {
	const struct report_ops *ops;
	struct report_out *out;	 /* borrowed */
	struct report_list list; /* set after report__new, as are the next two */
	int dirfd;		 /* of a directory format; borrowed */
	const char *qualifier;	 /* BlockCanary's; borrowed. NULL: none given */
	uint64_t cut_cnt; /* names and stacks that found no room; they are marked in the report */
};

extern const struct report_ops report_folded, report_pprof, report_perfetto, report_speedscope,
	report_md, report_html, report_blockcanary;

/* perfetto_history.c: adds the trace of a history to out, which the caller flushes. 0 or -errno. */
int report__history(struct report_out *out, const Jankbpf__History *history);

/* NULL: out of memory. out is borrowed. */
struct report *report__new(const struct report_ops *ops, struct report_out *out);
void report__free(struct report *report); /* accepts NULL */

/* The block or hang of a record; NULL: it has none. */
const Jankbpf__Block *report__block(const Jankbpf__Record *record);

/*
 * --- hangs.c: a dispatch counts once: its hangs are held until its block comes, or until the end
 */

struct hangs;

struct hangs *hangs__new(void);	       /* NULL: out of memory */
void hangs__free(struct hangs *hangs); /* accepts NULL */
/* Passes on what is complete. Returns 0 or -errno, also of the report. */
int hangs__record(struct hangs *hangs, struct report *report, const Jankbpf__Record *record);
/* Passes on the hangs without a block. */
int hangs__finish(struct hangs *hangs, struct report *report);

/* --- weights.c: wall time of a block by stack and state */

struct weight {
	const Jankbpf__Sample *sample; /* borrowed; NULL: time without a stack */
	uint32_t state;		       /* JANK_STATE_* */
	uint32_t cnt;		       /* 1, or 0 if the sample was counted before */
	uint64_t ns;
	size_t first; /* frames of the stack before this one are the kernel's way to a preemption */
};

/*
 * Divides the block's duration: ticks share the running time equally, a span has its length, of
 * which the wait for a CPU after its wake-up is `runnable`. What the samples do not cover is time
 * without a stack. The sum is the block's duration_ns. The caller frees *ret. 0 or -ENOMEM.
 */
int weights__of(const Jankbpf__Block *block, struct weight **ret, size_t *ret_cnt);

/* --- merged.c: the same, with equal stacks as one */

struct merged {
	const Jankbpf__Sample *sample; /* the longest one; borrowed. NULL: time without a stack */
	uint32_t state;		       /* JANK_STATE_* */
	uint64_t cnt;		       /* of samples */
	uint64_t ns;
};

/*
 * Sums the weights of equal state, system call and stack (by function, not by instruction), the
 * longest first. The caller frees *ret. 0 or -ENOMEM.
 */
int merged__of(const Jankbpf__Block *block, struct merged **ret, size_t *ret_cnt);

/* --- labels.c: texts of a report */

/* Adds "futex mutex in on_query": the cause in short. Adds "unknown" if there is none. */
void label__add_cause(struct strbuf *sb, const Jankbpf__Cause *cause);
/* "[no stack]" for time without one; "" for a sample with frames. Static. */
const char *label__missing(const struct weight *weight);

/* --- intern.c: numbers for byte strings */

struct intern;

#define INTERN_BYTES_MAX (32u << 20) /* keys of one table */

/* NULL: out of memory. */
struct intern *intern__new(void);
void intern__free(struct intern *table); /* accepts NULL */
/*
 * The number of the key, from 1 on in the order of first calls. *ret_new: the key was added. 0: the
 * table is full, or out of memory.
 */
uint32_t intern__get(struct intern *table, const void *key, size_t len, bool *ret_new);
uint32_t intern__cnt(const struct intern *table);
/* The key of a number, valid until the next intern__get. Not terminated. */
const void *intern__key(const struct intern *table, uint32_t nr, size_t *ret_len);
/* Removes all keys; keeps the memory. */
void intern__reset(struct intern *table);

#endif
