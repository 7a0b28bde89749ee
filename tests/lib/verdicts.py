# SPDX-License-Identifier: GPL-2.0
"""Compares verdicts with simjank's truth: kind and what, the thread to blame, file or peer, and
signatures.

Only dispatches that went as their scenario intends name a culprit (simjank_truth.h). The others are
judged by their kind alone, in truth.py.
"""
import collections
import re

NOTHING = "-"
BUSY_PCT = 80
ON_CPU = ("cpu", "kernel")  # for these, a smaller part may have been a wait for another thread


class Rate:
    """How often a verdict is right, and what it was confused with."""

    def __init__(self):
        self.right = self.named = 0
        self.pairs = collections.Counter()

    def add(self, right, wanted, got):
        self.right += bool(right)
        self.named += got not in (NOTHING, None)
        self.pairs[str(wanted), str(got)] += 1

    def count(self):
        return sum(self.pairs.values())

    def figures(self):
        count = self.count()
        return {"rate": self.right / count, "right": self.right, "of": count} if count else {}

    def confusion(self):
        return {wanted: {got: n for (w, got), n in sorted(self.pairs.items()) if w == wanted}
                for wanted in sorted({w for w, _ in self.pairs})}


def longest_span(block):
    """The sample with the most time off the CPU, or {}."""
    return max((s for s in block["samples"] if s.get("ns")), key=lambda s: s["ns"], default={})


def link_at(dispatch, block):
    """The link of the block's chain where the truth expects the culprit, or {}."""
    links, at = block.get("chain") or [], len(dispatch["chain"]) - 1
    if links and links[-1]["tid"] == dispatch["culprit"]["tid"]:
        return links[-1]
    return links[at] if at < len(links) else {}


def objects(dispatch, block):
    """What the block waited for: by its longest span, and by the chain's relevant link."""
    found = [longest_span(block).get("waited_for")]
    if dispatch.get("chain"):
        found.append(link_at(dispatch, block).get("waited_for"))
    return [waited for waited in found if waited]


def object_is(waited, key, text):
    """A peer's name may be followed by more detail."""
    got = waited.get(key) or ""
    return got == text or key == "peer" and got.startswith((text + " ", text + ","))


def whats_of(dispatch, block):
    """If neighbours used all other CPUs as well, affinity is not the reason for the wait."""
    if dispatch["what"] == "affinity" and (block.get("cpu") or {}).get("total_pct", 0) > BUSY_PCT:
        return ("affinity", "preempted")
    return (dispatch["what"],)


def frame_name(cause):
    """The function's name without decoration."""
    frame = cause.get("frame")
    if isinstance(frame, dict):
        frame = frame.get("function")
    return re.sub(r"\(.*|\+0x.*", "", frame).strip() if frame else None


def is_own(dispatch, block, frame):
    """Is it the handler, or a function below it?"""
    if frame in dispatch["functions"]:
        return True
    stacks = ([frame_name({"frame": each}) for each in sample.get("stack", ())] for sample in block.get("samples", ()))
    return any(frame in names and dispatch["function"] in names[names.index(frame):] for names in stacks)


