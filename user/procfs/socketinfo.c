/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries a duplicate of the target's socket. The duplicate exists only during a few calls. If the
 * target closes its socket in that time, its connection ends that much later.
 */
#include "procfs/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

struct number_name {
	int number;
	const char *name;
};

static const struct number_name protocols[] = {
	{ IPPROTO_TCP, "tcp" },	    { IPPROTO_UDP, "udp" },	    { IPPROTO_MPTCP, "mptcp" },
	{ IPPROTO_SCTP, "sctp" },   { IPPROTO_UDPLITE, "udplite" }, { IPPROTO_ICMP, "icmp" },
	{ IPPROTO_ICMPV6, "icmp" },
};

static const struct number_name netlinks[] = {
	{ NETLINK_ROUTE, "route" },	{ NETLINK_SOCK_DIAG, "sock_diag" },
	{ NETLINK_AUDIT, "audit" },	{ NETLINK_NETFILTER, "netfilter" },
	{ NETLINK_GENERIC, "generic" }, { NETLINK_KOBJECT_UEVENT, "kobject_uevent" },
};

static const struct number_name families[] = {
	{ AF_PACKET, "packet" }, { AF_BLUETOOTH, "bluetooth" },
	{ AF_CAN, "can" },	 { AF_ALG, "alg" },
	{ AF_XDP, "xdp" },
};

#define NAME_OF(table, number) name_of(table, sizeof(table) / sizeof(*(table)), number)

static const char *name_of(const struct number_name *table, size_t cnt, int number)
{
	for (size_t i = 0; i < cnt; i++)
		if (table[i].number == number)
			return table[i].name;
	return NULL;
}

void socketinfo__add_address(struct strbuf *sb, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *four = (const struct sockaddr_in *)addr;
	char text[INET6_ADDRSTRLEN] = "";

	if (addr->ss_family == AF_INET) {
		inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
		strbuf__addf(sb, "%s:%u", text, ntohs(four->sin_port));
	} else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
		inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], text, sizeof(text));
		strbuf__addf(sb, "%s:%u", text, ntohs(six->sin6_port));
	} else {
		inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
		strbuf__addf(sb, "[%s", text);
		if (six->sin6_scope_id)
			strbuf__addf(sb, "%%%u", six->sin6_scope_id);
		strbuf__addf(sb, "]:%u", ntohs(six->sin6_port));
	}
}

typedef void add_end_fn(struct strbuf *sb, const struct sockaddr_storage *addr);

/* Adds the local end, and the remote end if there is one. */
static void add_ends(struct strbuf *sb, const struct socket_facts *facts, add_end_fn *add_end)
{
	if (!facts->local_len)
		return;
	strbuf__addc(sb, ' ');
	add_end(sb, &facts->local);
	if (facts->is_listening)
		strbuf__adds(sb, " listening");
	if (!facts->has_peer)
		return;
	strbuf__adds(sb, "->");
	add_end(sb, &facts->peer);
}

static void add_internet(struct strbuf *sb, const struct socket_facts *facts)
{
	const char *name = NAME_OF(protocols, facts->protocol);

	strbuf__adds(sb, name ? name : "ip");
	add_ends(sb, facts, socketinfo__add_address);
}

/* A path without a final NUL, or an abstract name: any bytes, the first a NUL. */
static bool add_path(struct strbuf *sb, const char *before, const struct sockaddr_storage *addr,
		     socklen_t len)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)addr;
	size_t begin = offsetof(struct sockaddr_un, sun_path), cnt;

	if (len <= begin || len > sizeof(*un))
		return false;
	cnt = len - begin;
	if (un->sun_path[0])
		cnt = strnlen(un->sun_path, cnt);
	strbuf__adds(sb, before);
	for (size_t i = 0; i < cnt; i++)
		strbuf__addc(sb, un->sun_path[i] ? un->sun_path[i] : '@');
	return true;
}

/*
 * The credentials of an unnamed socket pair belong to the process that created both ends, so they
 * are not a peer's.
 */
static void add_unix(struct strbuf *sb, const struct socket_facts *facts)
{
	bool named;

	strbuf__adds(sb, "unix");
	named = add_path(sb, " ", &facts->local, facts->local_len);
	if (facts->is_listening)
		strbuf__adds(sb, " listening");
	if (!facts->has_peer)
		return;
	named |= add_path(sb, named ? "->" : " ->", &facts->peer, facts->peer_len);
	if (!named)
		strbuf__adds(sb, " pair");
	else if (facts->peer_pid > 0)
		strbuf__addf(sb, ", peer pid %d", facts->peer_pid);
}

static void add_vsock_end(struct strbuf *sb, const struct sockaddr_storage *addr)
{
	const struct sockaddr_vm *vm = (const struct sockaddr_vm *)addr;

	strbuf__addf(sb, "%u:%u", vm->svm_cid, vm->svm_port);
}

