/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table of the commands: the only place for their names, usage and texts. */
#include "options/command_table.h"

#include <string.h>

const struct command_row command_rows[] = {
	{ CMD_TRACE,
	  "trace",
	  { "[trace] [OPTIONS] -p PID[,PID…]", "[trace] [OPTIONS] -- COMMAND [ARG…]",
	    "[trace] [OPTIONS] -a" },
	  .summary = "the default: trace processes, or start one and trace it",
	  .details = "Times each dispatch of the event loops of running processes, of a program "
		     "that it starts, or of every process, and reports those that took too long. "
		     "It ends with the last of the processes of -p, by -d, -n, Ctrl-C or SIGTERM; "
		     "then a summary closes the run.",
	  .more = "COMMAND is traced from its first instruction. With -a every process is traced, "
		  "including later ones, as soon as one of its threads waits in a loop; -c, -u and "
		  "-g narrow that in the kernel, so that excluded processes cost next to nothing.",
	  .example = "jankbpf trace -t 25ms -n 10 -p $(pgrep -n -x redis-server)",
	  .example_is = "ten blocks of the newest redis-server" },
	{ CMD_TOP,
	  "top",
	  { "top [OPTIONS] -p PID[,PID…]", "top [OPTIONS] -a" },
	  .summary = "a live view of loops and their faults, as top shows processes",
	  .details = "Shows each loop of the traced processes: its dispatches and blocks, how long "
		     "dispatches take, how late they begin, and which one is open now; below, the "
		     "faults of the selected loop. Keys: ? lists them. With -b it prints tables "
		     "instead, -n of them.",
	  .example = "jankbpf top -b -n 1 --interval 10s -t 25ms -p $(pgrep -n -x redis-server)",
	  .example_is = "ten seconds of the newest redis-server as a table" },
	{ CMD_AGENT,
	  "agent",
	  { "agent [OPTIONS] [--config FILE]", "agent --check-config [--config FILE]",
	    "agent --status|--pause|--resume" },
	  .summary = "trace all the time, by a configuration, for a fleet of machines",
	  .details = "Traces what its configuration selects, as a service: records of blocks and "
		     "intervals go to a directory, counts to Prometheus. SIGHUP reads the "
		     "configuration again, SIGUSR1 writes its state to the log, SIGTERM ends it.",
	  .more = "Blocks that repeat are counted, not recorded. It tells systemd when it is ready "
		  "and that it makes progress. docs/agent.md describes configuration and metrics.",
	  .example = "jankbpf agent --check-config --config jankbpf.conf",
	  .example_is = "what this configuration selects, or all its errors" },
	{ CMD_REPLAY,
	  "replay",
	  { "replay [OPTIONS] FILE" },
	  .summary = "judge a journal again, with another threshold or output; needs no privilege",
	  .details = "Judges a journal, made by --journal, again: with a higher threshold, to "
		     "another output. With --debug-dir, frames that have only module, build id "
		     "and file offset get names as by symbolize, and the verdict uses them.",
	  .example = "jankbpf replay -t 50ms --json run.jnl",
	  .example_is = "the blocks of more than 50 ms in a journal, as JSON",
	  .operand = OPERAND_FILES },
	{ CMD_LOOPS,
	  "loops",
	  { "loops [OPTIONS] [-p PID | -a]" },
	  .summary = "the kinds of loop that are known, or the loops found in running processes",
	  .details = "Lists the known kinds of loop; with -v, also their libraries and functions. "
		     "With -p or -a it watches for a second, or for the time of -d, and lists "
		     "each loop that it found in these processes, the evidence, and what can be "
		     "read of its messages.",
	  .example = "jankbpf loops -v -l redis",
	  .example_is = "how a loop of redis is recognised, and which functions are probed" },
	{ CMD_SYMBOLIZE,
	  "symbolize",
	  { "symbolize [--debug-dir DIR]… [--mapping FILE] FILE…" },
	  .summary = "name the frames of records by build id, from DIRs and /usr/lib/debug",
	  .details = "Writes the records of each FILE (what --json or -o wrote; - is standard "
		     "input) to standard output again, with names for frames that have only "
		     "module, build id and file offset, as on a stripped device. Programs, "
		     "libraries and debug files are found by build id.",
	  .more = "A record's signature stays as it was recorded. Needs no privilege.",
	  .example = "jankbpf symbolize --debug-dir symbols blocks.jsonl > named.jsonl",
	  .example_is = "names from the files below symbols",
	  .operand = OPERAND_FILES },
	{ CMD_REPORT,
	  "report",
	  { "report [-o FILE] [--format FORMAT] [--since TIME] [--sig HEX] DIR|FILE…" },
	  .summary = "write the blocks of records or journals for people or another tool",
	  .details =
		  "Writes the blocks of each DIR of -o, of each FILE of records (- is standard "
		  "input) and of each journal as one report: the faults as Markdown (the default), "
		  "a page for a browser, folded stacks for flame graphs, a profile for pprof, a "
		  "trace for Perfetto, a file for speedscope, or BlockCanary's logs. Needs no "
		  "privilege.",
	  .example = "jankbpf report --format html -o report.html blocks",
	  .example_is = "the blocks of the directory blocks as a page for a browser",
	  .operand = OPERAND_FILES },
	{ CMD_DIFF,
	  "diff",
	  { "diff [--json] A B" },
	  .summary = "compare two sets of records: which faults and loops became worse",
	  .details =
		  "Compares two directories of -o, files of records or journals, before and after "
		  "a change: blocks of each fault for each million dispatches, and the quantiles "
		  "of each loop. It reports what differs more than by chance; of many "
		  "comparisons, at most 5 % of those reported are chance. The exit status is 3 if "
		  "something is worse. Needs no privilege.",
	  .more = "A and B are PATH or PATH@FROM..TO with times as for --since, either of which "
		  "may be empty; only records of --interval can be chosen by time. With --interval "
		  "the variation between intervals is taken into account. -v prints every "
		  "comparison.",
	  .example = "jankbpf diff before after",
	  .example_is = "what changed from the directory before to the directory after",
	  .operand = OPERAND_FILES },
	{ CMD_SERVE,
	  "serve",
	  { "serve [--listen ADDRESS] DIR" },
	  .summary = "show the blocks of a directory of -o in a browser, while they are written",
	  .details =
		  "Serves the DIR of -o as a web page on this machine: the newest blocks, what is "
		  "unread, the faults, each block with its timeline and stacks. Blocks can be "
		  "shared, muted and deleted. It prints the address with a new token; Ctrl-C or "
		  "SIGTERM ends it.",
	  .more = "Only for the owner of DIR; root becomes the user of sudo, or that owner. From "
		  "another machine: ssh -L 7390:127.0.0.1:7390 HOST, then the same address here.",
	  .example = "jankbpf serve blocks",
	  .example_is = "the blocks of the directory blocks at http://127.0.0.1:7390",
	  .operand = OPERAND_FILES },
	{ CMD_SEND,
	  "send",
	  { "send [OPTIONS] --spool DIR --clickhouse-url|--otlp-url URL" },
	  .summary = "send the records of a spool to backends, without a trace",
	  .details = "Sends what a run with --spool has left, until each backend has all of it or "
		     "the time of --timeout is over. The exit status is 0 if nothing is left. Only "
		     "one process sends a spool: end an agent that does first. Needs no privilege "
		     "beyond that of the spool's owner.",
	  .example = "jankbpf send --spool spool --clickhouse-url http://127.0.0.1:8123",
	  .example_is = "the records in spool to a ClickHouse on this machine" },
	{ CMD_FLEET,
	  "fleet",
	  { "fleet top|show SIGNATURE [OPTIONS] --clickhouse-url URL",
	    "fleet diff [OPTIONS] --clickhouse-url URL A B",
	    "fleet drop --older TIME --clickhouse-url URL" },
	  .summary = "what the records of all machines say, in ClickHouse",
	  .details = "top: the faults, units, versions or hosts whose clients waited most. show: "
		     "where a signature occurs, its stacks, its longest block. diff: two versions "
		     "or times, compared as by diff; the exit status is 3 if B is worse. drop: "
		     "deletes old days.",
	  .more = "A and B are VERSION, VERSION@FROM..TO or @FROM..TO; an empty FROM or TO is that "
		  "of --since or --until. docs/clickhouse.md describes the tables.",
	  .example = "jankbpf fleet top --since 7h --clickhouse-url http://127.0.0.1:8123",
	  .example_is = "the worst faults of seven hours",
	  .operand = OPERAND_FILES },
	{ CMD_DOCTOR,
	  "doctor",
	  { "doctor [OPTIONS]" },
	  .summary = "what this kernel and this user can do, with remedies",
	  .details = "Reports what this kernel and this user can do: a line for each thing that "
		     "tracing depends on, with the consequence if it is missing, and the remedy. "
		     "The exit status is 0 if tracing is possible, else 77.",
	  .example = "jankbpf doctor",
	  .example_is = "what is ok, degraded or missing here" },
	{ CMD_COMPLETION,
	  "completion",
	  { "completion bash|zsh|fish" },
	  .summary = "print a shell's completion script; make install installs them",
	  .details = "Prints a script that completes commands, options and their arguments in a "
		     "shell. `make install` puts it where bash, zsh and fish look for it.",
	  .example = "source <(jankbpf completion bash)",
	  .example_is = "completion in this bash only",
	  .operand = OPERAND_SHELL },
	{ CMD_HELP,
	  "help",
	  { "help [COMMAND]" },
	  .summary = "the options of a command; without one, all of them",
	  .details = "Prints the usage of a command, its options and an example. The same as "
		     "--help after the command.",
	  .example = "jankbpf help replay",
	  .example_is = "the options of replay",
	  .operand = OPERAND_COMMAND },
};

const size_t command_row_cnt = sizeof(command_rows) / sizeof(*command_rows);

const struct command_row *command__named(const char *name)
{
	for (size_t i = 0; i < command_row_cnt; i++)
		if (!strcmp(command_rows[i].name, name))
			return &command_rows[i];
	return NULL;
}

const struct command_row *command__row(enum command command)
{
	for (size_t i = 0; i < command_row_cnt; i++)
		if (command_rows[i].command == command)
			return &command_rows[i];
	return NULL;
}
