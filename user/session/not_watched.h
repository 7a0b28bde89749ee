/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is not watched, by what only the sink thread knows: the catalogue's rows and the workers of
 * interpreters. Completes the lists of the intake thread (unwatched_look.c), and writes their lines
 * to stderr. Used on the sink thread.
 */
#ifndef JANK_SESSION_NOT_WATCHED_H
#define JANK_SESSION_NOT_WATCHED_H

#include "catalogue/loop_choice.h"
#include "enrich/parks.h"
#include "model/block.h"
#include "model/loss.h"
#include "model/unwatched.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * Processes of a row that is off (loops/go.loop): the probes leave their threads alone, and what is
 * not watched has them, ended or not. The sink thread's.
 */

struct left_alone {
	struct parks *parks;		  /* borrowed, as is choice */
	const struct loop_choice *choice; /* NULL: all loops are wanted */
	struct unwatched_list list;
};

/* A process was seen, or has a new program: of this row, or of none (NULL). 0 or -errno. */
int left_alone__update(struct left_alone *left, const struct identity *process,
		       const struct catalogue_row *row);

void left_alone__free(struct left_alone *left);

struct not_watched {
	const struct left_alone *left_alone; /* these are borrowed */
	struct parks *parks;
	struct losses *losses;
	bool workers; /* the user asked for them */
	bool told;    /* something was */
	struct met_process *met;
	struct unwatched_list ended; /* of processes that are gone */
};

void not_watched__free(struct not_watched *nw); /* what it points to and does not borrow */

/* A process was seen, or is gone: to be called before the parks forget it. */
void not_watched__met(struct not_watched *nw, const struct identity *process);
void not_watched__on_exit(struct not_watched *nw, uint32_t pid);

void not_watched__complete(struct not_watched *nw, struct unwatched_list *list);

/* Adds a process whose loops are the row's, which only -l switches on; drops its other entries. */
void not_watched__add_off(struct not_watched *nw, struct unwatched_list *list, uint32_t pid,
			  const char *name, const struct catalogue_row *row);

void not_watched__report(struct not_watched *nw, const struct unwatched_list *list);

#endif
