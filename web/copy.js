// SPDX-License-Identifier: GPL-2.0-or-later
// A block as text and as JSON, for the clipboard.

import { report, restOf } from "./data.js";
import { button } from "./dom.js";
import { duration } from "./format.js";

function frameJson(frame) {
  const ret = { function: frame.name };
  if (frame.module) ret.module = frame.module;
  if (frame.file) Object.assign(ret, { file: frame.file, line: frame.line });
  if (frame.kernel) ret.kernel = true;
  if (frame.app) ret.app = true;
  return ret;
}

export function frameText(frame) {
  const place = frame.file ? `${frame.file}:${frame.line}` : frame.module;
  return `${frame.app ? "  → " : "    "}${frame.name}${place ? `  ${place}` : ""}`;
}

export function stackText(frames) {
  return frames.map(frameText).join("\n");
}

function weightText([state, ns, cnt, stack, syscall]) {
  const call = syscall ? ` in ${report.texts[syscall]}` : "";
  return `${duration(ns)} ${report.states[state]}${call}, ${cnt} ${cnt === 1 ? "sample" : "samples"}\n` +
    stackText(report.stacks[stack] || []);
}

export function blockText(block) {
  const { process, thread, pid, tid, loop } = block.thread;
  return [
    `${duration(block.delay)}  ${block.say || "The cause is not known."}`,
    `${block.start || ""}  ${process || "?"} ${pid || ""}, thread ${thread || "?"} ${tid || ""}, ${loop || ""}`,
    `signature ${block.sig || "none"}, id ${block.id}`,
    block.time.map((ns, state) => (ns ? `${report.states[state]} ${duration(ns)}` : "")).filter(Boolean).join(", "),
    "",
    ...block.w.map(weightText),
  ].join("\n");
}

// The fields of the record, with its samples merged by stack: it is no record of the schema.
export function blockJson(block) {
  const byState = (time) => Object.fromEntries(time.map((ns, state) => [report.states[state], ns]).filter(([, ns]) => ns));
  const { samples, type, ...rest } = { ...block.thread, ...restOf(block) };
  return JSON.stringify({
    type: block.hang ? "hang" : "block", id: block.known ? block.id : undefined, start: block.start,
    start_ns: block.mono, duration_ns: block.dur, start_delay_ns: block.sd, delay_ns: block.delay, cpu_ns: block.cpu,
    behind: block.behind, ...rest, time_ns: byState(block.time),
    cause: { kind: block.kind, what: block.what, summary: block.say, signature: block.sig },
    stacks: block.w.map(([state, ns, cnt, stack, syscall]) => ({
      state: report.states[state], ns, samples: cnt, syscall: report.texts[syscall] || undefined,
      stack: (report.stacks[stack] || []).map(frameJson),
    })),
  }, null, 1);
}

function copyOld(text) {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy"); // where there is no navigator.clipboard
  area.remove();
  return done;
}

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOld(text);
  }
}

// A button that copies what text() gives, and says so.
export function copyButton(label, text) {
  const ret = button(label, async () => {
    ret.textContent = (await toClipboard(text())) ? "Copied" : "Not allowed";
    setTimeout(() => { ret.textContent = label; }, 1200);
  });
  return ret;
}
