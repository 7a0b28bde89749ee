/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "files/lone_uid.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "base/strbuf.h"
#include "files/file.h"
#include "files/user_account.h"

#define MAP_MAX	  (64u << 10)
#define TRIES_MAX 64

/*
 * Numbers that nobody assigns: above those of systemd's containers, and of the directory services
 * that sssd maps; below those of foreign images (systemd's docs/UIDS-GIDS.md).
 */
static const struct uid_range unassigned = { 2010000000, 2147000000 };

/* Of a container: ids of its users and services, which are below, are few. */
#define CONTAINER_FIRST 20000
#define CONTAINER_LAST	60000

static struct uid_range common(struct uid_range a, struct uid_range b)
{
	return (struct uid_range){ a.first > b.first ? a.first : b.first,
				   a.last < b.last ? a.last : b.last };
}

struct uid_range lone_uid__range(const char *map)
{
	static const struct uid_range container = { CONTAINER_FIRST, CONTAINER_LAST };
	struct uid_range best = { 1, 0 };
	uid_t first, cnt;

	for (; sscanf(map, "%u %*u %u", &first, &cnt) == 2; map += strcspn(map, "\n") + 1) {
		const struct uid_range mapped = { first, first + cnt - 1 };
		struct uid_range range = common(unassigned, mapped);

		if (range.first > range.last)
			range = common(container, mapped);
		if (cnt && range.first <= range.last && best.last < range.last)
			best = range;
		if (!strchr(map, '\n'))
			break;
	}
	return best;
}

static bool has_process(uid_t uid)
{
	errno = 0;
	return getpriority(PRIO_USER, uid) != -1 || errno != ESRCH;
}

static bool has_account(uid_t uid)
{
	struct user_account account;
	char number[16];
	int res;

	snprintf(number, sizeof(number), "%u", uid);
	res = user_account__find(number, &account);
	if (!res)
		user_account__free(&account);
	return res != -ENOENT;
}

uid_t lone_uid__find(void)
{
	struct strbuf map = STRBUF_INIT;
	struct uid_range range = { 1, 0 };
	uid_t ret = UID_NOBODY;

	if (!file__read("/proc/self/uid_map", MAP_MAX, &map))
		range = lone_uid__range(strbuf__str(&map));
	strbuf__free(&map);
	for (int i = 0; i < TRIES_MAX && range.first <= range.last; i++) {
		uid_t drawn;

		if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
			break;
		drawn = range.first + drawn % (range.last - range.first + 1);
		if (has_process(drawn) || has_account(drawn))
			continue;
		ret = drawn;
		break;
	}
	return ret;
}
