/* SPDX-License-Identifier: GPL-2.0 */
/* Whom and what a thread waited for, as JSON. */
#include "export/json_parts.h"
#include "export/priority.h"
#include "export/wait.h"

void json__add_task(struct jsonw *w, const struct other_task *task)
{
	jsonw__ku64(w, "pid", task->pid);
	jsonw__ku64(w, "tid", task->tid);
	jsonw__kstr(w, "comm", task->comm);
}

void json__add_preemptors(struct jsonw *w, const struct other_task *tasks, size_t cnt)
{
	jsonw__karray(w, "preemptors");
	for (size_t i = 0; i < cnt; i++) {
		jsonw__object(w);
		json__add_task(w, &tasks[i]);
		jsonw__ku64(w, "ns", tasks[i].ns);
		json__add_priority(w, tasks[i].prio);
		jsonw__kstr_known(w, "cgroup", tasks[i].cgroup);
		jsonw__object_end(w);
	}
	jsonw__array_end(w);
}

static void add_peer(struct jsonw *w, const struct waited *waited)
{
	jsonw__kstr_known(w, "peer", waited->peer);
	if (!waited->peer_task.pid)
		return;
	jsonw__kobject(w, "peer_task");
	json__add_task(w, &waited->peer_task);
	jsonw__object_end(w);
}

/* Its process is the thread's own. */
static void add_owner(struct jsonw *w, const struct other_task *owner)
{
	if (!owner->tid)
		return;
	jsonw__kobject(w, "futex_owner");
	jsonw__ku64(w, "tid", owner->tid);
	jsonw__kstr_known(w, "comm", *owner->comm ? owner->comm : NULL);
	jsonw__object_end(w);
}

void json__add_waited(struct jsonw *w, const struct waited *waited, const char *syscall_name)
{
	int32_t fd = wait__fd(waited);
	uint64_t timeout_ns, bytes;
	bool timed = wait__timeout(waited, &timeout_ns);
	bool counted = wait__bytes(waited, syscall_name, &bytes);

	if (!waited ||
	    !(fd >= 0 || timed || counted || waited->target || waited->path || waited->device ||
	      waited->peer || waited->peer_task.pid || waited->owner.tid))
		return;
	jsonw__kobject(w, "waited_for");
	if (fd >= 0)
		jsonw__ku64(w, "fd", fd);
	jsonw__kstr_known(w, "target", waited->target);
	jsonw__kstr_known(w, "path", waited->path);
	jsonw__kstr_known(w, "device", waited->device);
	add_peer(w, waited);
	if (timed)
		jsonw__ku64(w, "timeout_ns", timeout_ns);
	if (counted)
		jsonw__ku64(w, "bytes", bytes);
	add_owner(w, &waited->owner);
	jsonw__object_end(w);
}
