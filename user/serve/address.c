/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG 512
#define UNIX	"unix:"

static int refuse(const char *text, struct err *err)
{
	return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
			     "--listen '%.80s': give a loopback address with its port, such as "
			     "127.0.0.1:7390 or [::1]:7390, or unix:PATH",
			     text);
}

static int refuse_network(const char *text, struct err *err)
{
	return err__set_exit(
		err, JANK_EXIT_USAGE, EINVAL,
		"--listen '%.80s': only loopback addresses (127.0.0.0/8, [::1]): records "
		"would cross the network unencrypted; from another machine use ssh -L",
		text);
}

static int parse_unix(const char *text, struct address *ret, struct err *err)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&ret->sa;
	const char *path = text + strlen(UNIX);

	if (!*path || strlen(path) >= sizeof(un->sun_path))
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				     "--listen '%.80s': a socket's path has 1 to %zu bytes", text,
				     sizeof(un->sun_path) - 1);
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, path, strlen(path) + 1);
	ret->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
	return 0;
}

/* Splits "HOST:PORT"; false: there is no port. */
static bool split(const char *text, char *host, size_t size, unsigned *ret_port)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	unsigned long port;
	char *end;

	if (!len || len >= size || strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return false;
	port = strtoul(colon + 1, &end, 10);
	memcpy(host, text, len);
	host[len] = '\0';
	*ret_port = (unsigned)port;
	return colon[1] && port <= 65535;
}

int address__parse(const char *text, struct address *ret, struct err *err)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ret->sa;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret->sa;
	char host[INET6_ADDRSTRLEN + 2];
	size_t len;

	*ret = (struct address){ .text = text };
	if (!strncmp(text, UNIX, strlen(UNIX)))
		return parse_unix(text, ret, err);
	if (!split(text, host, sizeof(host), &ret->port))
		return refuse(text, err);
	len = strlen(host);
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)ret->port);
		ret->len = sizeof(*in);
		return ntohl(in->sin_addr.s_addr) >> 24 == 127 ? 0 : refuse_network(text, err);
	}
	if (host[0] != '[' || host[len - 1] != ']')
		return refuse(text, err);
	host[len - 1] = '\0';
	if (inet_pton(AF_INET6, host + 1, &in6->sin6_addr) != 1)
		return refuse(text, err);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons((uint16_t)ret->port);
	ret->len = sizeof(*in6);
	return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ? 0 : refuse_network(text, err);
}

/* A socket of a server that was killed refuses connections. */
static int remove_stale(const struct address *address)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)&address->sa;
	int fd, res;
	struct stat st;

	if (lstat(un->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	res = connect(fd, (const struct sockaddr *)&address->sa, address->len) ? -errno : 0;
	close(fd);
	if (res != -ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(un->sun_path) ? -errno : 0;
}

static int bind_unix(const struct address *address, int fd)
{
	mode_t mask;
	int res = remove_stale(address);

	if (res)
		return res;
	mask = umask(0177);
	res = bind(fd, (const struct sockaddr *)&address->sa, address->len) ? -errno : 0;
	umask(mask);
	return res;
}

static int bind_port(struct address *address, int fd)
{
	const int one = 1;

	/* Not to wait for connections of an earlier run; a second server is still refused. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&address->sa, address->len))
		return -errno;
	if (getsockname(fd, (struct sockaddr *)&address->sa, &address->len))
		return -errno;
	/* The port is at the same place in both families. */
	address->port = ntohs(((struct sockaddr_in *)&address->sa)->sin_port);
	return 0;
}

static int explain(const struct address *address, int code, struct err *err)
{
	if (code == -EADDRINUSE)
		return err__set(err, -code,
				"--listen '%s': in use, perhaps by another `jankbpf serve`: give "
				"another one, or end that one",
				address->text);
	if (code == -EEXIST)
		return err__set(err, -code,
				"--listen '%s': something else has this name: remove it, or choose "
				"another path",
				address->text);
	return err__set(err, -code, "--listen '%s': %s: choose another one", address->text,
			strerror(-code));
}

int address__listen(struct address *address, struct err *err)
{
	int family = address->sa.ss_family, res;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return explain(address, -errno, err);
	res = family == AF_UNIX ? bind_unix(address, fd) : bind_port(address, fd);
	if (!res && listen(fd, BACKLOG))
		res = -errno;
	if (!res)
		return fd;
	close(fd);
	return explain(address, res, err);
}

void address__remove(const struct address *address)
{
	if (address->sa.ss_family == AF_UNIX)
		unlink(((const struct sockaddr_un *)&address->sa)->sun_path);
}
