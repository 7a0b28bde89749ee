/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jankbpf replay`: judges a journal again, with another threshold or for another output. */
#ifndef JANK_CLI_CMD_REPLAY_H
#define JANK_CLI_CMD_REPLAY_H

#include "base/err.h"
#include "options/options.h"

/* Returns the exit status. */
int replay__run(const struct options *opts, struct err *err);

#endif