class Verdicts:
    """Sums over any number of runs."""

    # By figure: what was right, and what it was confused with. "chain": all its links and no more.
    RATES = ("kind", "function", "what", "culprit", "chain", "preemptor", "object", "sentence", "innocent")

    def __init__(self):
        self.rates = {name: Rate() for name in self.RATES}
        self.by_scenario = collections.defaultdict(lambda: {name: Rate() for name in self.RATES})
        self.signatures = collections.defaultdict(collections.Counter)
        self.faults = {}
        self.sentences = {}
        self.wrong = []

    def add(self, dispatch, block):
        name, cause = dispatch["scenario"], block.get("cause") or {}
        kind_right = cause.get("kind") in (dispatch["kind"], *dispatch["also"])
        self.count(dispatch, block, "kind", kind_right, dispatch["kind"], cause.get("kind"))
        frame = frame_name(cause)
        self.count(dispatch, block, "function", is_own(dispatch, block, frame), dispatch["function"], frame)
        if not dispatch.get("meant"):
            return
        self.signatures[name][cause.get("signature")] += 1
        self.faults[name] = (cause.get("frame") or {}).get("function"), cause.get("kind")
        if cause.get("summary"):
            self.sentences.setdefault(name, cause["summary"])
        if "what" in dispatch:
            got = cause.get("what") or NOTHING
            right = got in whats_of(dispatch, block)
            self.count(dispatch, block, "what", right, dispatch["what"], got)
        if "chain" in dispatch:
            self.add_chain(dispatch, block)
        if "chain" in dispatch or dispatch["kind"] not in ON_CPU:
            self.add_innocent(dispatch, block)
        if "preemptors" in dispatch:
            self.add_preemptor(dispatch, block)
        if "object" in dispatch:
            self.add_object(dispatch, block)
        self.add_sentence(dispatch, block, cause.get("summary") or "")

    def count(self, dispatch, block, figure, right, wanted, got):
        self.rates[figure].add(right, wanted, got)
        self.by_scenario[dispatch["scenario"]][figure].add(right, wanted, got)
        if not right:
            self.wrong.append(f"{dispatch['scenario']} at {block['start_ns']}: {figure} is {got}, not {wanted}")

    def add_chain(self, dispatch, block):
        """The culprit is at its place in the chain, or at the end of it. The chain is complete and
        has nothing else."""
        culprit, links = dispatch["culprit"], block.get("chain") or []
        link = link_at(dispatch, block)
        self.count(dispatch, block, "culprit", link.get("tid") == culprit["tid"], culprit["comm"],
                   link.get("comm", NOTHING))
        exact = [each["tid"] for each in links] == dispatch["chain"]
        self.count(dispatch, block, "chain", exact, f"{len(dispatch['chain'])} links",
                   " ".join(each["comm"] for each in links) or NOTHING)

    def add_preemptor(self, dispatch, block):
        """The time of the thread itself, or of the thread that it waited for."""
        others = link_at(dispatch, block).get("preemptors") if "chain" in dispatch else block.get("preemptors")
        ours = [other for other in others or () if self.is_cast(other, dispatch)]
        first = (ours or others or [{}])[0]
        figure = "preemptor" if "chain" in dispatch else "culprit"
        self.count(dispatch, block, figure, first.get("tid") in dispatch["preemptors"],
                   f"preemptor of {dispatch['scenario']}", first.get("comm", NOTHING))

    @staticmethod
    def is_cast(other, dispatch):
        """simjank's own threads, and the threads to blame. The truth knows nothing of other
        programs: they had the CPU as well if the block says so."""
        return other["pid"] == dispatch["pid"] or other["tid"] in dispatch["preemptors"]

    def add_innocent(self, dispatch, block):
        """The block must not name a thread that only happened to run when the wait ended."""
        named = [link["comm"] for link in block.get("chain") or () if link["tid"] not in dispatch.get("chain", ())]
        self.count(dispatch, block, "innocent", not named, NOTHING, " ".join(named) or NOTHING)

    def add_object(self, dispatch, block):
        (key, text), = dispatch["object"].items()
        found = objects(dispatch, block)
        got = next((waited[key] for waited in found if waited.get(key)), NOTHING)
        right = any(object_is(waited, key, text) for waited in found)
        self.count(dispatch, block, "object", right, f"{key} of {dispatch['scenario']}",
                   f"{key} of {dispatch['scenario']}" if right else got)

    def add_sentence(self, dispatch, block, summary):
        """Does it name the thread, file or peer to blame?"""
        names = [dispatch["culprit"]["comm"]] if "culprit" in dispatch else []
        names += [text for text in dispatch.get("object", {}).values() if "culprit" not in dispatch]
        if names:
            missing = [name for name in names if name not in summary]
            self.count(dispatch, block, "sentence", not missing, " and ".join(["named", *names][:1]),
                       "named" if not missing else NOTHING)

    def grouping(self):
        """The share of the most common signature, by scenario and in total."""
        by_name = {name: seen.most_common(1)[0][1] / sum(seen.values())
                   for name, seen in sorted(self.signatures.items())}
        total = sum(sum(seen.values()) for seen in self.signatures.values())
        common = sum(seen.most_common(1)[0][1] for seen in self.signatures.values())
        return (common / total if total else 0.0), by_name

    def shared(self):
        """Groups of scenarios that share their most common signature."""
        groups = collections.defaultdict(list)
        for name, seen in sorted(self.signatures.items()):
            groups[seen.most_common(1)[0][0]].append(name)
        return [names for names in groups.values() if len(names) > 1]

    def separation(self):
        """The number of different most common signatures per fault: blamed function and kind. Who held
        the lock, or answered, is no part of a fault."""
        common = {seen.most_common(1)[0][0] for seen in self.signatures.values()}
        return min(1.0, len(common) / len(set(self.faults.values()))) if common else 0.0

    def figures(self):
        figures = {name: rate.figures() for name, rate in self.rates.items()}
        figures.update({f"{name}s": self.rates[name].confusion() for name in ("kind", "what")})
        figures["grouping"], figures["grouping_by_scenario"] = self.grouping()
        figures["separation"], figures["shared_signatures"] = self.separation(), self.shared()
        figures["scenarios"] = {name: {key: rate.figures() for key, rate in rates.items() if rate.count()}
                                for name, rates in sorted(self.by_scenario.items())}
        return figures

    def lines(self):
        """For people: a line for each scenario, then the confusions."""
        grouping, by_name = self.grouping()
        yield f"{'scenario':<16}" + "".join(f"{name:>11}" for name in self.RATES) + "  signature"
        for name, rates in sorted(self.by_scenario.items()):
            cells = [f"{r.right}/{r.count()}" if r.count() else "" for r in (rates[c] for c in self.RATES)]
            share = f"{100 * by_name[name]:5.0f} %" if name in by_name else ""
            yield f"{name:<16}" + "".join(f"{cell:>11}" for cell in cells) + "  " + share
        for figure in ("kind", "what", "culprit", "preemptor", "object", "innocent"):
            for wanted, got in self.rates[figure].confusion().items():
                yield f"{figure} {wanted}: {', '.join(f'{name} {n}' for name, n in got.items())}"
        yield f"signatures: {100 * grouping:.1f} % in their scenario's group; shared: {self.shared() or 'none'}"
        for name, sentence in sorted(self.sentences.items()):
            yield f"{name}: {sentence}"
