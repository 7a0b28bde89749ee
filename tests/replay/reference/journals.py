# SPDX-License-Identifier: GPL-2.0
"""Edits a recorded journal of version 1 (see ./record): removes names of the recording machine, and
inserts causes that it cannot have."""
import copy
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
import journal_v1  # noqa: E402
import replay  # noqa: E402

BLOCK, HANG, STACK, WAIT_FOR, FACTS, OTHER = 2, 3, 4, 9, 10, 11
SESSION, PROCESS, LOAD, FRAMES, MESSAGE, WAITED, CALLERS = 0x8001, 0x8002, 0x8003, 0x8004, 0x8006, 0x8007, 0x8008
STATES = ("running", "runnable", "futex", "disk", "sleep", "poll", "socket", "pipe", "binder", "page_fault", "stopped",
          "other")
STATE_AT, KERNEL_AT, COUNTS_AT, ADDRESSES_AT = 56, 64, 72, 112  # in BLOCK: state_ns; in STACK: state, counts, stack
TASK_SZ, COMM_SZ = 32, 16


def repack(record, value):
    """A JSON record with another value."""
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    body += b"\0" * (8 - len(body) % 8)
    return struct.pack("<I", 32 + len(body)) + record[4:32] + body


def strings(value, change):
    """The value with each string changed."""
    if isinstance(value, dict):
        return {key: strings(each, change) for key, each in value.items()}
    if isinstance(value, list):
        return [strings(each, change) for each in value]
    return change(value) if isinstance(value, str) else value


def own_pids(records):
    """The traced processes."""
    return {journal_v1.json_of(record)["pid"] for kind, record in records if kind == PROCESS}


def tasks_of(record):
    """The places of tasks in a STACK record: the waker, and the preemptors."""
    kernel, user, slices = struct.unpack_from("<HHH", record, COUNTS_AT)
    yield ADDRESSES_AT - TASK_SZ
    first = ADDRESSES_AT + 8 * (kernel + user)
    yield from range(first, first + slices * TASK_SZ, TASK_SZ)


# Threads of the references themselves, and kernel threads.
COMMS = ["simjank.*", "demo-.*", "holder", "signaller", "writer", "answerer", "pager", "hog", "continuer", "lowly", "rwholder",
         "poster", "joined", "child", "locker", "server", "resolver", "crowd", "rt-hog", "redis-.*", "nginx", "node", "libuv-worker",
         "python3", "java", "VM .*", "G1 .*", "GC .*", "C[12] .*", "Reference.*", "Signal.*", "rare", "stripped", "target", "looper",
         "slow-server", "sleep", "sh", "qt6core", "glib", "uv", "tokio.*", "storm.*", "jankbpf", "jank-.*", "kworker/.*",
         "ksoftirqd/.*", "rcu_.*", "kswapd.*", "jbd2/.*", "swapper/.*", "migration/.*", "kcompactd.*"]

# Paths of programs and their sources: the text that replaces them.
PLACES = [(r"^/(\.\./)+.*", "/../other"), (r"^/\S+/(?=(tools|tests|user)/)", "/src/"), (r"^/\S+/(?=lib/python3)", "/usr/"),
          (r"^/\S+/(?=bin/python3)", "/usr/")]


class Cleaner:
    """Removes the names of other programs, cgroups and folders of the machine."""

    @staticmethod
    def comm(name):
        return name if any(re.fullmatch(each, name) for each in COMMS) else "neighbour"

    def raw(self, record, at):
        name = bytes(record[at:at + COMM_SZ]).split(b"\0")[0].decode(errors="replace")
        record[at:at + COMM_SZ] = self.comm(name).encode()[:COMM_SZ - 1].ljust(COMM_SZ, b"\0") if name else bytes(COMM_SZ)

    def stack(self, record):
        record = bytearray(record)
        for at in tasks_of(record):
            self.raw(record, at + TASK_SZ - COMM_SZ)
        return bytes(record)

    def text(self, text):
        for pattern, place in PLACES:
            text = re.sub(pattern, place, text)
        return text

    def value(self, kind, value):
        value = strings(value, self.text)
        if kind == SESSION:
            value["kernel"] = re.match(r"\d+\.\d+\.\d+", value["kernel"])[0]
        if kind == WAITED:
            self.names(value)
        return value

    def names(self, value):
        """Removes those of processes and threads."""
        if isinstance(value, list):
            for each in value:
                self.names(each)
        elif isinstance(value, dict):
            for key, each in value.items():
                if key in ("comm", "process") and isinstance(each, str):
                    value[key] = self.comm(each)
                else:
                    self.names(each)

    def clean(self, content):
        header, records = replay.split_journal(content)
        ret = [header]
        for kind, record in records:
            if kind in (STACK, OTHER):
                record = self.stack(record)
            elif kind == WAIT_FOR:
                record = bytearray(record)
                self.raw(record, len(record) - COMM_SZ)
            elif kind >= SESSION:
                before = journal_v1.json_of(record)
                value = self.value(kind, copy.deepcopy(before))
                record = record if value == before else repack(record, value)
            ret.append(record)
        return b"".join(ret)


