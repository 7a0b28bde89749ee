/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes of a row that is off (loops/go.loop): the probes leave their threads alone, and what is not watched has them, ended or not.
 * The sink thread's.
 */
#ifndef JANK_SESSION_LEFT_ALONE_H
#define JANK_SESSION_LEFT_ALONE_H

#include "catalogue/loop_choice.h"
#include "enrich/parks.h"
#include "model/identity.h"
#include "model/unwatched.h"

struct left_alone {
	struct parks *parks;		  /* borrowed, as is choice */
	const struct loop_choice *choice; /* NULL: all loops are wanted */
	struct unwatched_list list;
};

/* A process was seen, or has a new program: of this row, or of none (NULL). 0 or -errno. */
int left_alone__consider(struct left_alone *left, const struct identity *process,
			 const struct catalogue_row *row);

/* Adds them to the list, in the place of what it says of them. 0 or -ENOMEM. */
int left_alone__tell(const struct left_alone *left, struct unwatched_list *list);

void left_alone__free(struct left_alone *left);

#endif
