/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jankbpf loops`: the kinds of loop that are known; with a target, those that run there. */
#ifndef JANK_CLI_CMD_LOOPS_H
#define JANK_CLI_CMD_LOOPS_H

#include "base/err.h"
#include "options/options.h"

/* Returns the exit status; a failure's message is in err. */
int cmd_loops__run(const struct options *opts, struct err *err);

#endif