def block_count(content):
    return sum(kind == BLOCK for kind, _ in replay.split_journal(content)[1])


def less(content, block_max):
    """The journal without stacks of untraced processes, and with at most that many blocks."""
    header, records = replay.split_journal(content)
    own = own_pids(records)
    kept = {key_of(kind, record) for kind, record in [each for each in records if each[0] == BLOCK][:block_max]}
    return header + b"".join(
        record for kind, record in records
        if (kind not in (OTHER, WAIT_FOR) or struct.unpack_from("<I", record, 16)[0] in own) and
        (kind not in (BLOCK, STACK, FACTS, LOAD) or key_of(kind, record) in kept))


# Causes to insert, one per block: kind; then the function of the kernel, or of a library, in place
# of the leaf; the number of x86-64's system call, if it matters.
CAUSES = [
    ("cpu", "kernel", "asm_sysvec_apic_timer_interrupt"), ("cpu", "user", "v8::internal::Heap::CollectGarbage"),
    ("cpu", "kernel", "compact_zone"), ("cpu", "kernel", "try_to_free_pages"),
    ("cpu", "user", "SafepointMechanism::process"), ("disk", "kernel", "balance_dirty_pages"),
    ("disk", "kernel", "ioc_rqos_throttle"), ("disk", "kernel", "compact_zone"), ("disk", "kernel", "try_to_free_pages"),
    ("disk", "kernel", "try_to_free_mem_cgroup_pages"), ("page_fault", "kernel", "do_swap_page"),
    ("page_fault", "kernel", "filemap_fault"), ("page_fault", "kernel", "handle_userfault"),
    ("other", "kernel", "__refrigerator"), ("other", "kernel", "rwsem_down_write_slowpath"),
    ("other", "kernel", "posix_lock_inode_wait"), ("futex", "user", "pthread_barrier_wait"), ("futex", "user", "take_gil"),
    ("binder", "kernel", "binder_thread_read"), ("binder", "kernel", ""), ("stopped", "kernel", "do_signal_stop"),
    ("futex", "user", "SafepointMechanism::process"), ("socket", "kernel", "tcp_sendmsg", 44), ("disk", "kernel", "", 262),
    ("runnable", "kernel", ""), ("page_fault", "kernel", ""),
]
# Members to insert: of LOAD, of WAITED, of its MESSAGE; one set each, in turn.
LOADS = [{"missed_frames": 3, "crtc": 1, "refresh_hz": 59.94}, {"missed_frames": 1, "crtc": 0}, {"steal_pct": 12.5}, {}]
WAITEDS = [{"thermal_throttled": True, "cpu_capacity": 446, "cpu_khz": 1200000, "cpu_max_khz": 1800000},
           {"quota_cgroup": "/demo.slice/shop.service", "quota_ns": 20000000, "quota_period_ns": 100000000}, {}, {}, {}]
HANDLER = {"symbol": "app::Window<int>::paint(bool)", "module": "/usr/bin/app"}
MESSAGES = [{"what": "12", "handler": HANDLER, "callback": {"module": "/lib/x.so", "offset": 4660}, "queued_ns": 35000000},
            {"source": {"symbol": "a timer's \"name\""}, "fds": [], "ready_cnt": 0}, {}, {
                "handler": {"module": "/lib/x.so", "offset": 1}, "callback": {"symbol": "on_ready", "module": "/lib/x.so"},
                "source": {"module": "/lib/y.so", "offset": 2}, "ready_cnt": 3, "fds":
                [{"fd": 8, "events": 1, "target": "tcp 127.0.0.1:80->127.0.0.1:5012"}, {"fd": 9, "events": 16, "target": "eventfd 3"}]}]
