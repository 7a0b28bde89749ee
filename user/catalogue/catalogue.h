/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The catalogue of loop kinds: whose wait is it, and what does its loop handle? One row a kind, in
 * the text format of docs/loops.md: those of loops/, built in, and those of --loop-file.
 *
 * A row says by which libraries and callers a wait is known, and lists marks: functions that are
 * entered once a message, and what is to be read there. A mark's number is its index in all rows'
 * marks together: the index in the BPF map, and jank_rec_message.mark - 1.
 */
#ifndef JANK_CATALOGUE_CATALOGUE_H
#define JANK_CATALOGUE_CATALOGUE_H

#include "base/err.h"
#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CATALOGUE_ROW_MAX 128

/* What a mark's field tells of the message. X(NAME, key in files) */
#define CATALOGUE_ROLES(X)                                                                         \
	X(WHAT, "what")                                                                            \
	X(HANDLER, "handler")                                                                      \
	X(CALLBACK, "callback")                                                                    \
	X(SOURCE, "source")                                                                        \
	X(FD, "fd")                                                                                \
	X(QUEUED, "queued")                                                                        \
	X(CHECK, "check") /* nothing: for catalogue_mark__holds */

/* How a field's value is shown. */
enum catalogue_view {
	VIEW_NUMBER, /* catalogue_field__number */
	VIEW_ENUM,   /* by name: catalogue_field__enum_name */
	VIEW_SYMBOL, /* the function at this address */
	VIEW_CLASS,  /* the C++ class whose vtable this address is in */
	VIEW_TEXT,   /* catalogue_field__text */
	VIEW_CLOCK,  /* CLOCK_MONOTONIC when it was due, in units of unit_ns */
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

/* fields[i] tells what spec.fields[i] is. */
struct catalogue_mark {
	const struct catalogue_row *row;
	char *symbol;	  /* as in .symtab; NULL: */
	uint64_t address; /* as linked (what nm and objdump show) */
	struct jank_mark spec;
	struct catalogue_field fields[JANK_MARK_FIELD_MAX];
};

/* A pattern of file names. */
struct catalogue_library {
	bool is_exe;	 /* "exe:": only programs */
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
	char *note;	  /* what cannot be had, and why; "" */
	const char *file; /* where it was read: "loops/qt.loop", or as --loop-file gave it */
	unsigned line;	  /* of its [section] */
	bool is_builtin;
	bool is_untested;      /* nobody has seen it work on the real thing */
	bool is_off;	       /* not traced unless -l names it */
	uint32_t waits;	       /* 1 << JANK_LOOP_*: its wait as the kernel sees it */
	char *wait_symbol;     /* its wait is this function (JANK_LOOP_CUSTOM); NULL: */
	uint64_t wait_address; /* this one; 0: none of it */
	struct catalogue_library *libraries;
	size_t library_cnt;
	struct catalogue_functions callers; /* that may call the wait; none: any in its libraries */
	struct catalogue_functions parks;   /* that call a futex wait or a sleep when idle */
	struct catalogue_functions through; /* that may lie between the two */
	struct catalogue_functions
		threads; /* their names: they wait for work where they keep returning to */
	char *over;	 /* id of the row on top of which it runs, or NULL */
	unsigned mark_first, mark_cnt; /* in the catalogue's marks */
};

struct catalogue;

/*
 * Reads the built-in rows and the given files, whose rows come first; one with a built-in row's id
 * takes its place. 0, -ENOMEM, or another code with a message that names file and line and, for a
 * fault in a file, JANK_EXIT_USAGE.
 */
int catalogue__open(const char *const *files, size_t cnt, struct catalogue **ret, struct err *err);
void catalogue__close(struct catalogue *cat); /* NULL is fine */

size_t catalogue__row_cnt(const struct catalogue *cat);
const struct catalogue_row *catalogue__row(const struct catalogue *cat, size_t i);

/*
 * Of an id or a name (-l); *at is where to go on, from 0: several rows may have one name. NULL: no
 * more.
 */
const struct catalogue_row *catalogue__named(const struct catalogue *cat, const char *name,
					     size_t *at);

size_t catalogue__mark_cnt(const struct catalogue *cat); /* at most JANK_MARK_MAX */
const struct catalogue_mark *catalogue__mark(const struct catalogue *cat, size_t i);

struct elffunc;

/* A mapped file, as far as it is known. */
struct catalogue_file {
	const char *path;	   /* as in maps; only what is behind the last '/' counts */
	bool is_exe;		   /* the process's own program */
	const struct elffunc *elf; /* NULL: not opened; no section: pattern fits then */
};

/* Rows whose libraries name the file, best first; returns how many, at most max. */
size_t catalogue__rows_of_file(const struct catalogue *cat, const struct catalogue_file *file,
			       const struct catalogue_row **ret, size_t max);

/* Whether such a row has something to probe: whether opening the file is worth it. */
bool catalogue__has_probes(const struct catalogue *cat, const struct catalogue_file *file);

/* Whether a row that names the file polls: a program that maps it may have a loop that does. */
bool catalogue__polls(const struct catalogue *cat, const struct catalogue_file *file);

/* A return address of a wait: the file it lies in, and its function as in .symtab, or NULL. */
struct catalogue_frame {
	struct catalogue_file file;
	const char *function;
};

/*
 * Whose wait it is: frames from the wait's own function outwards. The innermost frame that some row
 * knows decides, and a row over that one takes it when one of its files follows. NULL: nobody's
 * that is known.
 */
const struct catalogue_row *catalogue__row_of_wait(const struct catalogue *cat, uint32_t loop,
						   const struct catalogue_frame *frames,
						   size_t cnt);

/* The row of a program by itself, or NULL: one whose ELF section is known to be its. */
const struct catalogue_row *catalogue__row_of_program(const struct catalogue *cat,
						      const struct catalogue_file *file);

/* The row whose loop is a thread of that name, or NULL. */
const struct catalogue_row *catalogue__row_of_thread(const struct catalogue *cat, const char *comm);

/*
 * Is a futex wait or a sleep one of the row's parks? Frames from the wait's own function outwards:
 * the first one outside the C library and `through` must be one of `park`. *ret_frame: which one it
 * was, cnt: there is none.
 */
bool catalogue_row__parks(const struct catalogue_row *row, const struct catalogue_frame *frames,
			  size_t cnt, size_t *ret_frame);

/* Whether all futex waits of its processes are (`park = *`), and whether it names functions. */
bool catalogue_row__parks_anywhere(const struct catalogue_row *row);
bool catalogue_row__parks_somewhere(const struct catalogue_row *row);

/* Its wait is a function that is probed: nothing but its probes tells of its loop. */
bool catalogue_row__waits_itself(const struct catalogue_row *row);

/* The name for records: the row's, or where it is NULL, the wait's own ("epoll"). */
const char *catalogue__name_of_wait(const struct catalogue_row *row, uint32_t loop);

/* "what" … */
const char *catalogue_role__key(enum catalogue_role role);

/* What was read, as wide as its type says, its sign kept. */
int64_t catalogue_field__number(const struct catalogue_field *field, uint64_t raw);

/* Its name of field->names, or NULL. Only of VIEW_ENUM. */
const char *catalogue_field__enum_name(const struct catalogue_field *field, uint64_t raw);

/* What jank_rec_message.text holds, as it is or made UTF-8 of UTF-16; "" when there is none. */
#define CATALOGUE_TEXT_SZ (JANK_MESSAGE_TEXT_SZ / 2 * 3 + 1)
void catalogue_field__text(const struct catalogue_field *field,
			   const char raw[JANK_MESSAGE_TEXT_SZ], char ret[CATALOGUE_TEXT_SZ]);

/*
 * Whether what was read is a message of this layout: `check =` holds, or there is none. Where it
 * does not hold, nothing of it is to be shown. got and value: as in jank_rec_message.
 */
bool catalogue_mark__holds(const struct catalogue_mark *mark, uint32_t got, const uint64_t *value);

#endif
