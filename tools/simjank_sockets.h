/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fixture's pipes and sockets. Each function returns 0 or -errno. */
#ifndef SIMJANK_SOCKETS_H
#define SIMJANK_SOCKETS_H

#include "simjank_fixture.h"

int sockets__open(struct fixture *stage);     /* pipes, an eventfd, and a pair of unix sockets */
int sockets__open_tcp(struct fixture *stage); /* a pair over the loopback interface */
int sockets__open_backlog(struct fixture *stage); /* a listener whose backlog is full */
int sockets__open_resolver(
	struct fixture *stage); /* both ends of UDP to port 53 of an address of its own */

#endif
