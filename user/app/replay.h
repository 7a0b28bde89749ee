/* SPDX-License-Identifier: GPL-2.0 */
/* `jankbpf replay`: a journal judged again, by another threshold, for another output. */
#ifndef JANK_REPLAY_H
#define JANK_REPLAY_H

#include "app/options.h"
#include "base/err.h"

/* Returns the exit status. */
int replay__run(const struct options *opts, struct err *err);

#endif
