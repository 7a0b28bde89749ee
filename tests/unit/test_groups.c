/* SPDX-License-Identifier: GPL-2.0 */
#include <stdint.h>
#include <string.h>

#include "base/groups.h"
#include "tests/tap.h"

struct entry {
	struct group_node node;
	uint64_t cnt;
	char *owned;
};

static unsigned cleared;

static void clear(void *at)
{
	struct entry *entry = at;

	free(entry->owned);
	cleared++;
}

/* Keys are copied, and the order is that of their first use. */
static void test_order(void)
{
	static const char *const words[] = { "b", "a", "", "b", "c", "a", "b" };
	struct groups groups;
	struct entry *entry;
	char seen[16] = "", key[8];

	groups__init(&groups, sizeof(struct entry), 10, NULL);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		strcpy(key, words[i]);
		entry = groups__get_text(&groups, key);
		entry->cnt++;
		memset(key, 'x', sizeof(key));
	}
	GROUPS_EACH(&groups, entry)
	{
		strcat(seen, group__key(entry));
		strcat(seen, ",");
	}
	is_str(seen, "b,a,,c,", "order of the first use");
	is_uint(((struct entry *)groups__find_text(&groups, "b"))->cnt, 3, "one group a key");
	ok(!groups__find_text(&groups, "d"), "none of an unknown key");
	is_uint(groups__cnt(&groups), 4, "a search adds none");
	groups__free(&groups);
	is_uint(groups__cnt(&groups), 0, "empty");
}

static void test_bound(void)
{
	const struct {
		uint32_t pid, loop;
	} keys[] = { { 1, 2 }, { 1, 3 }, { 2, 2 } }, rest = { 0, 2 };
	struct groups groups;
	struct entry *entry, *next;

	groups__init(&groups, sizeof(struct entry), 2, clear);
	for (size_t i = 0; i < 2; i++) {
		entry = groups__get(&groups, &keys[i], sizeof(keys[i]));
		entry->owned = strdup("text");
	}
	ok(groups__is_full(&groups), "full");
	ok(!groups__get(&groups, &keys[2], sizeof(keys[2])), "no room for a third key");
	ok(groups__get(&groups, &keys[1], sizeof(keys[1])) == entry, "a known one is found");
	ok(groups__get_rest(&groups, &rest, sizeof(rest)), "but for the rest");
	is_uint(groups__cnt(&groups), 3, "beside the others");
	groups__drop(&groups, groups.first);
	is_uint(cleared, 1, "a dropped group frees what it owns");
	ok(!groups__find(&groups, &keys[0], sizeof(keys[0])), "and is not found");
	GROUPS_EACH_SAFE(&groups, entry, next)
	groups__drop(&groups, entry);
	is_uint(cleared, 3, "all are dropped on the way");
	groups__free(&groups);
}

int main(void)
{
	test_order();
	test_bound();
	return tap__done();
}
