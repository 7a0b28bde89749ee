// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers and times as text.

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

// Three significant digits: "412 µs", "98.3 ms", "1.25 s", "3 min 20 s".
export function duration(ns) {
  if (!Number.isFinite(ns)) return "?";
  if (ns < 0) return "−" + duration(-ns);
  if (ns >= 60e9) {
    const seconds = Math.round(ns / 1e9);
    return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }
  const [size, unit] = UNITS.find(([least]) => ns >= least * 0.9995) || [1, "ns"];
  const value = ns / size;
  const decimals = unit === "ns" || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(decimals)} ${unit}`;
}

// A round duration on an axis: "10 ms".
export function roundDuration(ns) {
  const [size, unit] = UNITS.find(([least]) => ns >= least * 0.9995) || [1, "ns"];
  return `${Number((ns / size).toPrecision(3))} ${unit}`;
}

// Of a process or thread outside of the tracer's pid namespace, the machine's id (JANK_PID_OUTSIDE in bpf/jank_abi.h).
export function pidText(pid) {
  return pid >= 2e9 ? `${pid - 2e9} of the machine` : String(pid);
}

export function count(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function plural(n, noun) {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

export function percent(part, whole) {
  if (!whole) return "";
  const value = (100 * part) / whole;
  if (value > 0 && value < 1) return "<1 %";
  if (value < 100 && value > 99) return ">99 %";
  return `${Math.round(value)} %`;
}

export function baseName(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

// "+02:00" of an RFC 3339 time, in minutes.
export function zoneOf(start) {
  const found = /([+-])(\d\d):(\d\d)$/.exec(start || "");
  if (!found) return 0;
  const minutes = Number(found[2]) * 60 + Number(found[3]);
  return found[1] === "-" ? -minutes : minutes;
}

// Wall time in µs as the traced machine's clock showed it.
export function clock(us, zone, digits) {
  if (!us) return "?";
  const date = new Date(us / 1000 + zone * 60000);
  const text = date.toISOString();
  return digits === undefined ? text.slice(11, 19) : text.slice(11, 20 + digits);
}

export function day(us, zone) {
  return us ? new Date(us / 1000 + zone * 60000).toISOString().slice(0, 10) : "";
}
