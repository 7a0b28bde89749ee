/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list, and its sentences: one for each group with the same reason and name. */
#include "model/unwatched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"

#define PIDS_SHOWN  3
#define NAMES_SHOWN 4

#define UNWATCHED_X_WORD(NAME, word) [UNWATCHED_##NAME] = word,
static const char *const words[] = { UNWATCHED_REASONS(UNWATCHED_X_WORD) };
#undef UNWATCHED_X_WORD

const char *unwatched__word(enum unwatched_reason reason)
{
	return words[reason];
}

bool unwatched__reason(const char *word, enum unwatched_reason *ret)
{
	for (int i = 0; word && i < UNWATCHED_REASON_CNT; i++) {
		if (strcmp(words[i], word))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

int unwatched__add(struct unwatched_list *list, const struct unwatched *item)
{
	struct unwatched *items;

	if (list->cnt >= UNWATCHED_MAX) {
		list->more_cnt++;
		return 0;
	}
	items = reallocarray(list->items, list->cnt + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	list->items = items;
	items[list->cnt++] = *item;
	return 0;
}

int unwatched__add_record(struct unwatched_list *list, const Jankbpf__NotWatched *record)
{
	struct unwatched item = {
		.pid = record->pid,
		.tid = record->tid,
		.late_ns = record->late_ns,
		.from_ns = record->from_ns,
		.until_ns = record->until_ns ? record->until_ns : record->late_ns,
	};

	if (!unwatched__reason(record->reason, &item.reason))
		return -EINVAL;
	snprintf(item.comm, sizeof(item.comm), "%s", record->comm ? record->comm : "?");
	snprintf(item.waits_in, sizeof(item.waits_in), "%s",
		 record->waits_in ? record->waits_in : "");
	item.waits_ns = record->waits_ns;
	snprintf(item.waits_at, sizeof(item.waits_at), "%s",
		 record->waits_at ? record->waits_at : "");
	snprintf(item.loop, sizeof(item.loop), "%s", record->loop ? record->loop : "");
	snprintf(item.thread, sizeof(item.thread), "%s", record->thread ? record->thread : "");
	snprintf(item.function, sizeof(item.function), "%s",
		 record->function ? record->function : "");
	item.handler_cnt = record->handlers;
	item.handler_ns = record->handlers_ns;
	item.pool_cnt = record->pool_threads;
	item.busy_cnt = record->pool_busy;
	item.busy_ns = record->pool_busy_ns;
	item.busy_times = record->pool_times;
	return unwatched__add(list, &item);
}

void unwatched__drop(struct unwatched_list *list, uint32_t pid)
{
	size_t cnt = 0;

	for (size_t i = 0; i < list->cnt; i++)
		if (list->items[i].pid != pid)
			list->items[cnt++] = list->items[i];
	list->cnt = cnt;
}

void unwatched__free(struct unwatched_list *list)
{
	free(list->items);
	*list = (struct unwatched_list){};
}

/* --- Sentences */

static int by_group(const void *a, const void *b)
{
	const struct unwatched *x = a, *y = b;
	int res = (int)x->reason - (int)y->reason;

	if (!res)
		res = strcmp(x->comm, y->comm);
	if (!res)
		res = strcmp(x->thread, y->thread);
	if (!res)
		res = !x->until_ns - !y->until_ns;
	return res ? res : (x->pid > y->pid) - (x->pid < y->pid);
}

static bool is_alike(const struct unwatched *a, const struct unwatched *b)
{
	return a->reason == b->reason && !a->until_ns == !b->until_ns;
}

static size_t name_size(const struct unwatched *first, size_t left)
{
	size_t cnt = 1;

	while (cnt < left && first->reason != UNWATCHED_POOL && is_alike(&first[cnt], first) &&
	       !strcmp(first[cnt].comm, first->comm) && !strcmp(first[cnt].thread, first->thread))
		cnt++;
	return cnt;
}

/* An idle desktop has many of these; a line for each name would hide the others. */
static bool is_one_line(enum unwatched_reason reason)
{
	return reason == UNWATCHED_FEW_TURNS || reason == UNWATCHED_CHILD;
}

static size_t group_size(const struct unwatched *first, size_t left)
{
	size_t cnt = 1;

	if (!is_one_line(first->reason))
		return name_size(first, left);
	while (cnt < left && is_alike(&first[cnt], first))
		cnt++;
	return cnt;
}

/* "bash (pid 7)", "bash (pids 7, 8, 9 and 4 more)" */
static void add_name(struct strbuf *sb, const struct unwatched *group, size_t cnt)
{
	size_t pids = 1, shown = 0;

	for (size_t i = 1; i < cnt; i++) /* a process has an entry for each function (NESTED) */
		pids += group[i].pid != group[i - 1].pid;
	strbuf__addf(sb, "%s (pid%s ", group->comm, pids > 1 ? "s" : "");
	for (size_t i = 0; i < cnt && shown < PIDS_SHOWN; i++)
		if (!i || group[i].pid != group[i - 1].pid)
			strbuf__addf(sb, "%s%u", shown++ ? ", " : "", group[i].pid);
	if (pids > PIDS_SHOWN)
		strbuf__addf(sb, " and %zu more", pids - PIDS_SHOWN);
	strbuf__addc(sb, ')');
}

/* "bash (pid 7), cat (pids 8, 9) and 3 more" */
static void add_processes(struct strbuf *sb, const struct unwatched *group, size_t cnt)
{
	size_t names = 0;

	for (size_t i = 0, size; i < cnt; i += size) {
		size = name_size(&group[i], cnt - i);
		if (names++ == NAMES_SHOWN) {
			strbuf__addf(sb, " and %zu more", cnt - i);
			return;
		}
		strbuf__adds(sb, i ? ", " : "");
		add_name(sb, &group[i], size);
	}
}

/* The system call in which all of them wait, or NULL. */
static const char *shared_wait(const struct unwatched *group, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++)
		if (strcmp(group[i].waits_in, group->waits_in))
			return NULL;
	return group->waits_in[0] ? group->waits_in : NULL;
}

static uint64_t latest_ns(const struct unwatched *group, size_t cnt)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < cnt; i++)
		if (group[i].until_ns > ret)
			ret = group[i].until_ns;
	return ret;
}

