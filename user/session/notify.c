/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"

/* A path, or @ and a name of the abstract name space. Returns its size, or -errno. */
static int address_of(const char *name, struct sockaddr_un *ret)
{
	size_t len = strlen(name);

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if ((*name != '/' && *name != '@') || len < 2)
		return -EINVAL;
	if (len >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret->sun_path, name, len);
	if (*name == '@')
		ret->sun_path[0] = '\0';
	return (int)(offsetof(struct sockaddr_un, sun_path) + len + (*name == '/'));
}

/* Ours alone: a parent may have had the variables for itself. */
static uint64_t watchdog_ns(void)
{
	const char *pid = getenv("WATCHDOG_PID"), *usec = getenv("WATCHDOG_USEC");
	char *end;
	unsigned long long us;

	if (!usec || (pid && strtoul(pid, NULL, 10) != (unsigned long)getpid()))
		return 0;
	us = strtoull(usec, &end, 10);
	return *end || us > UINT64_MAX / NS_PER_US ? 0 : us * NS_PER_US;
}

static int connect_to(const char *name)
{
	struct sockaddr_un address;
	int size = address_of(name, &address), sock, res;

	if (size < 0)
		return size;
	sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	if (!connect(sock, (struct sockaddr *)&address, (socklen_t)size))
		return sock;
	res = -errno;
	close(sock);
	return res;
}

int notify__open(struct notify *notify)
{
	const char *name = getenv("NOTIFY_SOCKET");
	int sock = name && *name ? connect_to(name) : -1;

	*notify = (struct notify){ .sock = sock < 0 ? -1 : sock };
	if (sock >= 0)
		notify->watchdog_ns = watchdog_ns();
	sock = name && *name && sock < 0 ? sock : 0;
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
	return sock;
}

void notify__close(struct notify *notify)
{
	if (notify->sock >= 0)
		close(notify->sock);
	notify->sock = -1;
}

void notify__send(const struct notify *notify, const char *fmt, ...)
{
	struct strbuf sb = STRBUF_INIT;
	va_list ap;

	if (notify->sock < 0)
		return;
	va_start(ap, fmt);
	strbuf__vaddf(&sb, fmt, ap);
	va_end(ap);
	if (!sb.failed && send(notify->sock, sb.data, sb.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		/* The manager is gone or slow: the next message says the same. */
	}
	strbuf__free(&sb);
}
