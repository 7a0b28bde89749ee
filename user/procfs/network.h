/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How this machine reaches its network: for BlockCanary's key `network`. */
#ifndef JANK_PROCFS_NETWORK_H
#define JANK_PROCFS_NETWORK_H

/*
 * The kind of the interface with the default route (IPv4, else IPv6; the lowest metric), in our
 * network namespace: "wifi", "ethernet", "mobile", "other" (a tunnel), or "none" without such a
 * route. Reads at most four files: some 40 µs. proc, sys: "/proc", "/sys". Static storage; NULL:
 * not known. Any thread.
 */
const char *network__type(const char *proc, const char *sys);

#endif
