/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table of options, one row each, made of schema/options.tbl. Static storage; any thread. */
#ifndef JANK_OPTIONS_OPTIONS_TABLE_H
#define JANK_OPTIONS_OPTIONS_TABLE_H

#include "base/err.h"
#include "options/options.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct option_row;

/* Stores arg (NULL if the option takes none). Returns 0, or -errno with a message. */
typedef int option_set_fn(struct options *opts, const struct option_row *row, const char *arg,
			  struct err *err);

struct option_row {
	int key;	    /* letter of the short form, or a number from 256 on */
	const char *name;   /* long form; NULL: the row describes what follows -- */
	const char *arg;    /* name of the argument; NULL: takes none */
	const char *def;    /* default, as the user would type it; NULL: none */
	unsigned commands;  /* 1 << CMD_*: commands that accept it */
	option_set_fn *set; /* stores the value, using the fields below */
	size_t offset;	    /* into struct options */
	uint64_t min, max;  /* range */
	bool zero;	    /* 0 is allowed although it is below min */
	int value;	    /* for options that stand for one value */
};

extern const struct option_row option_rows[];
extern const size_t option_row_cnt;

option_set_fn option__set_time, option__set_long_time, option__set_size, option__set_count,
	option__set_unsigned;
option_set_fn option__set_json, option__set_flag, option__set_text, option__set_pids,
	option__set_word, option__set_words, option__set_signature;
option_set_fn option__set_all, option__set_comm, option__set_uid, option__set_cgroup;
option_set_fn option__set_main_thread, option__set_loops;
option_set_fn option__set_disabled, option__set_loop_file, option__set_debug_dir,
	option__set_verbosity, option__set_command, option__set_since, option__set_concern,
	option__set_ignore, option__set_listen, option__set_urls, option__set_path,
	option__set_percent, option__set_metrics_user;

#define OPTION_IS_SHORT(row) ((row)->key < 256)

/* True if the option may be given several times, each adding to the others. */
bool option__is_repeatable(const struct option_row *row);

/* Adds a FILE of symbolize or report. Returns 0 or -errno. */
int options__add_file(struct options *opts, const char *word, struct err *err);

/*
 * Sets every default. Returns 0 or -errno; a default that does not parse is a defect of the table.
 */
int options__set_defaults(struct options *opts, struct err *err);

/*
 * --- parse.c: parsers of numbers, times and sizes in options. Each returns 0, or -EINVAL or
 * -ERANGE with a message that quotes `str` and names a valid form. *ret is unchanged on failure.
 * err's exit status is JANK_EXIT_USAGE. `what` names the option in the message, e.g. "--threshold".
 */

int parse__u64(const char *str, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
	       struct err *err);

/*
 * A number (decimals allowed: "1.5s") with us, ms, s, m or h; without a unit: milliseconds. Range
 * in ns.
 */
int parse__time(const char *str, const char *what, uint64_t min_ns, uint64_t max_ns,
		uint64_t *ret_ns, struct err *err);

/* Like parse__time; without a unit: seconds. */
int parse__long_time(const char *str, const char *what, uint64_t min_ns, uint64_t max_ns,
		     uint64_t *ret_ns, struct err *err);

/* Bytes with an optional k, M or G (powers of 1024; "KiB", "MB", … are accepted too). */
int parse__size(const char *str, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
		struct err *err);

/*
 * --- parse_moment.c: a point in time: RFC 3339, a local "YYYY-MM-DD[ HH:MM[:SS]]", or a time with
 * a unit, which is so long ago. Sets ns since 1970. Returns and errors as above.
 */
int parse__moment(const char *str, const char *what, uint64_t now_ns, uint64_t *ret_ns,
		  struct err *err);

/*
 * --- parse_address.c: "127.0.0.1:9435" or "[::1]:9435"; port 0: a free one. 0, or -EINVAL. err may
 * be NULL in all of these.
 */
int parse__address(const char *str, struct sockaddr_storage *ret, socklen_t *ret_len);

#endif
