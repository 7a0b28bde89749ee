/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hash table by pid. The sink thread gets copies of the facts, never an entry. */
#include "session/process_table.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/proc.h"
#include "model/loss.h"
#include "procfs/cgroup.h"
#include "procfs/procinfo.h"

#define START_SLACK_NS (20 * NS_PER_MS) /* start times are in clock ticks */

struct process_entry *process_table__find(const struct process_table *table, uint32_t pid)
{
	struct process_entry *process;

	HASH_FIND(hh, table->entries, &pid, sizeof(pid), process);
	return process;
}

struct process_entry *process_table__add(struct process_table *table, uint32_t pid)
{
	struct process_entry *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	process->pidfd = -1;
	process->marks_off = table->marks_later;
	process->duty.on = !table->marks_later;
	HASH_ADD(hh, table->entries, pid, sizeof(pid), process);
	return process;
}

void process_table__drop(struct process_table *table, struct process_entry *process)
{
	HASH_DEL(table->entries, process);
	if (process->pidfd >= 0)
		close(process->pidfd);
	identity__free(process->identity);
	unwatched__free(&process->formerly);
	free(process);
}

void process_table__free(struct process_table *table)
{
	while (table->entries)
		process_table__drop(table, table->entries);
	free(table->pending_exits);
}

uint32_t process_table__uid(const struct process_table *table, uint32_t pid)
{
	const struct process_entry *process = process_table__find(table, pid);

	return identity__uid(process ? process->identity : NULL);
}

bool process_table__queue(struct process_table *table, struct item *item, int reason, unsigned kind)
{
	enum queue_room room;

	item->uid = process_table__uid(table, item->pid);
	room = queue__put(table->queue, item);
	if (room == QUEUE_ROOM)
		return true;
	if (room == QUEUE_OVER_SHARE) {
		over_shares__add(table->over_share, item->uid, kind, 1);
		reason = JANK_LOST_SHARE;
	}
	losses__add(table->losses, reason, 1);
	return false;
}

bool process_entry__has_ended(const struct process_entry *process)
{
	struct pollfd pfd = { .fd = process->pidfd, .events = POLLIN };

	if (process->pidfd >= 0)
		return poll(&pfd, 1, 0) > 0;
	return process->ended || !proc__exists(process->pid);
}

void process_table__saw(struct process_table *table, const struct jank_rec *hdr)
{
	struct process_entry *process = process_table__find(table, hdr->tgid);

	if (!process)
		return;
	if (!process->loop_ns)
		process->loop_ns = hdr->ts_ns;
	if (!process->main_ns && hdr->tid == hdr->tgid)
		process->main_ns = hdr->ts_ns;
}

/* --- facts of a process */

static Jankbpf__Identity *describe(const struct proc_info *info)
{
	Jankbpf__Identity identity = JANKBPF__IDENTITY__INIT;
	struct cgroup_names names = {};

	identity.has_pid = identity.has_uid = true;
	identity.pid = info->pid;
	identity.uid = info->uid;
	identity.ns_pid = info->ns_pid;
	identity.has_ns_pid = !!info->ns_pid;
	identity.name = (char *)procinfo__known_as(info);
	identity.exe = info->exe;
	identity.cgroup = info->cgroup;
	if (info->cgroup) {
		cgroup__names(info->cgroup, &names);
		identity.names_uid = cgroup__names_uid("/sys/fs/cgroup", info->cgroup, &names);
	}
	identity.has_names_uid = !!identity.names_uid;
	identity.container = *names.container ? names.container : NULL;
	identity.pod = *names.pod ? names.pod : NULL;
	identity.unit = *names.unit ? names.unit : NULL;
	return identity__copy(&identity);
}

static bool started_before(const struct proc_info *info, uint64_t ts_ns)
{
	uint64_t start_ns = info->start_ticks * (NS_PER_SEC / sysconf(_SC_CLK_TCK));

	return start_ns <= ts_ns + clock__suspended_ns() + START_SLACK_NS;
}

static int set_facts(struct process_entry *process, const struct proc_info *info, uint64_t ts_ns,
		     struct err *err)
{
	Jankbpf__Identity *identity;

	if (info->kernel_thread)
		return err__set(err, EINVAL,
				"process %u is a kernel thread: it has no event loop to trace",
				process->pid);
	if (!started_before(info, ts_ns))
		return err__set(err, ESRCH, "process %u ended, and another process has its id now",
				process->pid);
	identity = describe(info);
	if (!identity)
		return err__set(err, ENOMEM, "out of memory");
	identity__free(process->identity);
	process->identity = identity;
	return 0;
}

int process_table__read(struct process_table *table, struct process_entry *process, uint64_t ts_ns,
			struct err *err)
{
	struct proc_info info;
	int res = procinfo__read(process->pid, &info, err);

	if (res)
		return res;
	res = set_facts(process, &info, ts_ns, err);
	procinfo__free(&info);
	if (!res)
		process_table__announce(table, process);
	return res;
}

