# SPDX-License-Identifier: GPL-2.0
"""Reads the traces of --record: what ran on each CPU, who woke whom, gaps, blocks."""
import bisect
import collections

import reports

BOOTTIME, MONOTONIC = 6, 3


class Cpu:
    """Slices in time: begins, and (tid, name) of each."""

    def __init__(self):
        self.begins, self.threads, self.states, self.gaps = [], [], [], []

    def at(self, t_ns):
        """(tid, name) of the thread that ran; None: not known."""
        place = bisect.bisect_right(self.begins, t_ns) - 1
        return self.threads[place] if place >= 0 else None

    def slices(self, end_ns):
        """(begin, end, tid, name)"""
        return [(begin, end, *thread) for begin, end, thread in zip(self.begins, self.begins[1:] + [end_ns], self.threads)]


class History:
    """Times are of CLOCK_MONOTONIC, as those of records."""

    def __init__(self, path):
        with open(path, "rb") as file:
            content = file.read()
        self.decodes = reports.decodes("perfetto", content)
        got = reports.trace(content)
        self.faults = list(reports.trace_faults(got))
        clocks = {clock.clock_id: clock.timestamp for clock in got.packet[0].clock_snapshot.clocks}
        self.offset = clocks[BOOTTIME] - clocks[MONOTONIC]
        self.cpus, self.wakes, self.ticks, self.blocks = collections.defaultdict(Cpu), [], [], {}
        self.processes, self.release, self.lost = {}, None, 0
        self.begin = self.end = None
        names, opened = {}, {}
        for packet in got.packet:
            self.take(packet, names, opened)

    def take(self, packet, names, opened):
        if packet.HasField("ftrace_events"):
            self.take_events(packet.ftrace_events)
        for thread in packet.process_tree.threads:
            self.processes[thread.tid] = (thread.tgid, thread.name)
        if packet.HasField("system_info"):
            self.release = packet.system_info.utsname.release
        if packet.HasField("track_descriptor"):
            names[packet.track_descriptor.uuid] = packet.track_descriptor.name
        if packet.HasField("track_event"):
            self.take_event(packet, names, opened)

    def take_events(self, bundle):
        sched, cpu = bundle.compact_sched, self.cpus[bundle.cpu]
        self.lost += bundle.lost_events
        t_ns = -self.offset
        for i, ns in enumerate(sched.switch_timestamp):
            t_ns += ns
            if i == 0 and not cpu.begins:
                continue  # the first one of a CPU comes twice
            cpu.begins.append(t_ns)
            cpu.threads.append((sched.switch_next_pid[i], sched.intern_table[sched.switch_next_comm_index[i]]))
            cpu.states.append(sched.switch_prev_state[i])
        t_ns = -self.offset
        for i, ns in enumerate(sched.waking_timestamp):
            t_ns += ns
            self.wakes.append((t_ns, bundle.cpu, sched.waking_pid[i], bool(sched.waking_common_flags[i])))

    def take_event(self, packet, names, opened):
        event = packet.track_event
        notes = {note.name: note for note in event.debug_annotations}
        if event.type == 1 and event.name in ("history", "gap"):
            opened[event.track_uuid] = (event.name, packet.timestamp)
        elif event.type == 2 and event.track_uuid in opened:
            name, begin = opened.pop(event.track_uuid)
            if name == "history":
                self.begin, self.end = begin, packet.timestamp
            else:
                self.cpus[int(names[event.track_uuid].split()[-1])].gaps.append((begin, packet.timestamp))
        elif list(event.categories) in (["jank"], ["hang"]):
            self.blocks[notes["id"].string_value] = (packet.timestamp, event.categories[0])
        elif list(event.categories) == ["tick"]:
            self.ticks.append((packet.timestamp, event.name))

    def gap_cnt(self):
        return sum(len(cpu.gaps) for cpu in self.cpus.values())

    def gap_ns(self, begin, end):
        """The gaps of all CPUs in a time."""
        return sum(max(0, min(b, end) - max(a, begin)) for cpu in self.cpus.values() for a, b in cpu.gaps)

    def ran_ns(self, tid, begin, end):
        """Time that the thread had a CPU, outside of gaps."""
        total = 0
        for cpu in self.cpus.values():
            for first, last, thread, _ in cpu.slices(self.end):
                first, last = max(first, begin), min(last, end)
                if thread == tid and first < last:
                    total += last - first - sum(max(0, min(b, last) - max(a, first)) for a, b in cpu.gaps)
        return total
