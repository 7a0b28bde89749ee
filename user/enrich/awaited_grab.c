/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An X server that a client has grabbed (XGrabServer) listens to no other client: it leaves their
 * connections in its epoll without EPOLLIN (set_poll_clients in xserver's os/connection.c).
 */
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "catalogue/syscalls.h"
#include "enrich/awaited.h"
#include "procfs/socket.h"

#define PROC	   "/proc"
#define MEMBER_MAX 256

/* The inode of the socket of the client at this connection of the server; 0: it is none. */
static uint64_t client_of(uint32_t pid, int32_t fd, uint64_t *ret_socket)
{
	struct jank_rec_waited ends;

	if (socketinfo__ends(pid, fd, &ends) || ends.family != AF_UNIX ||
	    !strstr(ends.name, X_SOCKETS))
		return 0;
	*ret_socket = ends.inode;
	return sockdiag__unix_peer(ends.inode);
}

bool awaited__grabber(uint32_t pid, uint32_t tid, const struct blocked_call *call, uint64_t socket,
		      struct awaited *ret)
{
	struct epoll_member members[MEMBER_MAX];
	uint64_t client, own, grabbing = 0;
	struct fd_holders found;
	bool is_left = false; /* the client that waits */
	int cnt;

	if (!socket || syscalls__class((int)call->nr) != JANK_CLASS_POLL)
		return false;
	cnt = epollinfo__members(pid, tid, (int32_t)call->args[0], members, MEMBER_MAX);
	for (int i = 0; i < cnt; i++) {
		client = client_of(pid, members[i].fd, &own);
		if (!client)
			continue;
		if (!(members[i].events & EPOLLIN)) {
			is_left |= own == socket;
			continue;
		}
		if (grabbing)
			return false;
		grabbing = client;
	}
	if (!is_left || !grabbing)
		return false;
	socketholders__find(PROC, grabbing, 0, &found);
	return awaited__set(ret, &found);
}
