/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/look_order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "files/file.h"

#define TEXT_MAX 16384

int look_order__add(struct look_order *order, const struct look_order_entry *entry)
{
	size_t room = order->room ? 2 * order->room : 64;
	struct look_order_entry *entries;

	if (order->cnt == LOOK_ORDER_MAX)
		return -ENOSPC;
	if (order->cnt == order->room) {
		entries = reallocarray(order->entries, room, sizeof(*entries));
		if (!entries)
			return -ENOMEM;
		order->entries = entries;
		order->room = room;
	}
	order->entries[order->cnt++] = *entry;
	return 0;
}

static int rank(char state)
{
	return state == 'D' ? 0 : state == 'S' ? 1 : 2;
}

static int compare(const void *a, const void *b)
{
	const struct look_order_entry *x = a, *y = b;
	int res = rank(x->state) - rank(y->state);

	if (!res)
		res = (x->ran_ns > y->ran_ns) - (x->ran_ns < y->ran_ns);
	return res ? res : (x->pid > y->pid) - (x->pid < y->pid);
}

void look_order__sort(struct look_order *order)
{
	if (order->cnt)
		qsort(order->entries, order->cnt, sizeof(*order->entries), compare);
}

void look_order__free(struct look_order *order)
{
	free(order->entries);
	*order = (struct look_order){};
}

uint64_t look_order__ran_ns(uint32_t pid)
{
	static const char key[] = "\nse.exec_start";
	struct strbuf text = STRBUF_INIT;
	uint64_t ret = 0;
	const char *at;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/sched", pid);
	if (!file__read(path, TEXT_MAX, &text)) {
		at = strstr(strbuf__str(&text), key);
		at = at ? strchr(at + 1, ':') : NULL;
		ret = at ? strtoull(at + 1, NULL, 10) * NS_PER_MS : 0;
	}
	strbuf__free(&text);
	return ret;
}