/* Its loop began to be known within the run. */
static void add_late(struct strbuf *sb, const struct unwatched *group, size_t cnt)
{
	if (group->thread[0])
		strbuf__addf(sb, "the loop%s of thread '%s' %s known only ", cnt > 1 ? "s" : "",
			     group->thread, cnt > 1 ? "were" : "was");
	else
		strbuf__adds(sb,
			     cnt > 1 ? "their loops were known only " : "its loop was known only ");
	strbuf__adds(sb, cnt > 1 ? "up to " : "");
	clock__add_duration(sb, latest_ns(group, cnt));
	strbuf__adds(sb, " after the start; earlier stalls may be missing");
}

/* The part of the run in which it held, if not all of it. */
static void add_times(struct strbuf *sb, const struct unwatched *group, size_t cnt)
{
	if (group->reason == UNWATCHED_LATE)
		return;
	if (group->until_ns) {
		strbuf__adds(sb, "up to ");
		clock__add_duration(sb, latest_ns(group, cnt));
		strbuf__adds(sb, " after the start: ");
	} else if (group->from_ns && cnt == 1) {
		strbuf__adds(sb, "from ");
		clock__add_duration(sb, group->from_ns);
		strbuf__adds(sb, " after the start on: ");
	}
}

/* Sentences without a number or name. */
static const char *const whole[UNWATCHED_REASON_CNT] = {
	[UNWATCHED_ZOMBIE] = "ended, but the parent has not waited for it",
	[UNWATCHED_BITS_32] = "32-bit, and the probes for such programs are not attached; see "
			      "`jankbpf doctor`",
	[UNWATCHED_OVERRIDE] = "an [override] of the configuration has watch = no",
	[UNWATCHED_BUDGET] = "watching would exceed the budget; give cpu in [limits] more",
};

/* "2 handlers ran the loop within, as a dialog does, for 20.4 s in gtk_dialog_run; …" */
static void add_nested(struct strbuf *sb, const struct unwatched *group, size_t cnt)
{
	uint64_t handlers = 0, ns = 0;

	for (size_t i = 0; i < cnt; i++) {
		handlers += group[i].handler_cnt;
		ns += group[i].handler_ns;
	}
	strbuf__addf(sb, "%llu handler%s ran the loop within, as a dialog does, for ",
		     (unsigned long long)handlers, handlers == 1 ? "" : "s");
	clock__add_duration(sb, ns);
	for (size_t i = 0, shown = 0; i < cnt && shown < NAMES_SHOWN; i++)
		if (group[i].function[0])
			strbuf__addf(sb, "%s%s", shown++ ? ", " : " in ", group[i].function);
	strbuf__adds(sb, "; a handler's own time is not reported then");
}

/* "4 of 4 pool threads were in openat for at least 2.00 s: ..., which no block shows" */
static void add_pool(struct strbuf *sb, const struct unwatched *item)
{
	bool all = item->busy_cnt == item->pool_cnt;

	strbuf__addf(sb, "%u of %u pool threads were %s%s for at least ", item->busy_cnt,
		     item->pool_cnt, item->waits_in[0] ? "in " : "at work", item->waits_in);
	clock__add_duration(sb, item->busy_ns);
	if (item->busy_times > 1)
		strbuf__addf(sb, ", and %llu other time%s for less",
			     (unsigned long long)(item->busy_times - 1),
			     item->busy_times > 2 ? "s" : "");
	strbuf__adds(
		sb,
		all ? ": other work of fs, dns, crypto and zlib waits then, which no block shows"
		    : ", as many as lookups may have: others waited, which no block shows");
}

static void add_too_many(struct strbuf *sb, const char *possessive, size_t cnt)
{
	strbuf__addf(sb,
		     "%s main thread%s; -a watches so many at once and no more: narrow it by -c, "
		     "-g or -u",
		     possessive, cnt > 1 ? "s are too many" : " is one too many");
}

