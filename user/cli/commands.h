/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands beside `trace`. Each returns the exit status; err, if any, gets the message of a
 * failure.
 */
#ifndef JANK_CLI_COMMANDS_H
#define JANK_CLI_COMMANDS_H

#include "base/err.h"
#include "options/options.h"

/*
 * `jankbpf doctor`: prints one line for each thing that tracing depends on, with consequence and
 * remedy. JANK_EXIT_OK if tracing is possible, else JANK_EXIT_CANNOT.
 */
int cmd_doctor__run(const struct options *opts);

/* `jankbpf agent --status`, --pause, --resume: asks the agent that runs. */
int cmd_agent__ask(const struct options *opts, struct err *err);

/* `jankbpf agent --check-config`: checks what else fails only at the start; prints the rest. */
int cmd_agent__check(const struct options *opts, struct err *err);

/* `jankbpf loops`: lists the known kinds of loop; with a target, the loops that run there. */
int cmd_loops__run(const struct options *opts, struct err *err);

/* `jankbpf replay`: judges a journal again, with another threshold or for another output. */
int cmd_replay__run(const struct options *opts, struct err *err);

/* `jankbpf symbolize`: reads records and writes them to stdout with the names that they lack. */
int cmd_symbolize__run(const struct options *opts, struct err *err);

/* `jankbpf diff`: compares two sets of records. The exit status is 3 if something is worse. */
int cmd_diff__run(const struct options *opts, struct err *err);

/* `jankbpf report`: writes the blocks of records and journals in another tool's format. */
int cmd_report__run(const struct options *opts, struct err *err);

/* `jankbpf fleet`: what the records in ClickHouse say. diff exits with 3 if something is worse. */
int cmd_fleet__run(const struct options *opts, struct err *err);

/* `jankbpf serve`: shows the blocks of a directory of -o in a browser. */
int cmd_serve__run(const struct options *opts, struct err *err);

/* `jankbpf send`: sends the records of a spool to backends. */
int cmd_send__run(const struct options *opts, struct err *err);

#endif
