/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames by patterns of the user: --concern says which are the application's, --ignore which make a
 * block unimportant. Time is in proportion to the lengths of pattern and name. Any thread.
 */
#ifndef JANK_MODEL_CONCERN_H
#define JANK_MODEL_CONCERN_H

#include "model/block.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * True if the glob matches the function (also in short, and a Java function without its type), the
 * module or the source file, both as paths and as base names. Not for frames of the kernel.
 */
bool concern__matches(const struct frame *frame, const char *glob);

/* If a frame matches one of the globs, only those that do are application code in this stack. */
void concern__mark(struct stack *stack, const char *const *globs, size_t cnt);

/* --- patterns of --ignore: globs, or signatures and their first digits, with counts */

#define IGNORED_SIGNATURE_MIN 8 /* digits; a shorter word may be a function's name */

struct ignored {
	char *pattern;
	uint64_t cnt; /* of blocks and hangs */
};

/*
 * True if the judged block has the signature of a pattern, or if the function to blame or an
 * application frame of a sample matches. Counts it for the first such pattern.
 */
bool ignored__takes(struct ignored *list, size_t cnt, const struct block *block);

#endif