static void add_wait(struct strbuf *sb, const char *possessive, const struct unwatched *group,
		     size_t cnt)
{
	bool known = cnt == 1 && group->waits_ns;

	strbuf__addf(sb, "; %s main thread %s in %s", possessive, known ? "has waited" : "waits",
		     group->waits_in);
	if (!known)
		return;
	strbuf__adds(sb, " for ");
	clock__add_duration(sb, group->waits_ns);
	if (group->waits_at[0])
		strbuf__addf(sb, ": %s", group->waits_at);
}

static void add_why(struct strbuf *sb, const struct unwatched *group, size_t cnt)
{
	const char *wait = shared_wait(group, cnt), *possessive = cnt > 1 ? "their" : "its";

	switch (group->reason) {
	case UNWATCHED_NO_LOOP:
		strbuf__adds(sb, "no loop seen");
		if (wait)
			add_wait(sb, possessive, group, cnt);
		break;
	case UNWATCHED_MAIN_THREAD:
		strbuf__addf(sb, "the main thread is in no known loop");
		if (wait)
			strbuf__addf(sb, "; it waits in %s", wait);
		break;
	case UNWATCHED_FEW_TURNS:
		strbuf__addf(sb, "%s main thread%s in %s, too seldom so far to be a loop",
			     possessive, cnt > 1 ? "s wait" : " waits",
			     wait ? wait : "poll or select");
		break;
	case UNWATCHED_LATE:
		add_late(sb, group, cnt);
		break;
	case UNWATCHED_CHILD:
		strbuf__addf(sb, "%s of a traced process; -f traces %s",
			     cnt > 1 ? "children" : "a child", cnt > 1 ? "them" : "it");
		break;
	case UNWATCHED_LOOP_OFF:
		strbuf__addf(sb, "%s loops are traced only with -l %s", possessive, group->loop);
		break;
	case UNWATCHED_WORKERS:
		strbuf__addf(sb,
			     "%s workers wait in an interpreter, for work as in handlers: that "
			     "cannot be told apart",
			     possessive);
		break;
	case UNWATCHED_ZOMBIE:
	case UNWATCHED_BITS_32:
	case UNWATCHED_OVERRIDE:
	case UNWATCHED_BUDGET:
		strbuf__adds(sb, whole[group->reason]);
		break;
	case UNWATCHED_NESTED:
		add_nested(sb, group, cnt);
		break;
	case UNWATCHED_SIGNALS:
		strbuf__addf(sb, "%s main thread%s only for signals, as a supervisor's does",
			     possessive, cnt > 1 ? "s wait" : " waits");
		break;
	case UNWATCHED_POOL:
		add_pool(sb, group);
		break;
	case UNWATCHED_TOO_MANY:
		add_too_many(sb, possessive, cnt);
		break;
	case UNWATCHED_REASON_CNT:
		break;
	}
}

static struct unwatched *sorted(const struct unwatched_list *list)
{
	struct unwatched *items = malloc(list->cnt * sizeof(*items));

	if (items) {
		memcpy(items, list->items, list->cnt * sizeof(*items));
		qsort(items, list->cnt, sizeof(*items), by_group);
	}
	return items;
}

static size_t count_groups(const struct unwatched *items, size_t cnt)
{
	size_t groups = 0;

	for (size_t i = 0; i < cnt; i += group_size(&items[i], cnt - i))
		groups++;
	return groups;
}

int unwatched__each_line(const struct unwatched_list *list, size_t max_lines,
			 void (*fn)(void *ctx, enum unwatched_reason reason, const char *line),
			 void *ctx)
{
	struct unwatched *items = list->cnt ? sorted(list) : NULL;
	struct strbuf line = STRBUF_INIT;
	size_t i = 0, lines = 0, groups;
	bool failed = list->cnt && !items;
	uint64_t left;

	groups = items ? count_groups(items, list->cnt) : 0;
	if (groups + (list->more_cnt > 0) > max_lines)
		groups = max_lines - 1;
	for (; items && lines < groups; lines++) {
		size_t cnt = group_size(&items[i], list->cnt - i);

		strbuf__reset(&line);
		add_processes(&line, &items[i], cnt);
		strbuf__adds(&line, ": ");
		add_times(&line, &items[i], cnt);
		add_why(&line, &items[i], cnt);
		fn(ctx, items[i].reason, strbuf__str(&line));
		i += cnt;
	}
	left = list->cnt - i + list->more_cnt;
	strbuf__reset(&line);
	strbuf__addf(&line, "and %llu more process%s%s", (unsigned long long)left,
		     left == 1 ? "" : "es", list->more_cnt ? "" : "; --json lists them");
	if (left && !failed)
		fn(ctx, UNWATCHED_REASON_CNT, strbuf__str(&line));
	failed |= line.failed;
	strbuf__free(&line);
	free(items);
	return failed ? -ENOMEM : 0;
}
