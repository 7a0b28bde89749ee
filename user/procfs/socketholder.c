/* SPDX-License-Identifier: GPL-2.0 */
/* What was found is kept for a second. */
#include "procfs/socketholder.h"

#include <stdio.h>

#include "base/clock.h"
#include "procfs/fdscan.h"

#define KEPT_CNT 16
#define KEPT_NS	 NS_PER_SEC

static struct {
	uint64_t inode, until_ns;
	pid_t pid;
} kept[KEPT_CNT];
static unsigned next_kept;

static bool is_socket(void *ctx, pid_t pid, const char *fd, const char *link)
{
	const uint64_t *inode = ctx;
	unsigned long long number;

	(void)pid;
	(void)fd;
	return sscanf(link, "socket:[%llu]", &number) == 1 && number == *inode;
}

static pid_t find(const char *proc, uint64_t inode, pid_t hint, pid_t not_pid)
{
	pid_t pid;

	if (hint != not_pid && fdscan__has(proc, hint, is_socket, &inode))
		return hint;
	pid = fdscan__find(proc, not_pid, is_socket, &inode);
	return pid ? pid : fdscan__has(proc, not_pid, is_socket, &inode) ? not_pid : 0;
}

pid_t socketholder__find(const char *proc, uint64_t inode, pid_t hint, pid_t not_pid,
			 uint64_t now_ns)
{
	unsigned at = next_kept;

	for (unsigned i = 0; i < KEPT_CNT; i++)
		if (kept[i].inode == inode && now_ns < kept[i].until_ns)
			return kept[i].pid;
	next_kept = (at + 1) % KEPT_CNT;
	kept[at].inode = inode;
	kept[at].pid = find(proc, inode, hint, not_pid);
	kept[at].until_ns = now_ns + KEPT_NS;
	return kept[at].pid;
}
