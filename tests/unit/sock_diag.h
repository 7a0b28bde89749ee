/* SPDX-License-Identifier: GPL-2.0 */
/* Does this kernel report sockets by netlink? A small kernel may lack the modules. */
#ifndef JANK_TEST_SOCK_DIAG_H
#define JANK_TEST_SOCK_DIAG_H

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * A dump of sockets in no state. It ends at once, or fails with -ENOENT if there is no module.
 * protocol: of AF_INET; else 0.
 */
static inline bool sock_diag__has(int family, int protocol)
{
	struct {
		struct nlmsghdr hdr;
		union {
			struct inet_diag_req_v2 inet;
			struct unix_diag_req un;
		};
	} ask = { .hdr = { .nlmsg_len = sizeof(ask),
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };
	struct {
		struct nlmsghdr hdr;
		struct nlmsgerr err;
	} reply = {};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	bool ret = false;

	if (family == AF_UNIX)
		ask.un.sdiag_family = family;
	else
		ask.inet = (struct inet_diag_req_v2){ .sdiag_family = family,
						      .sdiag_protocol = protocol };
	if (fd >= 0 && send(fd, &ask, sizeof(ask), 0) == sizeof(ask) &&
	    recv(fd, &reply, sizeof(reply), 0) > 0)
		ret = reply.hdr.nlmsg_type != NLMSG_ERROR || reply.err.error != -ENOENT;
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Each kind of dump that the tests need. */
static inline bool sock_diag__has_all(void)
{
	return sock_diag__has(AF_UNIX, 0) && sock_diag__has(AF_INET, IPPROTO_TCP) &&
	       sock_diag__has(AF_INET, IPPROTO_UDP);
}

#endif
