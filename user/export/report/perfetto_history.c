/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace of a history: names of processes and threads, switches and wake-ups, the window and its
 * gaps as slices, ticks as instants, and the blocks as in a report.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/jank_abi.h"
#include "export/report/perfetto.h"

#define BEGIN	PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN
#define INSTANT PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT

/* The history under work, and the block whose boot its tracks belong to. */
struct window {
	struct perfetto *p;
	const Jankbpf__History *history;
	const Jankbpf__Block *block;
};

/* --- names */

static int by_tid(const void *pa, const void *pb)
{
	const Jankbpf__HistoryThread *a = *(Jankbpf__HistoryThread *const *)pa;
	const Jankbpf__HistoryThread *b = *(Jankbpf__HistoryThread *const *)pb;

	return a->tid != b->tid ? (a->tid > b->tid) - (a->tid < b->tid)
				: (a->pid > b->pid) - (a->pid < b->pid);
}

/* Each thread once. The idle task of each CPU is no thread. */
static size_t list_threads(const Jankbpf__History *history, Jankbpf__HistoryThread **ret)
{
	size_t cnt = 0;

	for (size_t i = 0; i < history->n_threads; i++)
		if (history->threads[i]->tid)
			ret[cnt++] = history->threads[i];
	qsort(ret, cnt, sizeof(*ret), by_tid);
	return cnt;
}

static void write_process(const struct window *w, const Jankbpf__HistoryThread *thread,
			  const char *name)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ProcessTree tree = PERFETTO__PROTOS__PROCESS_TREE__INIT;
	Perfetto__Protos__ProcessTree__Process
		process = PERFETTO__PROTOS__PROCESS_TREE__PROCESS__INIT,
		*processes = &process;
	Perfetto__Protos__ProcessTree__Thread item = PERFETTO__PROTOS__PROCESS_TREE__THREAD__INIT,
					      *threads = &item;
	char *cmdline = perfetto__text(w->p, name);

	process.has_pid = item.has_tid = item.has_tgid = true;
	process.pid = item.tgid = (int32_t)thread->pid;
	process.cmdline = &cmdline;
	process.n_cmdline = cmdline != NULL;
	item.tid = (int32_t)thread->tid;
	item.name = perfetto__text(w->p, thread->name);
	tree.processes = &processes;
	tree.threads = &threads;
	tree.n_processes = thread->tid == thread->pid;
	tree.n_threads = 1;
	packet.process_tree = &tree;
	packet.has_timestamp = true;
	packet.timestamp = w->history->start_ns;
	perfetto__write(w->p, &packet);
}

/* A process has the name of its main thread, if that ran; of the last name of several. */
static int write_threads(const struct window *w)
{
	Jankbpf__HistoryThread **list = calloc(w->history->n_threads + 1, sizeof(*list));
	size_t cnt;

	if (!list)
		return -ENOMEM;
	cnt = list_threads(w->history, list);
	for (size_t i = 0; i < cnt; i++)
		if (i + 1 == cnt || list[i + 1]->tid != list[i]->tid)
			write_process(w, list[i], list[i]->name);
	free(list);
	return 0;
}

/* What the states of sched_switch mean depends on the kernel. */
static void write_kernel(const struct window *w)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__SystemInfo info = PERFETTO__PROTOS__SYSTEM_INFO__INIT;
	Perfetto__Protos__Utsname name = PERFETTO__PROTOS__UTSNAME__INIT;

	if (!w->history->kernel)
		return;
	name.sysname = (char *)"Linux";
	name.release = perfetto__text(w->p, w->history->kernel);
	info.utsname = &name;
	packet.system_info = &info;
	perfetto__write(w->p, &packet);
}

/* --- slices and instants */

static void write_slice(const struct window *w, const char *track_name, const char *name,
			uint64_t at_ns, uint64_t ns)
{
	uint64_t track = track__named(w->p, w->block, track_name);
	struct perfetto_event e;

	event__init(w->p, &e, BEGIN, track, name);
	event__set_category(&e, "history");
	event__note_number(&e, "ns", ns);
	event__note_number(&e, "blocks", w->history->n_blocks);
	event__note_number(&e, "blocks_left_out", w->history->blocks_left_out);
	event__write(w->p, &e, w->history->start_ns + at_ns);
	event__end(w->p, track, w->history->start_ns + at_ns + ns);
}

static void write_gaps(const struct window *w, const Jankbpf__HistoryCpu *cpu)
{
	char name[48];

	snprintf(name, sizeof(name), "not recorded on CPU %u", cpu->cpu);
	for (size_t i = 0; i < cpu->n_gaps; i++)
		write_slice(w, name, "gap", cpu->gaps[i]->at_ns, cpu->gaps[i]->ns);
}

static void write_tick(const struct window *w, const Jankbpf__HistoryThread *thread, uint32_t state,
		       uint64_t at_ns)
{
	Jankbpf__Task task = JANKBPF__TASK__INIT;
	struct perfetto_event e;

	task.pid = thread->pid;
	task.tid = thread->tid;
	task.comm = thread->name;
	event__init(w->p, &e, INSTANT, track__thread(w->p, w->block, &task, NULL),
		    state & JANK_HISTORY_USER ? "tick: user mode" : "tick: kernel");
	event__set_category(&e, "tick");
	event__note_text(w->p, &e, "dispatch", state & JANK_HISTORY_DISPATCH ? "open" : "none");
	event__write(w->p, &e, w->history->start_ns + at_ns);
}

static void write_ticks(const struct window *w, const Jankbpf__HistoryCpu *cpu)
{
	uint64_t at_ns = 0;

	if (cpu->n_tick_thread != cpu->n_tick_ns || cpu->n_tick_state != cpu->n_tick_ns)
		return;
	for (size_t i = 0; i < cpu->n_tick_ns; i++) {
		at_ns += cpu->tick_ns[i];
		if (cpu->tick_thread[i] < w->history->n_threads)
			write_tick(w, w->history->threads[cpu->tick_thread[i]], cpu->tick_state[i],
				   at_ns);
	}
}

/* --- the trace */

static int write_window(const struct window *w)
{
	const Jankbpf__History *history = w->history;
	int res;

	write_kernel(w);
	res = write_threads(w);
	if (!res)
		res = switches__write(w->p, history);
	if (res)
		return res;
	write_slice(w, "jankbpf --record", "history", 0, history->elapsed_ns);
	for (size_t i = 0; i < history->n_cpus; i++) {
		write_gaps(w, history->cpus[i]);
		write_ticks(w, history->cpus[i]);
	}
	for (size_t i = 0; i < history->n_blocks; i++)
		slices__write(w->p, history->blocks[i]);
	return 0;
}

int report__history(struct report_out *out, const Jankbpf__History *history)
{
	const Jankbpf__Block none = JANKBPF__BLOCK__INIT;
	const Jankbpf__Block *block = history->n_blocks ? history->blocks[0] : &none;
	struct perfetto *p = (struct perfetto *)report__new(&report_perfetto, out);
	const struct window window = { p, history, block };
	int res;

	if (!p)
		return -ENOMEM;
	p->has_boottime = true;
	p->boot_offset_ns = (int64_t)(history->boot_ns - history->start_ns);
	perfetto__begin(p, block);
	res = write_window(&window);
	perfetto__free_pool(p);
	report__free(&p->report);
	return res ? res : report_out__added(out);
}
