/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The catalogue of loop kinds: it decides which loop a wait belongs to, and describes what that
 * loop handles. One row per kind, in the text format of docs/loops.md. Rows come from loops/ (built
 * in) and from --loop-file.
 *
 * A row identifies a wait by libraries and callers. It also lists marks: functions that are entered
 * once per message, with the values to read there. A mark's number is its index among all rows'
 * marks: the index in the BPF map, and jank_rec_message.mark - 1.
 */
#ifndef JANK_CATALOGUE_CATALOGUE_H
#define JANK_CATALOGUE_CATALOGUE_H

#include "base/err.h"
#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CATALOGUE_ROW_MAX 128

/* Role of a mark's field in the message. X(NAME, key in files) */
#define CATALOGUE_ROLES(X)                                                                         \
	X(WHAT, "what")                                                                            \
	X(HANDLER, "handler")                                                                      \
	X(CALLBACK, "callback")                                                                    \
	X(SOURCE, "source")                                                                        \
	X(FD, "fd")                                                                                \
	X(QUEUED, "queued")                                                                        \
	X(CHECK, "check") /* not shown: for catalogue_mark__holds */

/* Display form of a field's value. */
enum catalogue_view {
	VIEW_NUMBER, /* catalogue_field__number */
	VIEW_ENUM,   /* by name: catalogue_field__enum_name */
	VIEW_SYMBOL, /* function at this address */
	VIEW_CLASS,  /* C++ class that has a vtable at this address */
	VIEW_TEXT,   /* catalogue_field__text */
	VIEW_CLOCK,  /* due time on CLOCK_MONOTONIC, in units of unit_ns */
};

#define CATALOGUE_X_ROLE(name, key) ROLE_##name,
enum catalogue_role { CATALOGUE_ROLES(CATALOGUE_X_ROLE) ROLE_CNT };
#undef CATALOGUE_X_ROLE

struct catalogue_name {
	int64_t value;
	char *name;
};

/* A list of names, [enum NAME] in files. */
struct catalogue_enum {
	char *name;
	struct catalogue_name *names; /* ascending */
	size_t cnt;
};

struct catalogue_field {
	enum catalogue_role role;
	enum catalogue_view view;
	uint8_t bits; /* of the value: 8, 16, 32, 64; of a text's characters: 8, 16 */
	bool is_signed;
	uint32_t unit_ns;		    /* VIEW_CLOCK */
	const struct catalogue_enum *names; /* VIEW_ENUM */
};

struct catalogue_row;

/* fields[i] describes spec.fields[i]. */
struct catalogue_mark {
	const struct catalogue_row *row;
	bool is_layout;	  /* another layout of what the mark before it reads: no probe of its own */
	char *symbol;	  /* as in .symtab; NULL: use address */
	uint64_t address; /* as linked (what nm and objdump show) */
	struct jank_mark spec;
	struct catalogue_field fields[JANK_MARK_FIELD_MAX];
};

/* A pattern of file names. */
struct catalogue_library {
	bool is_exe;	 /* "exe:": programs only */
	bool is_section; /* "section:": programs and libraries with this ELF section */
	char *glob;
};

/* Patterns of functions, as in .symtab. */
struct catalogue_functions {
	char **globs;
	size_t cnt;
};

struct catalogue_row {
	char *id;	  /* the section's name, unique */
	char *name;	  /* the loop's kind in records: `name =`, else id */
	char *about;	  /* one line; "" when there is none */
	char *note;	  /* what cannot be read, and why; "" */
	const char *file; /* its source: "loops/qt.loop", or the path given to --loop-file */
	unsigned line;	  /* of its [section] */
	bool is_builtin;
	bool is_untested;      /* not tested with the real library */
	bool is_off;	       /* not traced unless -l names it */
	uint32_t waits;	       /* 1 << JANK_LOOP_*: kinds of wait in the kernel */
	char *wait_symbol;     /* its wait is this function (JANK_LOOP_CUSTOM), or NULL */
	uint64_t wait_address; /* its wait is the function at this address; 0: none */
	struct catalogue_library *libraries;
	size_t library_cnt;
	struct catalogue_functions callers; /* of the wait; empty: any in its libraries */
	struct catalogue_functions parks;   /* callers of a futex wait or sleep when idle */
	struct catalogue_functions through; /* functions that may lie between the two */
	struct catalogue_functions runs;    /* the loop is in one of these as long as it lasts */
	struct catalogue_functions calls;   /* all that these call is a handler */
	struct catalogue_functions
		threads;	       /* names of threads that wait for work at their idle place */
	char *over;		       /* id of the row that this one runs on top of, or NULL */
	unsigned mark_first, mark_cnt; /* range in the catalogue's marks */
};

struct catalogue;

/*
 * Reads the given files and the built-in rows. Rows of files come first; a row with the id of a
 * built-in row replaces it. 0, -ENOMEM, or another code with a message that names file and line;
 * JANK_EXIT_USAGE for an error in a file.
 */
int catalogue__open(const char *const *files, size_t cnt, struct catalogue **ret, struct err *err);
void catalogue__close(struct catalogue *cat); /* accepts NULL */

size_t catalogue__row_cnt(const struct catalogue *cat);
const struct catalogue_row *catalogue__row(const struct catalogue *cat, size_t i);

/*
 * The next row with this id or name (-l). *at: start at 0; several rows may share a name. NULL: no
 * more rows.
 */
const struct catalogue_row *catalogue__named(const struct catalogue *cat, const char *name,
					     size_t *at);

size_t catalogue__mark_cnt(const struct catalogue *cat); /* at most JANK_MARK_MAX */
const struct catalogue_mark *catalogue__mark(const struct catalogue *cat, size_t i);

