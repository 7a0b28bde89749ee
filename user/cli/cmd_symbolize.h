/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jankbpf symbolize: names for records that were made where there were none. */
#ifndef JANK_CLI_CMD_SYMBOLIZE_H
#define JANK_CLI_CMD_SYMBOLIZE_H

#include "options/options.h"

/* Reads the files, writes their records to stdout. An exit status; a failure is told in err. */
int symbolize__run(const struct options *opts, struct err *err);

#endif
