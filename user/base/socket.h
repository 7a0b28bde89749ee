/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets to our own processes. All functions wait, and retry on EINTR. -EPIPE: the other side is
 * gone. -EAGAIN: the socket has a time limit (SO_RCVTIMEO), and it is over.
 */
#ifndef JANK_BASE_SOCKET_H
#define JANK_BASE_SOCKET_H

#include "base/strbuf.h"
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* --- streams */

/* Sends a head, and the data behind it (size 0: none). 0 or -errno. */
int socket__send(int sock, const void *head, size_t head_size, const void *data, size_t size);

/* Receives exactly size bytes. 0 or -errno. */
int socket__receive(int sock, void *to, size_t size);

/* The same, into sb, which it empties first. Memory is taken as bytes arrive. */
int socket__receive_bytes(int sock, size_t size, struct strbuf *sb);

/* --- SOCK_SEQPACKET: messages that may carry a descriptor. System calls only. */

/* Sends one message, with a descriptor unless fd is negative. 0 or -errno. */
int socket__send_fd(int sock, const struct iovec *parts, size_t cnt, int fd);

/*
 * Receives one message, with at most one descriptor: there is room for no other. Returns its size,
 * or -errno (-EBADMSG: it is longer than the parts). *ret_fd: the caller owns it; -1: none.
 */
ssize_t socket__receive_fd(int sock, const struct iovec *parts, size_t cnt, int *ret_fd);

/* 0: a received descriptor is of a regular file. -EBADMSG: it is not, or none, and closed. */
int socket__check_file(int fd);

#endif
