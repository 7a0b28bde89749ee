/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "procfs/network.h"

#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "files/file.h"

#define ROUTES_MAX (64 << 10) /* bytes of a table; the kernel lists a default route early */
#define FACT_MAX   4096

/* Of linux/if_arp.h and linux/ipv6_route.h. */
#define TYPE_ETHER   1
#define TYPE_PPP     512
#define TYPE_RAWIP   519 /* Qualcomm's modems */
#define ROUTE_UP     1u
#define ROUTE_REJECT 0x200u

struct route {
	char name[IF_NAMESIZE]; /* "": none */
	unsigned metric;
};

static void offer(struct route *best, const char *name, unsigned metric)
{
	if (best->name[0] && best->metric <= metric)
		return;
	snprintf(best->name, sizeof(best->name), "%s", name);
	best->metric = metric;
}

static void parse_v4(const char *line, struct route *best)
{
	unsigned to, flags, metric, mask;
	char name[IF_NAMESIZE];

	if (sscanf(line, "%15s %x %*x %x %*d %*d %u %x", name, &to, &flags, &metric, &mask) == 5 &&
	    !to && !mask && flags & ROUTE_UP && !(flags & ROUTE_REJECT))
		offer(best, name, metric);
}

static void parse_v6(const char *line, struct route *best)
{
	unsigned len, flags, metric;
	char name[IF_NAMESIZE];

	if (sscanf(line, "%*32[0-9a-f] %x %*s %*s %*s %x %*x %*x %x %15s", &len, &metric, &flags,
		   name) == 4 &&
	    !len && flags & ROUTE_UP && !(flags & ROUTE_REJECT) && strcmp(name, "lo") != 0)
		offer(best, name, metric);
}

/* False: the table cannot be read. */
static bool find(const char *proc, const char *table,
		 void (*parse)(const char *line, struct route *), struct route *best)
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX];
	int res;

	snprintf(path, sizeof(path), "%s/net/%s", proc, table);
	res = file__read(path, ROUTES_MAX, &sb);
	for (const char *line = strbuf__str(&sb); line; line = strchr(line, '\n')) {
		line += *line == '\n';
		parse(line, best);
	}
	strbuf__free(&sb);
	return !res || res == -EFBIG;
}

static bool read_fact(const char *sys, const char *name, const char *fact, struct strbuf *ret)
{
	char path[PATH_MAX];

	strbuf__reset(ret);
	snprintf(path, sizeof(path), "%s/class/net/%s/%s", sys, name, fact);
	return !file__read(path, FACT_MAX, ret);
}

static bool is_wireless(const char *sys, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/net/%s/wireless", sys, name);
	return !access(path, F_OK);
}

static const char *type_of(const char *sys, const char *name)
{
	struct strbuf sb = STRBUF_INIT;
	const char *ret = NULL;
	unsigned type = 0;

	if (read_fact(sys, name, "uevent", &sb))
		ret = strstr(strbuf__str(&sb), "DEVTYPE=wlan")	 ? "wifi"
		      : strstr(strbuf__str(&sb), "DEVTYPE=wwan") ? "mobile"
								 : NULL;
	if (!ret && is_wireless(sys, name))
		ret = "wifi";
	if (!ret && read_fact(sys, name, "type", &sb) && sscanf(strbuf__str(&sb), "%u", &type) == 1)
		ret = type == TYPE_ETHER		       ? "ethernet"
		      : type == TYPE_PPP || type == TYPE_RAWIP ? "mobile"
							       : "other";
	strbuf__free(&sb);
	return ret;
}

const char *network__type(const char *proc, const char *sys)
{
	struct route best = {};
	bool read = find(proc, "route", parse_v4, &best);

	if (!best.name[0])
		read |= find(proc, "ipv6_route", parse_v6, &best);
	if (!best.name[0])
		return read ? "none" : NULL;
	return strchr(best.name, '/') ? NULL : type_of(sys, best.name);
}
