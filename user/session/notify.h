/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages to the service manager (sd_notify): datagrams of lines to the socket that $NOTIFY_SOCKET
 * names. Used on the intake thread, which the messages never let wait: what finds no room is lost.
 */
#ifndef JANK_SESSION_NOTIFY_H
#define JANK_SESSION_NOTIFY_H

#include <stdint.h>

struct notify {
	int sock;	      /* -1: no service manager wants them */
	uint64_t watchdog_ns; /* WATCHDOG=1 is wanted more often than this; 0: never */
};

/*
 * Opens the socket and takes the variables out of the environment, so that no child uses them. Call
 * it before the filter of system calls. 0; -errno: the variable names no socket that can be used.
 */
int notify__open(struct notify *notify);
void notify__close(struct notify *notify);

/* Sends the lines, such as "READY=1\nSTATUS=…". */
void notify__send(const struct notify *notify, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
