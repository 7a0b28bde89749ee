/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serves a directory of -o: says where, and ends with a signal. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "serve/serve.h"
#include "session/event_loop.h"

#define UNIX "unix:"

/* The address goes to stdout, for a program that starts us; nothing else does. */
static int say_where(const struct options *opts, const struct server *server, uid_t user,
		     struct err *err)
{
	if (user != (uid_t)-1)
		log__info("started as root: serving as user id %u", user);
	else if (!geteuid())
		log__warn("serving as root, because '%s' belongs to root", opts->files[0]);
	if (!strncmp(opts->listen, UNIX, strlen(UNIX)))
		log__info("at the socket %s: forward a port to it, as by ssh -L 7390:%s HOST, and "
			  "open the address there, with 127.0.0.1:7390 in it",
			  opts->listen + strlen(UNIX), opts->listen + strlen(UNIX));
	if (printf("%s\n", serve__url(server)) < 0 || fflush(stdout))
		return err__set(err, errno, "cannot write the address to stdout: %s",
				strerror(errno));
	log__info("open this address in a browser; Ctrl-C ends");
	return 0;
}

static void on_left_out(const char *dir, size_t limit)
{
	log__warn("'%s': more than %zu records: the oldest are left out, but for the longest "
		  "blocks; `jankbpf report` reads all",
		  dir, limit);
}

int cmd_serve__run(const struct options *opts, struct err *err)
{
	struct server *server;
	int signal_fd, res;
	uid_t user;

	signal_fd = signals__open("jankbpf: interrupted before it served anything\n");
	if (signal_fd < 0) {
		err__set(err, -signal_fd, "cannot wait for signals: %s", strerror(-signal_fd));
		return JANK_EXIT_FAILED;
	}
	res = serve__open(opts->files[0], opts->listen, &server, &user, err);
	if (!res) {
		signals__block();
		res = say_where(opts, server, user, err);
	}
	if (!res)
		res = serve__run(server, signal_fd, on_left_out, err);
	serve__free(server);
	close(signal_fd);
	return !res ? JANK_EXIT_OK : err->exit ? err->exit : JANK_EXIT_FAILED;
}
