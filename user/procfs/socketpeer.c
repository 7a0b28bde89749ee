/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds a socket's other end. For our own network namespace it queries the kernel (sock_diag). For
 * others it reads the tables of /proc/PID/net, which cost 2 ms each.
 */
#include "procfs/socket.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/file.h"

/* --- sock_diag: the answer is available as soon as the request is sent */

#define ANSWER_SZ 4096

/*
 * Body of a message, of at least len bytes, or NULL. *ret_left: size of the data after these bytes.
 */
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

/* The inode of the socket with these ends, seen from its side. */
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

/*
 * The socket with raw's remote end as its local end, connected to raw's local end or not connected.
 */
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

#define TABLE_MAX  (8u << 20) /* about 50,000 sockets */
#define TCP_LISTEN 10	      /* net/tcp_states.h */

static bool is_zero(const __u8 *addr)
{
	static const __u8 none[16];

	return !memcmp(addr, none, sizeof(none));
}

static bool is_internet(const struct jank_rec_waited *raw)
{
	return raw->family == AF_INET || raw->family == AF_INET6;
}

static bool has_peer(const struct jank_rec_waited *raw)
{
	return is_internet(raw) && raw->state != TCP_LISTEN && raw->dport && !is_zero(raw->daddr);
}

static struct sockaddr_storage address_of(const struct jank_rec_waited *raw)
{
	struct sockaddr_storage ret = { .ss_family = raw->family };
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&ret;
	struct sockaddr_in *four = (struct sockaddr_in *)&ret;

	if (raw->family == AF_INET) {
		memcpy(&four->sin_addr, raw->daddr, sizeof(four->sin_addr));
		four->sin_port = htons(raw->dport);
	} else {
		memcpy(&six->sin6_addr, raw->daddr, sizeof(six->sin6_addr));
		six->sin6_port = htons(raw->dport);
	}
	return ret;
}

void socketpeer__add(struct strbuf *sb, const struct jank_rec_waited *raw)
{
	if (raw->family == AF_UNIX && raw->name[0]) {
		strbuf__adds(sb, "unix ");
		strbuf__add(sb, raw->name, strnlen(raw->name, sizeof(raw->name)));
	} else if (has_peer(raw)) {
		const struct sockaddr_storage addr = address_of(raw);

		strbuf__adds(sb, raw->type == SOCK_STREAM  ? "tcp "
				 : raw->type == SOCK_DGRAM ? "udp "
							   : "ip ");
		socketinfo__add_address(sb, &addr);
	}
}

/*
 * An end in the table's form: the address in words of the machine's byte order, and the port, in
 * hexadecimal.
 */
struct end {
	uint32_t words[4];
	unsigned cnt, port;
};

/* tcp6 lists IPv4 connections with mapped addresses, so all addresses are compared in that form. */
static void map(struct end *end)
{
	if (end->cnt == 1)
		*end = (struct end){ { 0, 0, htonl(0xffff), end->words[0] }, 4, end->port };
}

static struct end end_of(const __u8 *addr, uint16_t family, uint16_t port)
{
	struct end ret = { .cnt = family == AF_INET ? 1 : 4, .port = port };

	memcpy(ret.words, addr, ret.cnt * sizeof(*ret.words));
	map(&ret);
	return ret;
}

static bool parse_end(const char **at, struct end *ret)
{
	char *stop;

	*at += strspn(*at, " ");
	ret->cnt = 0;
	while (ret->cnt < 4 && **at != ':') {
		char word[9] = "";

		memcpy(word, *at, strnlen(*at, 8));
		if (strspn(word, "0123456789ABCDEF") != 8)
			return false;
		ret->words[ret->cnt++] = (uint32_t)strtoul(word, NULL, 16);
		*at += 8;
	}
	if (**at != ':')
		return false;
	ret->port = (unsigned)strtoul(*at + 1, &stop, 16);
	*at = stop;
	map(ret);
	return ret->cnt == 4;
}

