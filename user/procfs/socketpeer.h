/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A socket's other end: its address in words. On this machine also the socket at that end, for
 * which fd_holder.h finds the process.
 */
#ifndef JANK_PROCFS_SOCKETPEER_H
#define JANK_PROCFS_SOCKETPEER_H

#include "base/strbuf.h"
#include "bpf/jank_abi.h"
#include <stdint.h>
#include <sys/types.h>

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
