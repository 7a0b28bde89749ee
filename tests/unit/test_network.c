/* SPDX-License-Identifier: GPL-2.0 */
/* The kind of the default route's interface (user/procfs/network.c), from made-up files. */
#include <stdio.h>

#include "procfs/network.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define HEAD "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
#define LAN  "eth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
#define V6   "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "

static const char *type_with(const char *routes, const char *routes6)
{
	char proc[256], sys[256];

	scratch__write_text("proc/net/route", routes);
	scratch__write_text("proc/net/ipv6_route", routes6);
	snprintf(proc, sizeof(proc), "%s", scratch__path("proc"));
	snprintf(sys, sizeof(sys), "%s", scratch__path("sys"));
	return network__type(proc, sys);
}

static void interface(const char *name, const char *uevent, const char *type, const char *extra)
{
	char path[256];

	snprintf(path, sizeof(path), "mkdir -p %s/%s/%s", scratch__path("sys/class/net"), name,
		 extra);
	if (system(path))
		abort();
	snprintf(path, sizeof(path), "sys/class/net/%s/uevent", name);
	scratch__write_text(path, uevent);
	snprintf(path, sizeof(path), "sys/class/net/%s/type", name);
	scratch__write_text(path, type);
}

int main(void)
{
	scratch__init();
	scratch__dirs(scratch__path("proc/net"));
	interface("eth0", "INTERFACE=eth0\n", "1\n", "power");
	interface("wlan0", "DEVTYPE=wlan\nINTERFACE=wlan0\n", "1\n", "power");
	interface("old0", "INTERFACE=old0\n", "1\n", "wireless");
	interface("wwan0", "DEVTYPE=wwan\n", "65534\n", "power");
	interface("rmnet0", "", "519\n", "power");
	interface("tun0", "", "65534\n", "power");
	is_str(type_with(HEAD LAN, ""), "none", "a network without a default route");
	is_str(type_with(HEAD LAN "eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n", ""),
	       "ethernet", "a wire");
	is_str(type_with(HEAD "wlan0 00000000 010200C0 0003 0 0 600 00000000 0 0 0\n"
			      "eth0 00000000 010200C0 0003 0 0 700 00000000 0 0 0\n",
			 ""),
	       "wifi", "the lower metric counts");
	is_str(type_with(HEAD "old0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n", ""), "wifi",
	       "an older driver's directory");
	is_str(type_with(HEAD "wwan0 00000000 00000000 0001 0 0 0 00000000 0 0 0\n", ""), "mobile",
	       "a modem");
	is_str(type_with(HEAD "rmnet0 00000000 00000000 0001 0 0 0 00000000 0 0 0\n", ""), "mobile",
	       "a phone's");
	is_str(type_with(HEAD "tun0 00000000 00000000 0001 0 0 0 00000000 0 0 0\n", ""), "other",
	       "a tunnel");
	is_str(type_with(HEAD, V6 "fe800000000000000000000000000001 00000400 1 0 00000003 eth0\n"),
	       "ethernet", "by IPv6 only");
	is_str(type_with(HEAD, V6 "00000000000000000000000000000000 ffffffff 1 0 00200200 lo\n"),
	       "none", "its reject route is none");
	ok(!type_with(HEAD "../../x 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n", ""),
	   "a name with a slash is refused");
	ok(!network__type("/nonexistent", "/sys"), "without the tables it is not known");
	return tap__done();
}
