/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A socket in words, with both its ends; and the socket at its other end. */
#ifndef JANK_PROCFS_SOCKET_H
#define JANK_PROCFS_SOCKET_H

#include "base/strbuf.h"
#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/*
 * --- socketinfo.c: the socket of a descriptor. It is queried through a duplicate of the descriptor
 * (pidfd_getfd). This takes two microseconds, in any namespace and with any number of sockets;
 * /proc/net and sock_diag would list all connections of a network namespace.
 */

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

/*
 * Both ends of the process's socket fd, its inode, and the name of a unix socket's peer, else its
 * own, as the probes record them; other fields are 0. 0; or -errno: no socket, or no permission.
 */
int socketinfo__ends(uint32_t pid, int32_t fd, struct jank_rec_waited *ret);

/* The formatter, for tests. */
void socketinfo__add_facts(struct strbuf *sb, const struct socket_facts *facts);

/*
 * --- socketpeer.c: the other end of the socket that a thread waited for: its address in words. On
 * this machine also the socket at that end, for which fd_holder.c finds the process.
 */

/*
 * Adds "tcp 10.0.0.7:5432", "udp [::1]:53", "unix /run/x.sock"; adds nothing for a socket without
 * another end. Any bytes.
 */
void socketpeer__add(struct strbuf *sb, const struct jank_rec_waited *raw);

/*
 * The inode of the socket at the other end of a socket of pid, if that is on this machine: a
 * connection to one of its own addresses, or a unix socket in our own network namespace. 0: not
 * known. proc: "/proc".
 */
uint64_t socketpeer__inode(const char *proc, pid_t pid, const struct jank_rec_waited *raw);

/*
 * Parser of /proc/net/tcp and similar tables, for tests: the inode of the socket that has raw's
 * ends, swapped.
 */
uint64_t socketpeer__parse(const char *text, const struct jank_rec_waited *raw);

/*
 * --- queries for one socket of our own network namespace by sock_diag: they take microseconds, the
 * tables milliseconds.
 */

/* The inode of the peer of the unix socket with this inode, or 0: not known. */
uint64_t sockdiag__unix_peer(uint64_t inode);

/*
 * The inode of the socket at the other end of the TCP or UDP socket raw, on this machine. For a
 * connection that is not accepted yet: the inode of the listening socket. 0: not known.
 */
uint64_t sockdiag__other_end(const struct jank_rec_waited *raw);

#endif
