/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control socket of the agent: a Unix socket that root and the agent's own user may use. A request
 * is one line, its answer a line "ok" or "error: …", and a text or one JSON object. Used on the
 * intake thread: each step reads at most CONTROL_LINE_MAX bytes or writes one answer, and never
 * waits.
 */
#ifndef JANK_SESSION_CONTROL_H
#define JANK_SESSION_CONTROL_H

#include "base/err.h"
#include "base/strbuf.h"

#define CONTROL_LINE_MAX    64
#define CONTROL_CLIENTS_MAX 4 /* more drop the oldest one */

enum control_request { CONTROL_STATUS, CONTROL_STATUS_JSON, CONTROL_PAUSE, CONTROL_RESUME };

extern const char *const control_words[]; /* by request */

struct control_client {
	int fd; /* -1: none */
	uint64_t nr;
	size_t len;
	char line[CONTROL_LINE_MAX];
};

struct control {
	int sock;	  /* -1: none */
	const char *path; /* borrowed */
	struct control_client clients[CONTROL_CLIENTS_MAX];
	uint64_t client_cnt; /* of all times */
};

/*
 * Binds the socket with mode 0600, and makes its directory if only that is missing. Call it before
 * there are threads and before the filter of system calls. 0, or -errno with a message.
 */
int control__open(struct control *control, const char *path, struct err *err);
void control__close(struct control *control); /* removes the socket */

/* The sockets to watch: the listening one, and after control__accept the client's. */
int control__accept(struct control *control, int *ret_dropped);

/*
 * Reads from a client. 1: *ret is its request, which needs control__answer. 0: not yet. -errno: the
 * client is gone, or wrote nonsense; it is closed.
 */
int control__read(struct control *control, int fd, enum control_request *ret);

/* Sends "ok" and the text, or the error, and closes the client. */
void control__answer(struct control *control, int fd, const char *error, const char *text);

/* The other side, of `jankbpf agent --status`: asks the agent. 0, or -errno with a message. */
int control__ask(const char *path, enum control_request request, struct strbuf *ret,
		 struct err *err);

#endif
