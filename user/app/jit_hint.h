/* SPDX-License-Identifier: GPL-2.0 */
/* What to do for names of made code, said once for each program that has some without. */
#ifndef JANK_JIT_HINT_H
#define JANK_JIT_HINT_H

#include "model/block.h"

#define JIT_HINT_MAX 16 /* programs; others are told of by none */

struct jit_hint {
	char *told[JIT_HINT_MAX]; /* paths of executables */
	unsigned told_cnt;
};

/* Looks at a block whose stacks have their names; a warning when there is made code without. */
void jit_hint__look(struct jit_hint *hint, const struct block *block);
void jit_hint__free(struct jit_hint *hint); /* leaves it empty */

#endif
