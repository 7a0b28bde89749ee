/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jankbpf loops`: lists the known kinds of loop; with a target, the loops that run there. */
#ifndef JANK_CLI_CMD_LOOPS_H
#define JANK_CLI_CMD_LOOPS_H

#include "base/err.h"
#include "options/options.h"

/* Returns the exit status; err holds the message of a failure. */
int cmd_loops__run(const struct options *opts, struct err *err);

#endif