static bool is_end(const struct end *got, const struct end *want)
{
	return got->port == want->port && !memcmp(got->words, want->words, sizeof(got->words));
}

/* True for the IPv4 or IPv6 any-address, with any port. */
static bool is_any_address(const struct end *end)
{
	return !end->words[0] && !end->words[1] && !end->words[3] &&
	       (!end->words[2] || end->words[2] == htonl(0xffff));
}

/* The ends of the wanted socket, and the results so far. */
struct search {
	struct end local, remote;
	uint64_t exact;
	uint64_t bound; /* not connected: UDP, or listening, with a connection not accepted yet */
};

/*
 * "sl: LOCAL REMOTE ST TX:RX TR:WHEN RETRNSMT UID TIMEOUT INODE …"; inode 0: no process has it open
 */
static void take_line(struct search *search, const char *line)
{
	struct end local = { 0 }, remote = { 0 };
	unsigned long long inode;
	const char *at = line + strcspn(line, ":\n");

	if (*at++ != ':' || !parse_end(&at, &local) || !parse_end(&at, &remote) ||
	    sscanf(at, "%*x %*x:%*x %*x:%*x %*x %*u %*u %llu", &inode) != 1)
		return;
	if (is_end(&local, &search->local) && is_end(&remote, &search->remote))
		search->exact = inode;
	else if (!remote.port && is_any_address(&remote) && local.port == search->local.port &&
		 (is_any_address(&local) || is_end(&local, &search->local)))
		search->bound = inode;
}

uint64_t socketpeer__parse(const char *text, const struct jank_rec_waited *raw)
{
	struct search search = {
		.local = end_of(raw->daddr, raw->family, raw->dport),
		.remote = end_of(raw->saddr, raw->family, raw->sport),
	};

	for (const char *line = text; line && !search.exact;) {
		take_line(&search, line);
		line = strchr(line, '\n');
		line += !!line;
	}
	return search.exact ? search.exact : search.bound;
}

static uint64_t look_up(const char *proc, pid_t pid, const char *table,
			const struct jank_rec_waited *raw)
{
	struct strbuf sb = STRBUF_INIT;
	uint64_t inode = 0;
	char path[96];

	snprintf(path, sizeof(path), "%s/%d/net/%s", proc, (int)pid, table);
	if (!file__read(path, TABLE_MAX, &sb))
		inode = socketpeer__parse(strbuf__str(&sb), raw);
	strbuf__free(&sb);
	return inode;
}

/* True for loopback, or if both ends have the same address. */
static bool is_local(const struct jank_rec_waited *raw)
{
	const struct in6_addr *six = (const struct in6_addr *)raw->daddr;
	bool same = !memcmp(raw->saddr, raw->daddr, sizeof(raw->daddr));

	if (raw->family == AF_INET)
		return raw->daddr[0] == 127 || same;
	return IN6_IS_ADDR_LOOPBACK(six) || same ||
	       (IN6_IS_ADDR_V4MAPPED(six) && raw->daddr[12] == 127);
}

static uint64_t net_of(const char *proc, pid_t pid)
{
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%d/ns/net", proc, (int)pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

static bool shares_our_net(const char *proc, pid_t pid)
{
	uint64_t net = net_of(proc, pid);

	return net && net == net_of(proc, getpid());
}

uint64_t socketpeer__inode(const char *proc, pid_t pid, const struct jank_rec_waited *raw)
{
	bool stream = raw->type == SOCK_STREAM;
	uint64_t inode = 0;

	if (raw->family == AF_UNIX)
		return sockdiag__unix_peer(raw->inode);
	if (!has_peer(raw) || !is_local(raw))
		return 0;
	if (shares_our_net(proc, pid))
		inode = sockdiag__other_end(raw);
	if (!inode)
		inode = look_up(proc, pid, stream ? "tcp" : "udp", raw);
	return inode ? inode : look_up(proc, pid, stream ? "tcp6" : "udp6", raw);
}
