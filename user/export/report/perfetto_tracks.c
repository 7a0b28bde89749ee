/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracks of a Perfetto trace: processes, threads, and values of the machine. */
#include "export/report/perfetto.h"

#include <string.h>
#include <xxhash.h>

#include "export/values.h"

enum track_kind { TRACK_PROCESS, TRACK_THREAD, TRACK_CHAIN, TRACK_COUNTER, TRACK_NAMED };

/* What tells a track from all others, without padding. */
struct track_key {
	uint64_t boot; /* hash of the boot id */
	uint64_t name; /* hash of a counter's name */
	uint32_t kind, id;
};

static uint64_t hash_boot(const Jankbpf__Block *block)
{
	size_t len = block->id ? strnlen(block->id, 36) : 0;

	return XXH3_64bits(block->id ?: "", len);
}

/* 0 is the track of the whole trace. */
static uint64_t uuid_of(const Jankbpf__Block *block, enum track_kind kind, uint32_t id,
			const char *name)
{
	const struct track_key key = { hash_boot(block), XXH3_64bits(name, strlen(name)), kind,
				       id };

	return XXH3_64bits(&key, sizeof(key)) ?: 1;
}

/* True if this descriptor was written before. A known name is written once more. */
static bool is_known(struct perfetto *p, uint64_t uuid, bool has_name, uint32_t *ret_nr)
{
	const uint64_t key[] = { uuid, has_name };
	bool is_new;
	uint32_t nr = intern__get(p->tracks, key, sizeof(key), &is_new);

	if (ret_nr)
		*ret_nr = nr;
	return nr && !is_new;
}

static void write_track(struct perfetto *p, Perfetto__Protos__TrackDescriptor *track, uint64_t uuid,
			uint64_t parent)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	track->has_uuid = true;
	track->uuid = uuid;
	track->has_parent_uuid = parent;
	track->parent_uuid = parent;
	packet.track_descriptor = track;
	perfetto__write(p, &packet);
}

static uint64_t get_process(struct perfetto *p, const Jankbpf__Block *block, uint32_t pid,
			    const char *name)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__ProcessDescriptor process = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
	uint64_t uuid = uuid_of(block, TRACK_PROCESS, pid, "");

	if (is_known(p, uuid, name, NULL))
		return uuid;
	process.has_pid = true;
	process.pid = (int32_t)pid;
	process.process_name = perfetto__text(p, name);
	track.process = &process;
	write_track(p, &track, uuid, 0);
	return uuid;
}

uint64_t track__thread(struct perfetto *p, const Jankbpf__Block *block, const Jankbpf__Task *task,
		       const char *process)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__ThreadDescriptor thread = PERFETTO__PROTOS__THREAD_DESCRIPTOR__INIT;
	uint64_t parent = get_process(p, block, task->pid, process);
	uint64_t uuid = uuid_of(block, TRACK_THREAD, task->tid, "");

	if (is_known(p, uuid, task->comm, NULL))
		return uuid;
	thread.has_pid = thread.has_tid = true;
	thread.pid = (int32_t)task->pid;
	thread.tid = (int32_t)task->tid;
	thread.thread_name = perfetto__text(p, task->comm);
	track.thread = &thread;
	write_track(p, &track, uuid, parent);
	return uuid;
}

uint64_t track__chain(struct perfetto *p, const Jankbpf__Block *block, const Jankbpf__Task *task,
		      const char *process, uint32_t *ret_nr)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	uint64_t parent = track__thread(p, block, task, process);
	uint64_t uuid = uuid_of(block, TRACK_CHAIN, task->tid, "");

	if (is_known(p, uuid, true, ret_nr))
		return uuid;
	track.name = (char *)"waited for by others";
	write_track(p, &track, uuid, parent);
	return uuid;
}

uint64_t track__named(struct perfetto *p, const Jankbpf__Block *block, const char *name)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	uint64_t uuid = uuid_of(block, TRACK_NAMED, 0, name);

	if (is_known(p, uuid, true, NULL))
		return uuid;
	track.name = (char *)name;
	write_track(p, &track, uuid, 0);
	return uuid;
}

void track__count(struct perfetto *p, const Jankbpf__Block *block, const char *name, double value)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__CounterDescriptor counter = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;
	uint64_t uuid = uuid_of(block, TRACK_COUNTER, 0, name);
	struct perfetto_event e;

	if (!is_known(p, uuid, true, NULL)) {
		track.name = (char *)name;
		track.counter = &counter;
		write_track(p, &track, uuid, 0);
	}
	event__init(p, &e, PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER, uuid, NULL);
	e.event.has_double_counter_value = true;
	e.event.double_counter_value = value;
	event__write(p, &e, perfetto__time(p, block, block->start_ns));
}