int process_entry__set_name(struct process_entry *process, const char *comm)
{
	Jankbpf__Identity *identity = process->identity ?: identity__new();
	char *name = strdup(comm);

	if (!name || !identity) {
		free(name);
		if (!process->identity)
			identity__free(identity);
		return -ENOMEM;
	}
	identity->has_pid = true;
	identity->pid = process->pid;
	free(identity->name);
	identity->name = name;
	process->identity = identity;
	return 0;
}

/* --- what the sink thread learns */

void process_table__announce(struct process_table *table, struct process_entry *process)
{
	struct item item = { .kind = ITEM_PROCESS, .pid = process->pid };

	process->facts_due = true;
	if (table->on_facts)
		table->on_facts(table->ctx, process);
	item.data = identity__copy(process->identity);
	if (!item.data) {
		losses__add(table->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	process->facts_due =
		!process_table__queue(table, &item, LOSS_QUEUE_FULL, JANK_SHARE_RECORD);
	process->announced |= !process->facts_due;
	if (process->facts_due)
		identity__free(item.data);
}

/* The loss was counted when they were refused. */
static void announce_again(struct process_table *table, struct process_entry *process)
{
	struct item item = {
		.kind = ITEM_PROCESS,
		.pid = process->pid,
		.uid = process_table__uid(table, process->pid),
		.data = identity__copy(process->identity),
	};

	if (!item.data)
		return;
	process->facts_due = queue__put(table->queue, &item) != QUEUE_ROOM;
	process->announced |= !process->facts_due;
	if (process->facts_due)
		identity__free(item.data);
}

void process_table__announce_due(struct process_table *table)
{
	struct process_entry *process;

	for (process = table->entries; process; process = process->hh.next)
		if (process->facts_due && process->identity && !process_entry__has_ended(process))
			announce_again(table, process);
}

static bool send_exit(struct process_table *table, const struct pending_exit *end)
{
	const struct item item = { .kind = ITEM_PROCESS_GONE, .pid = end->pid, .uid = end->uid };

	return queue__put(table->queue, &item) == QUEUE_ROOM;
}

bool process_table__send_exit(struct process_table *table, uint32_t pid)
{
	return send_exit(table, &(struct pending_exit){ pid, process_table__uid(table, pid) });
}

/* The sink thread knows the process: if its queue is full, the end waits in a list. */
void process_table__report_exit(struct process_table *table, uint32_t pid)
{
	const struct pending_exit end = { pid, process_table__uid(table, pid) };
	struct pending_exit *ends;

	if (send_exit(table, &end))
		return;
	ends = reallocarray(table->pending_exits, table->pending_cnt + 1, sizeof(*ends));
	if (!ends) {
		losses__add(table->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	table->pending_exits = ends;
	ends[table->pending_cnt++] = end;
}

void process_table__report_pending(struct process_table *table)
{
	while (table->pending_cnt &&
	       send_exit(table, &table->pending_exits[table->pending_cnt - 1]))
		table->pending_cnt--;
}

/* --- duty cycle of a process's marks */

#define CALM_HZ 500
#define ON_NS	(5 * NS_PER_SEC)
#define REST_NS (9 * ON_NS)

static bool is_busy(const struct mark_duty *duty)
{
	return duty->rate >= MARKS_BUSY_HZ;
}

/* Without marks there are fewer dispatches. */
static bool is_calm(const struct mark_duty *duty)
{
	return duty->rate < (duty->off_ns ? CALM_HZ : MARKS_BUSY_HZ);
}

static bool may_rest(const struct mark_duty *duty, uint64_t now_ns)
{
	return is_busy(duty) && (!duty->on_ns || now_ns - duty->on_ns >= ON_NS);
}

static void rest(struct mark_duty *duty, uint64_t now_ns)
{
	duty->on = false;
	duty->slow = false;
	duty->off_ns = now_ns;
}

bool mark_duty__look(struct mark_duty *duty, uint64_t now_ns, uint64_t dispatch_cnt)
{
	uint64_t elapsed_ns = now_ns - duty->looked_ns, cnt = dispatch_cnt - duty->dispatch_cnt;

	bool first = !duty->looked_ns;

	if (!first && elapsed_ns < NS_PER_SEC)
		return duty->on;
	if (dispatch_cnt < duty->dispatch_cnt) /* threads ended, and their counts with them */
		cnt = 0;
	duty->rate = first ? 0 : cnt * NS_PER_SEC / elapsed_ns;
	duty->looked_ns = now_ns;
	duty->dispatch_cnt = dispatch_cnt;
	if (first)
		return duty->on;
	if (duty->on ? may_rest(duty, now_ns) : is_busy(duty) && !duty->off_ns) {
		rest(duty, now_ns);
	} else if (!duty->on &&
		   (is_calm(duty) || (duty->slow && now_ns - duty->off_ns >= REST_NS))) {
		duty->on = true;
		duty->on_ns = is_calm(duty) ? 0 : now_ns;
	}
	return duty->on;
}

void mark_duty__busy(struct mark_duty *duty, uint64_t now_ns, uint64_t rate)
{
	if (!duty->on || duty->on_ns)
		return;
	duty->rate = rate;
	rest(duty, now_ns);
}

void mark_duty__slow(struct mark_duty *duty)
{
	duty->slow = true;
}
