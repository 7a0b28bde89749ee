/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration of `jankbpf agent`: an INI file whose keys are options. The rows of the option
 * table parse the values, so that ranges and messages are those of the command line.
 */
#ifndef JANK_OPTIONS_CONFIG_H
#define JANK_OPTIONS_CONFIG_H

#include "options/options_table.h"
#include <stdbool.h>
#include <stddef.h>

struct config_key {
	const char *section, *key;
	const char *option; /* long form */
	bool live;	    /* a running agent takes a new value */
};

extern const struct config_key config_keys[];
extern const size_t config_key_cnt;

/* Is it that key? Underscores may stand for hyphens. */
bool config__is_key(const char *key, const char *word);

/* 1: on. 0: off. -EINVAL: neither. */
int config__read_switch(const char *text);

/* The option's row, of those that agent takes. */
const struct option_row *config_key__row(const struct config_key *key);

/* Gets each error as one line. */
typedef void config_error_fn(void *ctx, const char *message);

struct config_opts {
	const char *path;
	bool may_lack;		 /* a file that does not exist is like an empty one */
	const bool *given;	 /* by row: the command line has it, and it takes the key's place */
	struct options *scratch; /* gets the values of such keys; the caller frees it */
	config_error_fn *error;
	void *ctx;
};

/*
 * Sets the options of the file's keys in ret, and set[] of their rows. Returns 0, -ENOENT if the
 * file does not exist and may_lack, or -EINVAL after at least one call of error. Any thread.
 */
int config__read(const struct config_opts *opts, struct options *ret, bool *set);

/* Prints the options as a configuration on stdout, defaults included. */
void config__print(const struct options *opts);

/* The value of an option as the user gave it, else its default; NULL: neither. */
const char *config__value(const struct options *opts, const struct option_row *row);

/* Adds an argument to opts->values. 0 or -ENOMEM. */
int options__keep_value(struct options *opts, const struct option_row *row, const char *arg);

#endif
