/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parser of the address of a TCP socket: numbers only, so that nothing is resolved. */
#include "options/options_table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define PORT_MAX 65535

/* Copies the host of "HOST:PORT" or "[HOST]:PORT". Returns the port's text, or NULL. */
static const char *split(const char *str, char *host, size_t size, bool *ret_v6)
{
	const char *end;
	size_t len;

	*ret_v6 = *str == '[';
	str += *ret_v6;
	end = *ret_v6 ? strstr(str, "]:") : strchr(str, ':');
	if (!end)
		return NULL;
	len = (size_t)(end - str);
	if (len >= size)
		return NULL;
	memcpy(host, str, len);
	host[len] = '\0';
	return end + (*ret_v6 ? 2 : 1);
}

static bool read_port(const char *text, in_port_t *ret)
{
	uint64_t port;

	if (parse__u64(text, "port", 0, PORT_MAX, &port, NULL))
		return false;
	*ret = htons((uint16_t)port);
	return true;
}

int parse__address(const char *str, struct sockaddr_storage *ret, socklen_t *ret_len)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	char host[INET6_ADDRSTRLEN];
	bool is_v6;
	const char *port = split(str, host, sizeof(host), &is_v6);

	memset(ret, 0, sizeof(*ret));
	if (!port || !read_port(port, is_v6 ? &v6->sin6_port : &v4->sin_port))
		return -EINVAL;
	ret->ss_family = is_v6 ? AF_INET6 : AF_INET;
	*ret_len = is_v6 ? sizeof(*v6) : sizeof(*v4);
	if (inet_pton(ret->ss_family, host, is_v6 ? (void *)&v6->sin6_addr : &v4->sin_addr) != 1)
		return -EINVAL;
	return 0;
}
