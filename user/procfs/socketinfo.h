/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Description of a socket with both its ends. The socket itself is queried through a duplicate of
 * its descriptor (pidfd_getfd). This takes two microseconds, in any namespace and with any number
 * of sockets; /proc/net and sock_diag would list all connections of a network namespace.
 */
#ifndef JANK_PROCFS_SOCKETINFO_H
#define JANK_PROCFS_SOCKETINFO_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Adds a description of the process's socket fd: "tcp 10.0.0.1:80->10.0.0.7:41322", "unix
 * /run/x.sock, peer pid 612"; "socket" where permission is missing. inode: the expected inode. 0;
 * -ESTALE: the descriptor now refers to another file.
 */
int socketinfo__add(struct strbuf *sb, uint32_t pid, int32_t fd, uint64_t inode);

/* The facts that the socket reports. */
struct socket_facts {
	int domain, type, protocol;
	bool is_listening, has_peer;
	int peer_pid; /* of the process that connected; 0: not known */
	struct sockaddr_storage local, peer;
	socklen_t local_len, peer_len;
};

/*
 * Adds an IPv4 or IPv6 address with its port: "10.0.0.7:5432", "[::1]:53". A mapped address is
 * shown as IPv4.
 */
void socketinfo__add_address(struct strbuf *sb, const struct sockaddr_storage *addr);

/* The formatter, for tests. */
void socketinfo__add_facts(struct strbuf *sb, const struct socket_facts *facts);

#endif
