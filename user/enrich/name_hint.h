/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to do for names in stacks: of code that a program made, and of stripped files. Said once for
 * each.
 */
#ifndef JANK_ENRICH_NAME_HINT_H
#define JANK_ENRICH_NAME_HINT_H

#include "model/block.h"

#define NAME_HINT_MAX 16 /* files; nothing is said of others */

struct name_hint {
	char *told[NAME_HINT_MAX]; /* paths */
	unsigned told_cnt;
};

/* Looks at a judged block whose stacks have their names; a warning when it lacks some. */
void name_hint__look(struct name_hint *hint, const struct block *block);
void name_hint__free(struct name_hint *hint); /* leaves it empty */

#endif
