/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jankbpf symbolize`: adds names to records that were written without them. */
#ifndef JANK_CLI_CMD_SYMBOLIZE_H
#define JANK_CLI_CMD_SYMBOLIZE_H

#include "options/options.h"

/*
 * Reads the files and writes their records to stdout. Returns an exit status; a failure's message
 * is in err.
 */
int symbolize__run(const struct options *opts, struct err *err);

#endif
