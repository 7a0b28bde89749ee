/* SPDX-License-Identifier: GPL-2.0 */
/* A question and its answer, which is there when the question is sent. */
#include "procfs/sockdiag.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_SZ 4096

/* A message's body, of at least len bytes, or NULL; *ret_left: what follows these. */
static const void *body_of(const char *answer, ssize_t size, size_t len, unsigned *ret_left)
{
	const struct nlmsghdr *hdr = (const void *)answer;

	if (size <= 0 || !NLMSG_OK(hdr, (size_t)size) || hdr->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    hdr->nlmsg_len < NLMSG_LENGTH(len))
		return NULL;
	*ret_left = hdr->nlmsg_len - NLMSG_LENGTH(len);
	return NLMSG_DATA(hdr);
}

/* Sends the message and returns the answer's size, or -1. */
static ssize_t ask(const struct nlmsghdr *question, char *answer)
{
	int sock = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t size = -1;

	if (sock < 0)
		return -1;
	if (send(sock, question, question->nlmsg_len, 0) == question->nlmsg_len)
		size = recv(sock, answer, ANSWER_SZ, MSG_DONTWAIT);
	close(sock);
	return size;
}

static uint32_t peer_in(const struct unix_diag_msg *msg, unsigned left)
{
	const struct rtattr *attr = (const void *)(msg + 1);
	uint32_t peer;

	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
		if (attr->rta_type != UNIX_DIAG_PEER || RTA_PAYLOAD(attr) < sizeof(peer))
			continue;
		memcpy(&peer, RTA_DATA(attr), sizeof(peer));
		return peer;
	}
	return 0;
}

uint64_t sockdiag__unix_peer(uint64_t inode)
{
	char answer[ANSWER_SZ] __attribute__((aligned(8)));
	const struct unix_diag_msg *msg;
	unsigned left;
	struct {
		struct nlmsghdr hdr;
		struct unix_diag_req req;
	} question = {
		.hdr = { .nlmsg_len = sizeof(question),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST },
		.req = { .sdiag_family = AF_UNIX,
			 .udiag_states = ~0u,
			 .udiag_ino = (uint32_t)inode,
			 .udiag_show = UDIAG_SHOW_PEER,
			 .udiag_cookie = { ~0u, ~0u } },
	};

	if (!inode || inode > UINT32_MAX)
		return 0;
	msg = body_of(answer, ask(&question.hdr, answer), sizeof(*msg), &left);
	return msg ? peer_in(msg, left) : 0;
}

/* The socket from whose side the ends are these. */
static uint64_t inode_of(uint8_t family, uint8_t protocol, const struct inet_diag_sockid *id)
{
	char answer[ANSWER_SZ] __attribute__((aligned(8)));
	const struct inet_diag_msg *msg;
	unsigned left;
	struct {
		struct nlmsghdr hdr;
		struct inet_diag_req_v2 req;
	} question = {
		.hdr = { .nlmsg_len = sizeof(question),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST },
		.req = { .sdiag_family = family,
			 .sdiag_protocol = protocol,
			 .idiag_states = ~0u,
			 .id = *id },
	};

	msg = body_of(answer, ask(&question.hdr, answer), sizeof(*msg), &left);
	return msg ? msg->idiag_inode : 0;
}

/* The socket whose own end is raw's other one, connected to raw's or to nobody. */
static struct inet_diag_sockid id_of(const struct jank_rec_waited *raw, bool connected)
{
	struct inet_diag_sockid ret = {
		.idiag_sport = htons(raw->dport),
		.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
	};

	memcpy(ret.idiag_src, raw->daddr, sizeof(ret.idiag_src));
	if (!connected)
		return ret;
	ret.idiag_dport = htons(raw->sport);
	memcpy(ret.idiag_dst, raw->saddr, sizeof(ret.idiag_dst));
	return ret;
}

/* "src and dst are swapped for historical reasons" (net/ipv4/udp_diag.c) */
static void swap_ends(struct inet_diag_sockid *id)
{
	const struct inet_diag_sockid old = *id;

	id->idiag_sport = old.idiag_dport;
	id->idiag_dport = old.idiag_sport;
	memcpy(id->idiag_src, old.idiag_dst, sizeof(id->idiag_src));
	memcpy(id->idiag_dst, old.idiag_src, sizeof(id->idiag_dst));
}

uint64_t sockdiag__other_end(const struct jank_rec_waited *raw)
{
	bool is_tcp = raw->type == SOCK_STREAM;
	uint64_t inode = 0;

	for (int connected = 1; connected >= 0 && !inode; connected--) {
		struct inet_diag_sockid id = id_of(raw, connected);

		if (!is_tcp)
			swap_ends(&id);
		inode = inode_of((uint8_t)raw->family, is_tcp ? IPPROTO_TCP : IPPROTO_UDP, &id);
	}
	return inode;
}
