/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `jankbpf serve`: the records of a directory of -o as a web page, for its owner, on this machine.
 * Nothing outside the directory can be reached. One thread.
 */
#ifndef JANK_SERVE_SERVE_H
#define JANK_SERVE_SERVE_H

#include "base/err.h"
#include "base/syscall_filter.h"
#include <stddef.h>
#include <sys/types.h>

/* What a server may still do after serve__open. */
extern const struct syscall_list serve_calls;

struct server;

/*
 * Opens the directory and listens; gives up privileges: as root it becomes the user of sudo, else
 * the directory's owner (*ret_user; unchanged: (uid_t)-1). Returns 0, or -errno with a message. The
 * caller frees *ret with serve__free.
 */
int serve__open(const char *dir, const char *listen, struct server **ret, uid_t *ret_user,
		struct err *err);
/* Accepts NULL. Keeps the marks in the directory. */
void serve__free(struct server *server);

/* The address to open: "http://127.0.0.1:7390/#token=…". Static. */
const char *serve__url(const struct server *server);

/* The directory has more records than the limit: some are left out. Called once. */
typedef void serve_left_out_fn(const char *dir, size_t limit);

/* Serves until the signals' descriptor (signals__open) is readable. 0, or -errno with a message. */
int serve__run(struct server *server, int signal_fd, serve_left_out_fn *on_left_out,
	       struct err *err);

#endif
