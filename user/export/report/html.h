/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of the HTML report. The page's data are lines of JSON, in the order of the records. A
 * text, frame, stack or thread is defined by a line before its first use, and has a number from 1
 * on; 0 is none:
 *   ["s",TEXT]  ["f",FUNCTION,MODULE,FILE,LINE,FLAGS,"0xOFFSET"]  ["k",[FRAME,…]] innermost first
 *   ["o",{…}]   the fields of a record that belong to its thread and machine
 *   ["b",{…}]   a block, as html_block.c makes it
 *   ["x",{…}]   the other fields of its record; the page reads this line when it shows the block
 *   ["r",{…}]   the summary of a run
 */
#ifndef JANK_EXPORT_REPORT_HTML_H
#define JANK_EXPORT_REPORT_HTML_H

#include "export/json/json.h"
#include "export/report/report.h"

#define HTML_NUMBER_MAX ((1ll << 53) - 1) /* integers above are not exact in JavaScript */

/* Bits of a frame's FLAGS. */
#define HTML_KERNEL  1
#define HTML_INLINED 2
#define HTML_APP     4

/* How many blocks of a fault had all spans so far. */
struct html_fault {
	uint64_t full_cnt;
	uint64_t max_ns;
};

struct html {
	struct report report;
	struct intern *texts, *frames, *stacks, *threads, *signatures;
	struct html_fault *faults; /* of the signature number n: faults[n - 1] */
	uint32_t fault_cap;
	struct strbuf line, key, name;
	bool begun;
	bool bare; /* the lines only */
	uint64_t block_cnt;
};

/* --- html_tables.c */

/* Writes a line; "<" becomes \u003c, so that no text ends the data. 0 or -errno. */
int html__line(struct html *h, const struct strbuf *line);

/* The number of a text, frame, stack or thread; writes its line when it is new */

uint32_t html__text(struct html *h, const char *text); /* 0 for NULL */
uint32_t html__frame(struct html *h, const Jankbpf__Frame *frame);
uint32_t html__stack(struct html *h, Jankbpf__Frame *const *frames, size_t cnt);
uint32_t html__thread(struct html *h, const Jankbpf__Block *block);

/* --- html_block.c */

/* How many preemptors of a block the page has; html__add_block adds the count of the others. */
static inline size_t html__preemptors(bool full)
{
	return full ? 12 : 4;
}

/* Adds the object with what the page shows of a block. 0 or -ENOMEM. */
int html__add_block(struct html *h, struct jsonw *w, const Jankbpf__Block *block, bool is_hang,
		    bool full);

#endif
