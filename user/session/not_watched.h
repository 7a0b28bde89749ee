/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * List of what is not watched, with what only the sink thread knows: the catalogue's rows and the
 * workers of interpreters. Completes the lists of the intake thread (unwatched_look.c) and prints
 * them to stderr. Used on the sink thread only.
 */
#ifndef JANK_SESSION_NOT_WATCHED_H
#define JANK_SESSION_NOT_WATCHED_H

#include "catalogue/catalogue.h"
#include "enrich/parks.h"
#include "model/block.h"
#include "model/loss.h"
#include "model/unwatched.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * --- processes of a row that is off (loops/go.loop)
 *
 * The probes ignore their threads. The list of unwatched processes has them, ended or not. Used on
 * the sink thread only.
 */

struct left_alone {
	struct parks *parks;		  /* borrowed, as is choice */
	const struct loop_choice *choice; /* NULL: all loops are wanted */
	struct unwatched_list list;
};

/* A process was seen or replaced its program; row is its row, or NULL. Returns 0 or -errno. */
int left_alone__update(struct left_alone *left, const struct identity *process,
		       const struct catalogue_row *row);

void left_alone__free(struct left_alone *left);

struct not_watched {
	const struct left_alone *left_alone; /* the first three are borrowed */
	struct parks *parks;
	struct losses *losses;
	bool workers; /* --workers is set */
	bool told;    /* something was reported */
	struct met_process *met;
	struct unwatched_list ended; /* entries of ended processes */
};

void not_watched__free(struct not_watched *nw); /* frees the owned members */

/* A process was seen, or ended: call these before parks__on_exit. */
void not_watched__met(struct not_watched *nw, const struct identity *process);
void not_watched__on_exit(struct not_watched *nw, uint32_t pid);

void not_watched__complete(struct not_watched *nw, struct unwatched_list *list);

/* Adds a process with loops of a row that only -l switches on; drops its other entries. */
void not_watched__add_off(struct not_watched *nw, struct unwatched_list *list, uint32_t pid,
			  const char *name, const struct catalogue_row *row);

void not_watched__report(struct not_watched *nw, const struct unwatched_list *list);

#endif