struct elffunc;

/* A mapped file, with what is known about it. */
struct catalogue_file {
	const char *path;	   /* as in maps; only the part after the last '/' counts */
	bool is_exe;		   /* the process's own program */
	const struct elffunc *elf; /* NULL: not opened */
	/* Instead of elf. NULL: no section: pattern matches. */
	bool (*has_section)(const void *ctx, const char *section);
	const void *ctx;
};

/*
 * Rows with a library pattern that matches the file, best first. Returns their number, at most max.
 */
size_t catalogue__rows_of_file(const struct catalogue *cat, const struct catalogue_file *file,
			       const struct catalogue_row **ret, size_t max);

/* True if such a row has something to probe, so that the file must be opened. */
bool catalogue__has_probes(const struct catalogue *cat, const struct catalogue_file *file);

/* True if a matching row waits in poll: a program that maps the file may have such a loop. */
bool catalogue__polls(const struct catalogue *cat, const struct catalogue_file *file);

/* A return address on the stack of a wait: its file, and its function as in .symtab, or NULL. */
struct catalogue_frame {
	struct catalogue_file file;
	const char *function;
};

/*
 * The row of a wait, by its frames from the wait's function outwards. The innermost frame that
 * matches a row decides. A row with `over` replaces it when one of its files follows. NULL: no row
 * matches.
 */
const struct catalogue_row *catalogue__row_of_wait(const struct catalogue *cat, uint32_t loop,
						   const struct catalogue_frame *frames,
						   size_t cnt);

/* True if a row of the file names functions of its loop: they decide where a handler begins. */
bool catalogue__has_handlers(const struct catalogue *cat, const struct catalogue_file *file);

/*
 * The handler that a stack is in, by its frames from the innermost outwards: the index of its
 * outermost frame; cnt: the stack is in no loop's handler, as far as the catalogue knows. may_rest:
 * the thread is in a call in which loops wait, too; only a function of `calls` tells the handler's.
 * *ret: the row of the loop.
 */
size_t catalogue__handler(const struct catalogue *cat, const struct catalogue_frame *frames,
			  size_t cnt, bool may_rest, const struct catalogue_row **ret);

/* The row that a program matches by an ELF section, or NULL. */
const struct catalogue_row *catalogue__row_of_program(const struct catalogue *cat,
						      const struct catalogue_file *file);

/* The row that matches a thread of that name, or NULL. */
const struct catalogue_row *catalogue__row_of_thread(const struct catalogue *cat, const char *comm);

/*
 * True if a futex wait or sleep is one of the row's parks. Frames go from the wait's function
 * outwards; the first one outside the C library and `through` must match `park`. *ret_frame: index
 * of that frame; cnt: there is none.
 */
bool catalogue_row__parks(const struct catalogue_row *row, const struct catalogue_frame *frames,
			  size_t cnt, size_t *ret_frame);

/* True if all futex waits of its processes are parks (`park = *`); true if it names functions. */
bool catalogue_row__parks_anywhere(const struct catalogue_row *row);
bool catalogue_row__parks_somewhere(const struct catalogue_row *row);

/* True if its wait is a probed function: then only the probes on it see the loop. */
bool catalogue_row__waits_itself(const struct catalogue_row *row);
bool catalogue__waits_itself(const struct catalogue *cat); /* one of its rows does */

/* The loop's name in records: the row's, or for NULL the name of the wait ("epoll"). */
const char *catalogue__name_of_wait(const struct catalogue_row *row, uint32_t loop);

/* "what" … */
const char *catalogue_role__key(enum catalogue_role role);

/* The value that was read, at its type's width and sign. */
int64_t catalogue_field__number(const struct catalogue_field *field, uint64_t raw);

/* The value's name in field->names, or NULL. For VIEW_ENUM only. */
const char *catalogue_field__enum_name(const struct catalogue_field *field, uint64_t raw);

/*
 * The text of jank_rec_message, unchanged or converted from UTF-16 to UTF-8; "" when there is none.
 */
#define CATALOGUE_TEXT_SZ (JANK_MESSAGE_TEXT_SZ / 2 * 3 + 1)
void catalogue_field__text(const struct catalogue_field *field,
			   const char raw[JANK_MESSAGE_TEXT_SZ], char ret[CATALOGUE_TEXT_SZ]);

/*
 * True if the values are a message of this layout: `check =` holds, or there is no check. If it is
 * false, show nothing of the message. got and value: as in jank_rec_message.
 */
bool catalogue_mark__holds(const struct catalogue_mark *mark, uint32_t got, const uint64_t *value);

/* --- The kinds of loop to trace: those that -l names, or all that are not off by default. */

struct loop_choice {
	bool any;	/* -l was not given */
	uint32_t waits; /* 1 << JANK_LOOP_*: waits that -l names ("epoll"), any owner */
	const struct catalogue_row *rows[CATALOGUE_ROW_MAX];
	size_t row_cnt;
};

/* 0, or -EINVAL with JANK_EXIT_USAGE and a message that lists the valid names. */
int loop_choice__init(struct loop_choice *ret, const struct catalogue *cat, char *const *names,
		      size_t cnt, struct err *err);

/* The kinds of wait to trace for this choice: struct filter's loops. 0: all. */
uint32_t loop_choice__waits(const struct loop_choice *choice);

/* True if the choice includes the loop. row: the loop's owner, NULL: not known. */
bool loop_choice__takes(const struct loop_choice *choice, const struct catalogue_row *row,
			uint32_t loop);

/* --- processes that map a library with a poll loop, by the catalogue's rows */

/* Reads /proc/PID/maps. Also false when the process has ended. */
bool pollers__is_one(const struct catalogue *cat, pid_t pid);

#endif
