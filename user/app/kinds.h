/* SPDX-License-Identifier: GPL-2.0 */
/* `jankbpf loops`: the kinds of loop that are known; with a target, those that run there. */
#ifndef JANK_KINDS_H
#define JANK_KINDS_H

#include "app/options.h"
#include "base/err.h"

/* Returns the exit status; a failure's message is in err. */
int kinds__run(const struct options *opts, struct err *err);

#endif