IDENTITIES = [{"container": "3f4e5d6c7b8a3f4e5d6c7b8a3f4e5d6c7b8a3f4e5d6c7b8a3f4e5d6c7b8a3f4e", "pod":
               "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "unit": "kubelet.service", "ns_pid": 7}]


def frames_record(like, pid, address, function):
    """A FRAMES record for an address, in the form of the journal's own."""
    module = {"module": "vmlinux", "kernel": True} if pid == 0 else {"module": "/usr/lib/libruntime.so", "kernel": False}
    frame = {"function": function, "offset": 16, **module, "inlined": False, "app": False}
    return repack(like, {"pid": pid, "address": f"{address:x}", "frames": [frame]})


def moved_times(block, state):
    """The block with its longest time moved to another state, and the state that it was."""
    times = list(struct.unpack_from("<12Q", block, STATE_AT))
    longest = max(range(12), key=times.__getitem__)
    times[longest], times[state] = times[state], times[longest]
    return block[:STATE_AT] + struct.pack("<12Q", *times) + block[STATE_AT + 96:], longest


def moved_stack(stack, longest, state, place, address, syscall):
    """A stack of one state as a stack of another; the address replaces the leaf of its part."""
    if struct.unpack_from("<I", stack, KERNEL_AT)[0] != longest:
        return stack
    stack = bytearray(stack)
    struct.pack_into("<I", stack, KERNEL_AT, state)
    if syscall:
        struct.pack_into("<i", stack, KERNEL_AT + 4, *syscall)
    kernel, user, _ = struct.unpack_from("<HHH", stack, COUNTS_AT)
    if place == "kernel" and kernel:
        struct.pack_into("<Q", stack, ADDRESSES_AT, address)
    elif place == "user" and user:
        struct.pack_into("<Q", stack, ADDRESSES_AT + 8 * kernel, address)
    return bytes(stack)


def moved_callers(record, place, address):
    """Frames found in copies of the stacks replace their user part: change the address there,
    too."""
    value = journal_v1.json_of(record)
    for stack in value["stacks"] if place == "user" else ():
        first, blank, rest = stack["addresses"].partition(" ")
        if stack["tid"] == value["tid"] and first:
            stack["addresses"] = f"{address:x}{blank}{rest}"
    return repack(record, value)


def key_of(kind, record):
    """The dispatch of a record: (tid, start)."""
    if kind in (BLOCK, HANG, STACK, FACTS):
        return struct.unpack_from("<I", record, 20)[0], struct.unpack_from("<Q", record, 32)[0]
    value = journal_v1.json_of(record)
    return value.get("tid"), value.get("start_ns")


def given(content):
    """Gives each block of a journal one of CAUSES, and members that this machine does not have."""
    header, records = replay.split_journal(content)
    blocks = [record for kind, record in records if kind == BLOCK]
    like = next(record for kind, record in records if kind == FRAMES)
    turn = {key_of(BLOCK, block): number for number, block in enumerate(blocks)}
    moved, named, out = {}, [], []
    for number, block in enumerate(blocks):
        kind, place, function, *syscall = CAUSES[number % len(CAUSES)]
        state = STATES.index("running" if kind == "cpu" else kind)
        pid = 0 if place == "kernel" else struct.unpack_from("<I", block, 16)[0]
        address = (0xffffffffff000000 if place == "kernel" else 0x7f0000000000) + 64 * number
        moved[number] = (*moved_times(block, state), state, place, address, syscall)
        if function:
            named += [frames_record(like, pid, each, function) for each in (address, address ^ 1 << 62)]
    for kind, record in records:
        if kind not in (BLOCK, HANG, FACTS, STACK, LOAD, WAITED, MESSAGE, CALLERS, PROCESS):
            out.append(record)
            continue
        number = turn.get(key_of(kind, record))
        out.append(record if number is None and kind != PROCESS else given_one(kind, record, number, moved))
    return header + b"".join(out[:-1] + named + out[-1:])


def given_one(kind, record, number, moved):
    if kind == BLOCK:
        return moved[number][0]
    if kind == HANG:
        return moved_times(record, moved[number][2])[0]
    if kind == FACTS:  # a hypervisor took the time in which it waited
        stolen = int(STATES[moved[number][2]] == "runnable")
        return record[:48] + struct.pack("<Q", 55000000 * stolen) + record[56:]
    if kind == STACK:
        return moved_stack(record, *moved[number][1:])
    if kind == CALLERS:
        return moved_callers(record, *moved[number][3:5])
    sets = {LOAD: LOADS, WAITED: WAITEDS, MESSAGE: MESSAGES, PROCESS: IDENTITIES}[kind]
    return repack(record, {**journal_v1.json_of(record), **sets[(number or 0) % len(sets)]})
