/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/send.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define BLANKS " \t"

int target__choose(const char *const *urls, size_t url_cnt, const char *agent, struct target *ret)
{
	const char *at = urls[XXH64(agent, strlen(agent), 0) % url_cnt];

	*ret = (struct target){};
	for (at += strspn(at, BLANKS); *at && ret->cnt < REPLICAS_MAX; at += strspn(at, BLANKS)) {
		size_t len = strcspn(at, BLANKS), used = len;

		while (used && at[used - 1] == '/')
			used--;
		ret->urls[ret->cnt] = strndup(at, used);
		if (!ret->urls[ret->cnt]) {
			target__free(ret);
			return -ENOMEM;
		}
		ret->cnt++;
		at += len;
	}
	return 0;
}

void target__free(struct target *target)
{
	while (target->cnt)
		free(target->urls[--target->cnt]);
}
