# SPDX-License-Identifier: GPL-2.0
"""The processes that work for a tracer."""
import os

OWN_NAMES = ("jankbpf-name", "jankbpf-sites", "jankbpf-deliver", "jankbpf-fetch", "jankbpf-react", "jankbpf-send")


def children_of(pid):
    """A restart is the sink thread's child."""
    pids = []
    try:
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/children", encoding="ascii") as file:
                pids += [int(word) for word in file.read().split()]
    except OSError:
        pass
    return pids


def alive(pid):
    """Not ended, also not as a zombie, which an orphan stays where pid 1 does not look after it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def own_process(pid, name):
    """The pid of that process of a tracer's; 0: none now."""
    for child in children_of(pid):
        try:
            with open(f"/proc/{child}/comm", encoding="utf-8", errors="replace") as comm:
                if comm.read() == f"{name}\n":
                    return child
        except OSError:
            pass
    return 0


def own_pids(pid):
    """A tracer and the processes that work for it, or only the process itself."""
    own = [child for child in (own_process(pid, name) for name in OWN_NAMES) if child]
    sender = own_process(pid, "jankbpf-send")
    return [pid, *own, *(children_of(sender) if sender else ())]
