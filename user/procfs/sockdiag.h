/* SPDX-License-Identifier: GPL-2.0 */
/* Sockets of our own network namespace by what the kernel is asked of one: microseconds, where tables take milliseconds. */
#ifndef JANK_PROCFS_SOCKDIAG_H
#define JANK_PROCFS_SOCKDIAG_H

#include "bpf/jank_abi.h"
#include <stdint.h>

/* The inode of the socket that the unix socket with this inode is connected to, or 0: not known. */
uint64_t sockdiag__unix_peer(uint64_t inode);

/*
 * The inode of the socket at the other end of a TCP or UDP socket of this machine, which is raw's: of one that is not
 * accepted yet that of who listens. 0: not known.
 */
uint64_t sockdiag__other_end(const struct jank_rec_waited *raw);

#endif
