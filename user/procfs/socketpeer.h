/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A socket's other end: its address in words, and on this machine the socket there and the process
 * that has it open.
 */
#ifndef JANK_PROCFS_SOCKETPEER_H
#define JANK_PROCFS_SOCKETPEER_H

#include "base/strbuf.h"
#include "bpf/jank_abi.h"
#include <stdint.h>
#include <sys/types.h>

/*
 * Adds "tcp 10.0.0.7:5432", "udp [::1]:53", "unix /run/x.sock"; nothing for what has no other end.
 * Any bytes.
 */
void socketpeer__add(struct strbuf *sb, const struct jank_rec_waited *raw);

/*
 * The inode of the socket at the other end of one of pid's, when that is on this machine: of a
 * connection to one of its own addresses, or of a unix socket in our own network namespace. 0: not
 * known. proc: "/proc".
 */
uint64_t socketpeer__inode(const char *proc, pid_t pid, const struct jank_rec_waited *raw);

/*
 * The part that reads /proc/net/tcp and its kin, for tests: the inode of the socket whose ends are
 * raw's, reversed.
 */
uint64_t socketpeer__parse(const char *text, const struct jank_rec_waited *raw);

/*
 * Sockets of our own network namespace by what the kernel is asked of one: microseconds, where
 * tables take milliseconds.
 */

/* The inode of the socket that the unix socket with this inode is connected to, or 0: not known. */
uint64_t sockdiag__unix_peer(uint64_t inode);

/*
 * The inode of the socket at the other end of a TCP or UDP socket of this machine, which is raw's:
 * of one that is not accepted yet that of who listens. 0: not known.
 */
uint64_t sockdiag__other_end(const struct jank_rec_waited *raw);

#endif
