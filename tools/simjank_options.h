/* SPDX-License-Identifier: GPL-2.0-or-later */
/* simjank's command line: one table of options for the parser and the help. */
#ifndef SIMJANK_OPTIONS_H
#define SIMJANK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simjank_scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTIONS_PICK_MAX   128
#define OPTIONS_FORM_MAX   8
#define OPTIONS_THREAD_MAX 64

/* A scenario that takes part, with its length. */
struct pick {
	const struct scenario *scenario;
	struct range length;
	bool optional; /* from `all`: left out if what it needs is not available */
};

struct options {
	struct pick picks[OPTIONS_PICK_MAX];
	size_t pick_cnt;
	unsigned forms[OPTIONS_FORM_MAX]; /* taken by chance; indices into the front end's */
	size_t form_cnt;
	unsigned wait_call; /* index into the front end's */
	bool random;
	uint64_t seed;
	uint64_t duration_ns; /* 0: until a signal or the count */
	uint64_t count;	      /* of dispatches from the list, for each loop; 0: no limit */
	unsigned threads;
	unsigned hogs;
	uint64_t gap_ns;
	uint64_t short_period_ns; /* 0: none */
	const char *truth;	  /* NULL: not wanted */
	uint64_t truth_min_ns;
	size_t truth_max;
	uint64_t start_delay_ns;
	bool wait; /* for SIGUSR1 */
	int ready_fd;
	const char *dir;
	const struct scenario *left_out[OPTIONS_PICK_MAX];
	size_t left_out_cnt;
	bool quiet;
};

/* The front end's choices: NULL-terminated, or NULL if there is none. */
struct options_words {
	const char *loop;
	const char *const *forms;
	const char *const *wait_calls;
};

/*
 * Leaves out the scenarios that need any of these, if they are optional. Returns how many; their
 * names are at the end of left_out. Negative: one of them is not optional.
 */
int options__leave_out(struct options *opt, unsigned needs);

/* Ends the program on --help, and with status 2 on wrong usage. */
void options__parse(struct options *opt, const struct options_words *words, int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
