/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deletes old days, and months of stacks: ClickHouse 18.16 has no TTL. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "fleet/fleet.h"

#define DAYS_MAX 100000u
#define ZONE_S	 (12 * 3600) /* the most that a zone is behind UTC */

struct old_day {
	char *table, *partition;
	uint64_t row_cnt, size;
};

struct old_days {
	struct old_day *list;
	size_t cnt;
	uint64_t before_s;
};

/*
 * When the day "20260131" or the month "202601" has ended in every zone, in s: a partition is a day
 * in the zone of its server. 0: the partition is neither.
 */
static uint64_t end_of(const char *partition)
{
	bool is_day = strlen(partition) == 8;
	struct tm tm = { .tm_mday = 1 };
	const char *end;

	if ((!is_day && strlen(partition) != 6) ||
	    strspn(partition, "0123456789") != strlen(partition))
		return 0;
	end = strptime(partition, is_day ? "%Y%m%d" : "%Y%m", &tm);
	if (!end || *end)
		return 0;
	if (is_day)
		tm.tm_mday++;
	else
		tm.tm_mon++;
	return (uint64_t)timegm(&tm) + ZONE_S;
}

/* A name that needs no quotes in SQL. */
static bool is_name(const char *text)
{
	return *text && strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789") == strlen(text);
}

static int take_partition(void *ctx, const json_t *row, struct err *err)
{
	struct old_days *days = ctx;
	const char *partition = row__str(row, "partition");
	uint64_t end_s = end_of(partition);
	struct old_day *day;

	if (!end_s || end_s > days->before_s || !is_name(row__str(row, "table")) ||
	    days->cnt == DAYS_MAX)
		return 0;
	day = reallocarray(days->list, days->cnt + 1, sizeof(*day));
	if (!day)
		return err__set(err, ENOMEM, "out of memory");
	days->list = day;
	day += days->cnt++;
	*day = (struct old_day){ strdup(row__str(row, "table")), strdup(partition),
				 row__u64(row, "rows"), row__u64(row, "bytes") };
	return day->table && day->partition ? 0 : err__set(err, ENOMEM, "out of memory");
}

static int drop_day(struct fleet *fleet, const char *cluster, const struct old_day *day,
		    struct strbuf *ret, struct err *err)
{
	const struct fleet_value values[] = {
		{ .name = "table", .raw = day->table },
		{ .name = "cluster", .text = cluster },
		{ .name = "partition", .raw = day->partition },
	};
	int res = fleet__ask(fleet, "drop", values, sizeof(values) / sizeof(*values), NULL, NULL,
			     err);

	if (res && res != -ETIMEDOUT)
		return res;
	if (res && err)
		err->msg[0] = '\0';
	strbuf__addf(ret, "%s %s: %llu rows, %.1f MB%s\n", day->table, day->partition,
		     (unsigned long long)day->row_cnt, (double)day->size / 1e6,
		     res ? "; queued for servers that are away or slow" : "");
	return 0;
}

/*
 * In which a server answers before the request is over, in s. Servers that are away delete later:
 * the statement is queued for them.
 */
static unsigned ddl_timeout_of(const struct fleet *fleet)
{
	uint64_t timeout_ns = fleet->settings.timeout_ns ?: HTTP_TIMEOUT_NS;

	return (unsigned)(timeout_ns / 2 / NS_PER_SEC) ?: 1;
}

int fleet__drop(struct fleet *fleet, const char *cluster, uint64_t before_s, struct strbuf *ret,
		struct err *err)
{
	const struct fleet_value values[] = { { .name = "cluster", .text = cluster },
					      { .name = "database", .text = fleet->database } };
	struct old_days days = { .before_s = before_s };
	int res;

	fleet->ddl_timeout_s = ddl_timeout_of(fleet);
	res = fleet__ask(fleet, "partitions", values, 2, take_partition, &days, err);
	for (size_t i = 0; i < days.cnt && !res; i++)
		res = drop_day(fleet, cluster, &days.list[i], ret, err);
	if (!res && !days.cnt)
		strbuf__adds(ret, "no day is that old\n");
	for (size_t i = 0; i < days.cnt; i++) {
		free(days.list[i].table);
		free(days.list[i].partition);
	}
	free(days.list);
	return !res && ret->failed ? err__set(err, ENOMEM, "out of memory") : res;
}
