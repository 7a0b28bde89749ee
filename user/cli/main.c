/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jankbpf: finds jank on a whole machine. Calls one function per command. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/log.h"
#include "cli/commands.h"
#include "deliver/deliver.h"
#include "deliver/downloader.h"
#include "deliver/react.h"
#include "deliver/sender_process.h"
#include "export/sink.h"
#include "files/apart.h"
#include "files/unread.h"
#include "name/name.h"
#include "options/options.h"
#include "session/session.h"

static int run(const struct options *opts, struct err *err)
{
	switch (opts->command) {
	case CMD_TRACE:
	case CMD_TOP:
		return session__run(opts, err);
	case CMD_AGENT:
		if (options__asks(opts))
			return cmd_agent__ask(opts, err);
		if (!opts->check_config)
			return session__run(opts, err);
		return cmd_agent__check(opts, err);
	case CMD_REPLAY:
		return cmd_replay__run(opts, err);
	case CMD_LOOPS:
		return cmd_loops__run(opts, err);
	case CMD_SYMBOLIZE:
		return cmd_symbolize__run(opts, err);
	case CMD_REPORT:
		return cmd_report__run(opts, err);
	case CMD_DIFF:
		return cmd_diff__run(opts, err);
	case CMD_FLEET:
		return cmd_fleet__run(opts, err);
	case CMD_SERVE:
		return cmd_serve__run(opts, err);
	case CMD_SEND:
		return cmd_send__run(opts, err);
	case CMD_DOCTOR:
		return cmd_doctor__run(opts);
	case CMD_SCHEMA:
		puts(json_schema);
		return JANK_EXIT_OK;
	case CMD_VERSION:
		options__print_version();
		return JANK_EXIT_OK;
	case CMD_COMPLETION:
		return options__print_completion(opts->shell) ? JANK_EXIT_OK : JANK_EXIT_USAGE;
	case CMD_HELP:
		options__print_help(opts->topic);
		return JANK_EXIT_OK;
	}
	return JANK_EXIT_USAGE;
}

/*
 * Checks that stdio reached its target: a full disk is a failure, a closed reader is not. If more
 * than one buffer was printed, an earlier part may have failed. For blocks, their sink reports that
 * itself.
 */
static int check_stdout(enum command command, int status)
{
	bool printed = command == CMD_HELP || command == CMD_SCHEMA || command == CMD_VERSION ||
		       command == CMD_COMPLETION || command == CMD_AGENT;

	if ((fflush(stdout) || (printed && ferror(stdout))) && errno != EPIPE && !status) {
		log__error("cannot write to stdout: %s", strerror(errno));
		return JANK_EXIT_FAILED;
	}
	return status;
}

/*
 * Open missing standard descriptors: otherwise our first files become stdin, stdout or stderr and
 * get our messages.
 */
static void fill_std_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* A trace has reported it. */
static void report_left_out(void)
{
	char text[512];

	while (unread__next(text, sizeof(text)))
		log__warn("%s", text);
	if (alloc__failed_cnt())
		log__warn("out of memory %llu times: parts of the output are missing; free some "
			  "memory and run it again",
			  (unsigned long long)alloc__failed_cnt());
}

int main(int argc, char **argv)
{
	struct options opts;
	struct err err = {};
	int status;

	fill_std_fds();
	if (argc == 2 && !strcmp(argv[1], DELIVER_WORD))
		return deliver__main(DELIVER_PLAIN);
	if (argc == 2 && !strcmp(argv[1], DELIVER_SCREEN_WORD))
		return deliver__main(DELIVER_SCREEN);
	if (argc == 2 && !strcmp(argv[1], DELIVER_HTTP_WORD))
		return deliver__main(DELIVER_HTTP);
	if (argc == 2 && !strcmp(argv[1], DOWNLOADER_WORD))
		return downloader__main();
	if (argc == 2 && !strcmp(argv[1], REACT_WORD))
		return react__main();
	if (argc == 2 && !strcmp(argv[1], SENDER_WORD))
		return sender_process__main();
	if (argc == 2 && !strcmp(argv[1], NAME_WORD))
		return name_server__main();
	if (options__parse(argc, argv, &opts, &err)) {
		log__error("%s", err.msg);
		return err.exit;
	}
	log__set_level(opts.verbosity);
	status = run(&opts, &err);
	apart__stop();
	if (status && err.msg[0])
		log__error("%s", err.msg);
	if (!status && !options__traces(&opts) && opts.command != CMD_LOOPS)
		report_left_out();
	options__free(&opts);
	return check_stdout(opts.command, status);
}
