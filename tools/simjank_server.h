/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process `server`: it answers late over a unix socket and over TCP on the loopback interface.
 */
#ifndef SIMJANK_SERVER_H
#define SIMJANK_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "simjank_fixture.h"

enum { SERVER_UNIX, SERVER_TCP, SERVER_CNT };

/* Before the fork: the sockets that it will listen on. -errno. */
int server__bind(struct fixture *stage);

/* The process itself: never returns. */
void server__run(struct fixture *stage);

/* Connects to it. -errno. */
int server__connect(struct fixture *stage);

/* It will answer one byte at end_ns, until when it computes or sleeps. False: it can't be asked. */
bool server__ask(struct fixture *stage, int which, uint64_t end_ns, bool computes);

#endif
