/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The other end of this process's own connections, accepted or not, and of one in another network
 * namespace.
 */
#include "procfs/socket.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/child.h"
#include "tests/unit/sock_diag.h"

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

struct connection {
	struct jank_rec_waited raw; /* of the client's side */
	int server, client, accepted;
};

static const struct setting {
	int server, client, type;
	bool anywhere, accept;
	const char *what;
} settings[] = {
	{ AF_INET, AF_INET, SOCK_STREAM, false, true, "IPv4, accepted" },
	{ AF_INET, AF_INET, SOCK_STREAM, false, false, "IPv4, not yet" },
	{ AF_INET, AF_INET, SOCK_STREAM, true, true, "IPv4 from anywhere, accepted" },
	{ AF_INET, AF_INET, SOCK_STREAM, true, false, "IPv4 from anywhere, not yet" },
	{ AF_INET6, AF_INET6, SOCK_STREAM, false, true, "IPv6, accepted" },
	{ AF_INET6, AF_INET6, SOCK_STREAM, true, false, "IPv6, not yet" },
	{ AF_INET6, AF_INET, SOCK_STREAM, true, true, "IPv4 to a socket of both, accepted" },
	{ AF_INET6, AF_INET, SOCK_STREAM, true, false, "IPv4 to a socket of both, not yet" },
	{ AF_INET, AF_INET, SOCK_DGRAM, false, false, "UDP" },
	{ AF_INET, AF_INET, SOCK_DGRAM, true, false, "UDP from anywhere" },
	{ AF_INET6, AF_INET, SOCK_DGRAM, true, false, "UDP to a socket of both" },
};

static socklen_t set_address(union address *ret, int family, bool anywhere, uint16_t port)
{
	*ret = (union address){ .any.sa_family = (sa_family_t)family };
	ret->four.sin_port = port; /* at the same offset in both */
	if (family == AF_INET)
		ret->four.sin_addr.s_addr = htonl(anywhere ? INADDR_ANY : INADDR_LOOPBACK);
	else
		ret->six.sin6_addr = anywhere ? in6addr_any : in6addr_loopback;
	return family == AF_INET ? sizeof(ret->four) : sizeof(ret->six);
}

static uint16_t copy_end(__u8 *ret, const union address *addr)
{
	if (addr->any.sa_family == AF_INET)
		memcpy(ret, &addr->four.sin_addr, sizeof(addr->four.sin_addr));
	else
		memcpy(ret, &addr->six.sin6_addr, sizeof(addr->six.sin6_addr));
	return ntohs(addr->four.sin_port);
}

static struct connection connect_by(const struct setting *setting)
{
	struct connection ret = { .accepted = -1 };
	union address addr;
	socklen_t len = set_address(&addr, setting->server, setting->anywhere, 0);

	ret.server = socket(setting->server, setting->type, 0);
	ret.client = socket(setting->client, setting->type, 0);
	if (bind(ret.server, &addr.any, len) || getsockname(ret.server, &addr.any, &len) ||
	    (setting->type == SOCK_STREAM && listen(ret.server, 1)))
		abort();
	len = set_address(&addr, setting->client, false, addr.four.sin_port);
	if (connect(ret.client, &addr.any, len))
		abort();
	ret.raw = (struct jank_rec_waited){ .family = (__u16)setting->client,
					    .type = (__u16)setting->type,
					    .state = 1 };
	ret.raw.dport = copy_end(ret.raw.daddr, &addr);
	if (getsockname(ret.client, &addr.any, &len))
		abort();
	ret.raw.sport = copy_end(ret.raw.saddr, &addr);
	if (setting->accept)
		ret.accepted = accept(ret.server, NULL, NULL);
	return ret;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

static uint64_t wanted(const struct connection *connection)
{
	return inode_of(connection->accepted < 0 ? connection->server : connection->accepted);
}

static void disconnect(const struct connection *connection)
{
	close(connection->server);
	close(connection->client);
	if (connection->accepted >= 0)
		close(connection->accepted);
}

static void test_settings(void)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		struct connection connection = connect_by(&settings[i]);

		is_uint(sockdiag__other_end(&connection.raw), wanted(&connection), "%s",
			settings[i].what);
		disconnect(&connection);
		is_uint(sockdiag__other_end(&connection.raw), 0, "%s: closed", settings[i].what);
	}
}

static void test_unix(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	is_uint(sockdiag__unix_peer(inode_of(pair[0])), inode_of(pair[1]), "a pair");
	close(pair[1]);
	is_uint(sockdiag__unix_peer(inode_of(pair[0])), 0, "a socket whose other end was closed");
	close(pair[0]);
}

struct shared {
	struct connection connection;
	uint64_t want;
	bool ready;
};

static void connect_elsewhere(void *arg)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct shared *shared = arg;

	if (unshare(CLONE_NEWNET) || ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &request))
		return;
	shared->connection = connect_by(&settings[0]);
	shared->want = wanted(&shared->connection);
	shared->ready = true;
}

static void test_other_net(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = child__start(connect_elsewhere, shared);

	if (!shared->ready) {
		skip(2, "no network namespace of our own");
	} else {
		is_uint(sockdiag__other_end(&shared->connection.raw), 0,
			"the kernel here does not know another namespace's");
		is_uint(socketpeer__inode("/proc", child, &shared->connection.raw), shared->want,
			"its process's tables have it");
	}
	child__end(child);
	munmap(shared, sizeof(*shared));
}

int main(void)
{
	if (!sock_diag__has_all())
		skip_all(
			"this kernel lacks the modules that report sockets (inet_diag, unix_diag …)");
	test_settings();
	test_unix();
	test_other_net();
	return tap__done();
}
