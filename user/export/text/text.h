/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of the text sink: a line builder that never exceeds the width, and the parts of a
 * block.
 */
#ifndef JANK_EXPORT_TEXT_TEXT_H
#define JANK_EXPORT_TEXT_TEXT_H

#include "base/strbuf.h"
#include "bpf/jank_abi.h"
#include "export/sink.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	struct sink sink;
	int fd;
	struct sink_text_opts opts;
	bool color;
	unsigned width;
	int verbosity;
	struct strbuf out; /* the record so far; written in one call */
	unsigned col;	   /* current column of the line */
	unsigned lines;	   /* of the record so far */
};

#define SIGNATURE_SHOWN 8 /* digits: enough for --sig, and to tell faults of a run apart */

enum style {
	STYLE_NONE,
	STYLE_DIM,
	STYLE_BOLD,
	STYLE_JANK,
	STYLE_HANG,
	STYLE_GOOD,
	STYLE_WARN,
	STYLE_REVERSE
};

/* Sets up a text of its own on fd; the caller frees t->out. */
void text__init(struct text *t, int fd, const struct sink_text_opts *opts);
/* Empties the text. */
void text__begin(struct text *t);
/* Adds the lines of a record. */
void text__add_record(struct text *t, const Jankbpf__Record *record);

/* All strings are cleaned, and cut at the right margin with "…". */
void text__put(struct text *t, enum style style, const char *str);
void text__put_cut(struct text *t, enum style style, const char *str, unsigned max);
void text__putf(struct text *t, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void text__put_duration(struct text *t, enum style style, uint64_t ns);
void text__put_in_state(struct text *t, uint32_t state,
			const char *str); /* in the state's colour */
void text__fill(struct text *t, enum style style, const char *cell, unsigned to_col);
void text__nl(struct text *t);

/* Replaces each character beyond ASCII by one of ASCII. */
void text__to_ascii(struct strbuf *sb);

/* Columns left on the line. */
unsigned text__left(const struct text *t);

/*
 * Breaks the line between words where the next word does not fit. Each new line begins with indent.
 */
void text__wrap(struct text *t, enum style style, const char *indent, const char *str);
/* Adds ", str" if it fits as a whole, else str on a line of its own. Adds nothing for "". */
void text__put_beside(struct text *t, const char *str);

/* "78%", "<1%", ">99%": a part is never rounded to 0 or 100. */
struct pct {
	char str[8];
};
struct pct text__pct(uint64_t part, uint64_t whole);

/* False for a part under 1 %, which is left out except with -v. */
bool text__is_shown_part(const struct text *t, uint64_t part, uint64_t whole);

/* "1,234,567" */
struct grouped {
	char str[32];
};
struct grouped text__grouped(uint64_t n);

/* "1 block", "2 blocks" */
void text__put_count(struct text *t, enum style style, uint64_t n, const char *noun);

/*
 * Parts of the headline: " · QTimerEvent to MainWindow" and " · queued 20.0 ms before".
 * text__put_message returns false if the phrase does not fit before the column; it then needs its
 * own line.
 */
bool text__put_message(struct text *t, const Jankbpf__Block *block, unsigned to_col);
void text__add_phrase(struct text *t, const Jankbpf__Block *block);
void text__put_queued(struct text *t, const Jankbpf__Block *block);

/* The state's cell in the bar and its legend. */
const char *text__state_cell(uint32_t state);

/* True with -v. */
bool text__shows_all(const struct text *t);

/* A stack of a record, innermost frame first. */
struct frames {
	Jankbpf__Frame **list;
	size_t cnt;
};

/* True if two frames merge: the same function, at any instruction. */
bool frame__same(const Jankbpf__Frame *a, const Jankbpf__Frame *b);

/*
 * Adds "futex_wait ← lock ← on_query ← …": the innermost frames. Kernel frames are left out if
 * there are others.
 */
void text__add_head_frames(struct strbuf *sb, const struct text *t, const struct frames *stack);

/*
 * Sums the preemptors by process, worst first. Each entry has the name of its thread with the most
 * time, and borrows its strings. The caller frees the result; NULL: out of memory.
 */
Jankbpf__Preemptor *preemptors__by_process(const Jankbpf__Block *block, size_t *ret_cnt);

/* Adds the second part of " (8123, nice 10)": ", nice 10"; nothing for the default priority. */
void text__add_priority(struct strbuf *sb, const char *priority);

/* Parts of a block; each adds whole lines. */
void text__add_headline(struct text *t, const Jankbpf__Block *block, bool open); /* open: a hang */
/* A later block of a fault, in one line. */
void text__add_repeated(struct text *t, const Jankbpf__Block *block);
/* The summary's faults, at most --top of them. */
void text__add_faults(struct text *t, const Jankbpf__Summary *summary);
void text__add_who(struct text *t, const Jankbpf__Block *block);
void text__add_message(struct text *t, const Jankbpf__Block *block); /* for -v */
void text__add_bar(struct text *t, const Jankbpf__Block *block);
void text__add_machine(struct text *t, const Jankbpf__Block *block);
void text__add_facts(struct text *t, const Jankbpf__Block *block);
/* The losses in a line, if there are any. */
void text__add_lost(struct text *t, const Jankbpf__Lost *lost);
void text__add_summary(struct text *t, const Jankbpf__Summary *summary);
void text__add_interval(struct text *t, const Jankbpf__Interval *interval);
void text__add_chain(struct text *t, const Jankbpf__Block *block);
/* At most max frames. above: the stack that was shown before; its common callers are folded. */
void text__add_frames(struct text *t, const Jankbpf__Block *block, const struct frames *stack,
		      const struct frames *above, size_t max);
void text__add_stacks(struct text *t, const Jankbpf__Block *block);

/* --- A block's samples, merged by stack. */

/* Samples of one state, system call and stack (by function, not by instruction). */
struct fold {
	const Jankbpf__Sample *sample; /* the longest of them */
	size_t nr;		       /* of that sample */
	uint64_t ns;	      /* spans: their length; ticks: their part of the running time */
	uint64_t runnable_ns; /* of ns, waiting for a CPU after a wake-up */
	size_t cnt;
	bool other_wakers; /* some have another waker than sample */
	bool other_waits;  /* some have another wait object than sample */
};

/* Merges the samples, longest first. 0 or -ENOMEM; the caller frees *ret. */
int fold__block(const Jankbpf__Block *block, struct fold **ret, size_t *ret_cnt);

#endif
