/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process `server`: it replies late over a unix socket and over TCP on the loopback interface.
 */
#ifndef SIMJANK_SERVER_H
#define SIMJANK_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "simjank_fixture.h"

enum { SERVER_UNIX, SERVER_TCP, SERVER_CNT };

/* Before the fork: the sockets on which it will listen. Returns 0 or -errno. */
int server__bind(struct fixture *stage);

/* The process itself: never returns. */
void server__run(struct fixture *stage);

/* Connects to it. Returns 0 or -errno. */
int server__connect(struct fixture *stage);

/*
 * It will reply one byte at end_ns; until then it computes or sleeps. False: no request is
 * possible.
 */
bool server__ask(struct fixture *stage, int which, uint64_t end_ns, bool computes);

#endif
