/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hints on how to get missing names in stacks: for JIT code and for stripped files. Each hint is
 * printed once.
 */
#ifndef JANK_ENRICH_NAME_HINT_H
#define JANK_ENRICH_NAME_HINT_H

#include "model/block.h"

#define NAME_HINT_MAX 16 /* files; others get no hint */

struct name_hint {
	char *told[NAME_HINT_MAX]; /* paths */
	unsigned told_cnt;
};

/* Examines a judged block with named stacks; prints a warning if names are missing. */
void name_hint__look(struct name_hint *hint, const struct block *block);
void name_hint__free(struct name_hint *hint); /* leaves it empty */

#endif
