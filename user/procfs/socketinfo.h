/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A socket with both its ends. /proc/net and sock_diag list all connections of a network namespace
 * to find one; the socket itself is asked instead, through a duplicate of its descriptor
 * (pidfd_getfd): two microseconds, whatever namespace it lives in and whatever number of them there
 * is.
 */
#ifndef JANK_PROCFS_SOCKETINFO_H
#define JANK_PROCFS_SOCKETINFO_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Adds what socket descriptor fd of the process is: "tcp 10.0.0.1:80->10.0.0.7:41322", "unix
 * /run/x.sock, peer pid 612"; "socket" where it may not be asked. inode: its file's number. 0;
 * -ESTALE: the descriptor is another file's by now.
 */
int socketinfo__add(struct strbuf *sb, uint32_t pid, int32_t fd, uint64_t inode);

/* What one's own socket says. */
struct socket_facts {
	int domain, type, protocol;
	bool is_listening, has_peer;
	int peer_pid; /* of who connected; 0: not known */
	struct sockaddr_storage local, peer;
	socklen_t local_len, peer_len;
};

/* Adds an IPv4 or IPv6 address with its port: "10.0.0.7:5432", "[::1]:53"; a mapped one as IPv4. */
void socketinfo__add_address(struct strbuf *sb, const struct sockaddr_storage *addr);

/* The part that writes, for tests. */
void socketinfo__add_facts(struct strbuf *sb, const struct socket_facts *facts);

#endif
