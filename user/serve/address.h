/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the server listens: a loopback address with a port, or a Unix socket. */
#ifndef JANK_SERVE_ADDRESS_H
#define JANK_SERVE_ADDRESS_H

#include "base/err.h"
#include <sys/socket.h>
#include <sys/un.h>

struct address {
	const char *text; /* as the user gave it; borrowed */
	struct sockaddr_storage sa;
	socklen_t len;
	unsigned port; /* 0: a Unix socket */
};

/*
 * Reads "127.0.0.1:PORT", "[::1]:PORT" or "unix:PATH"; port 0 takes a free one. -EINVAL with a
 * message, and JANK_EXIT_USAGE.
 */
int address__parse(const char *text, struct address *ret, struct err *err);

/*
 * Listens. Replaces a Unix socket that nothing listens on; a new one has mode 0600. Sets the port.
 * Returns a descriptor, or -errno with a message.
 */
int address__listen(struct address *address, struct err *err);

/* Removes a Unix socket's file. */
void address__remove(const struct address *address);

#endif
