// SPDX-License-Identifier: GPL-2.0-or-later
// The other fields of a record, by their names in docs/record.md, with units.

import { el, section, titled } from "./dom.js";
import { count, duration, pidText } from "./format.js";
import { LOSSES } from "./losses.js";

const GROUPS = [
  ["Message", "what the dispatch handled", ["message"]],
  ["Scheduling", "how the kernel ran the thread", ["scheduling", "faults", "preemptors"]],
  ["Machine", "its load meanwhile", ["cpu", "host", "frames"]],
  ["Process", "", ["process", "pid", "thread", "tid", "exe", "loop", "role", "uid", "unit", "cgroup", "container", "pod", "ns_pid",
    "threshold_ns"]],
];

// Shown elsewhere.
const HIDDEN = new Set(["schema", "type", "id", "start", "start_ns", "duration_ns", "start_delay_ns", "delay_ns", "cpu_ns", "behind", "time",
  "cause", "chain", "chain_sample", "samples", "lost", "severity", "occurrence"]);
const PREEMPTORS = 12;

function valueText(key, value) {
  if (typeof value !== "number") return String(value);
  if (/(^|_)ns$/.test(key)) return duration(value);
  if (/(^|_)[pt]id$/.test(key)) return pidText(value);
  if (/_pct$/.test(key)) return `${value} %`;
  if (/_kb$/.test(key)) return `${count(Math.round(value / 1024))} MiB`;
  if (/_khz$/.test(key)) return `${(value / 1e6).toFixed(2)} GHz`;
  if (/_hz$/.test(key)) return `${value} Hz`;
  return Number.isInteger(value) && !/(^|_)(uid|fd)$/.test(key) ? count(value) : String(value);
}

function labelOf(key) {
  return key.replace(/_(ns|pct|kb|khz|hz)$/, "").replace(/_/g, " ");
}

// "kworker (12) 3.2 ms" of an object in a list.
function shortObject(value) {
  return Object.entries(value).filter(([, part]) => typeof part !== "object")
    .map(([key, part]) => (key === "comm" || key === "process" ? String(part) : `${labelOf(key)} ${valueText(key, part)}`)).join(", ");
}

function rows(key, value) {
  if (value === null || value === undefined || HIDDEN.has(key)) return [];
  if (Array.isArray(value))
    return value.map((part, i) => [i ? "" : labelOf(key), typeof part === "object" ? shortObject(part) : String(part), key]);
  if (typeof value === "object")
    return Object.entries(value).flatMap(([name, part]) => rows(name, part).map(([label, ...more]) =>
      [label && ["cpu", "host", "faults", "psi", "handler", "callback", "source"].includes(key) && key !== "host"
        ? `${labelOf(key)}: ${label}` : label, ...more]));
  return [[labelOf(key), valueText(key, value), key]];
}

function table(all) {
  return el("dl.facts", all.flatMap(([label, value, key]) => [titled(el("dt", label), key), el("dd", value)]));
}

export function facts(record) {
  const { preemptors = [], scheduling } = record;
  const more = preemptors.length - PREEMPTORS;
  const all = { ...record, preemptors: preemptors.slice(0, PREEMPTORS), scheduling: more > 0 ? { ...scheduling, more_preemptors: more } : scheduling };
  const used = new Set(GROUPS.flatMap(([, , keys]) => keys));
  const others = Object.keys(all).filter((key) => !used.has(key));
  const groups = [...GROUPS, ["More", "", others]].map(([title, note, keys]) => {
    const found = keys.flatMap((key) => rows(key, all[key]));
    return found.length ? el("div.group", titled(el("h4", title), note), table(found)) : null;
  });
  return section("Facts", "names as in docs/record.md", el("div.groups", groups));
}

function lossList(what, title, found) {
  return found.length ? [el(what, el("h4", title), found.map(([reason, n, , meaning]) =>
    el("p", el("b", `${count(n)} ${reason}`), " ", el("span.dim", meaning))))] : [];
}

// What is missing, with what each reason means. What is only detail must not look like lost blocks.
export function losses(lost, whose) {
  const all = Object.entries(lost || {}).filter(([, n]) => n).map(([reason, n]) => [reason, n, ...(LOSSES[reason] || ["blocks", ""])]);
  const serious = all.filter(([, , takes]) => takes !== "detail");
  const exact = serious.some(([, , takes]) => takes === "times") ? "Detail" : "Durations are exact; detail";
  return [...lossList("div.lost", `Lost: ${whose}`, serious),
    ...lossList("div.left-out", `${exact} was left out: ${whose}`, all.filter(([, , takes]) => takes === "detail"))];
}