static void add_vsock(struct strbuf *sb, const struct socket_facts *facts)
{
	strbuf__adds(sb, "vsock");
	add_ends(sb, facts, add_vsock_end);
}

static void add_netlink(struct strbuf *sb, const struct socket_facts *facts)
{
	const char *name = NAME_OF(netlinks, facts->protocol);

	if (name)
		strbuf__addf(sb, "netlink %s", name);
	else
		strbuf__addf(sb, "netlink %d", facts->protocol);
}

void socketinfo__add_facts(struct strbuf *sb, const struct socket_facts *facts)
{
	const char *name = NAME_OF(families, facts->domain);

	if (facts->domain == AF_INET || facts->domain == AF_INET6)
		add_internet(sb, facts);
	else if (facts->domain == AF_UNIX)
		add_unix(sb, facts);
	else if (facts->domain == AF_NETLINK)
		add_netlink(sb, facts);
	else if (facts->domain == AF_VSOCK)
		add_vsock(sb, facts);
	else if (name)
		strbuf__addf(sb, "%s socket", name);
	else
		strbuf__addf(sb, "socket of family %d", facts->domain);
}

static int option(int sock, int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	return getsockopt(sock, SOL_SOCKET, name, &value, &len) ? 0 : value;
}

static void ask(int sock, struct socket_facts *ret)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	*ret = (struct socket_facts){
		.domain = option(sock, SO_DOMAIN),
		.type = option(sock, SO_TYPE),
		.protocol = option(sock, SO_PROTOCOL),
		.is_listening = option(sock, SO_ACCEPTCONN),
		.local_len = sizeof(ret->local),
		.peer_len = sizeof(ret->peer),
	};
	if (getsockname(sock, (struct sockaddr *)&ret->local, &ret->local_len))
		ret->local_len = 0;
	ret->has_peer = !getpeername(sock, (struct sockaddr *)&ret->peer, &ret->peer_len);
	if (ret->domain == AF_UNIX && !getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		ret->peer_pid = cred.pid;
}

static int duplicate(uint32_t pid, int32_t fd)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0), ret;

	if (pidfd < 0)
		return -errno;
	ret = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (ret < 0)
		ret = -errno;
	close(pidfd);
	return ret;
}

int socketinfo__add(struct strbuf *sb, uint32_t pid, int32_t fd, uint64_t inode)
{
	struct socket_facts facts;
	struct stat st;
	int sock = duplicate(pid, fd);

	if (sock == -EBADF)
		return -ESTALE;
	if (sock < 0) {
		strbuf__adds(sb, "socket");
		return 0;
	}
	if (fstat(sock, &st) || !S_ISSOCK(st.st_mode) || st.st_ino != inode) {
		close(sock);
		return -ESTALE;
	}
	ask(sock, &facts);
	close(sock);
	socketinfo__add_facts(sb, &facts);
	return 0;
}

static uint16_t set_end(const struct sockaddr_storage *addr, uint8_t ret[16])
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *four = (const struct sockaddr_in *)addr;

	if (addr->ss_family == AF_INET) {
		memcpy(ret, &four->sin_addr, sizeof(four->sin_addr));
		return ntohs(four->sin_port);
	}
	if (addr->ss_family != AF_INET6)
		return 0;
	memcpy(ret, &six->sin6_addr, sizeof(six->sin6_addr));
	return ntohs(six->sin6_port);
}

/* As wait_object__unix in bpf/wait_object.bpf.h: with '@' for an abstract name. */
static bool set_name(const struct sockaddr_storage *addr, socklen_t len,
		     char ret[JANK_WAITED_NAME_SZ])
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)addr;
	size_t begin = offsetof(struct sockaddr_un, sun_path), cnt;

	if (len <= begin)
		return false;
	cnt = len - begin < JANK_WAITED_NAME_SZ ? len - begin : JANK_WAITED_NAME_SZ - 1;
	memcpy(ret, un->sun_path, cnt);
	ret[cnt] = 0;
	if (!*ret)
		*ret = '@';
	return true;
}

int socketinfo__ends(uint32_t pid, int32_t fd, struct jank_rec_waited *ret)
{
	struct socket_facts facts;
	struct stat st;
	int sock = duplicate(pid, fd);

	if (sock < 0)
		return sock;
	if (fstat(sock, &st) || !S_ISSOCK(st.st_mode)) {
		close(sock);
		return -ENOTSOCK;
	}
	ask(sock, &facts);
	close(sock);
	*ret = (struct jank_rec_waited){
		.fd = fd,
		.inode = st.st_ino,
		.family = (uint16_t)facts.domain,
		.type = (uint16_t)facts.type,
	};
	if (facts.domain == AF_UNIX && !set_name(&facts.peer, facts.peer_len, ret->name))
		set_name(&facts.local, facts.local_len, ret->name);
	ret->sport = set_end(&facts.local, ret->saddr);
	if (facts.has_peer)
		ret->dport = set_end(&facts.peer, ret->daddr);
	return 0;
}
