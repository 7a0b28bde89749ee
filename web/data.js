// SPDX-License-Identifier: GPL-2.0-or-later
// Reads records (docs/record.md) as JSON Lines, and groups blocks by fault.

import { baseName } from "./format.js";
import { STATES } from "./losses.js";

export const report = {
  blocks: [], summaries: [], byId: new Map(), torn: false, badLines: 0, nameless: 0,
};

// Yields the text of a stream in whole lines.
export async function* wholeLines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const end = value.lastIndexOf("\n") + 1;
    if (end) {
      yield rest + value.slice(0, end);
      rest = "";
    }
    rest += value.slice(end);
  }
  if (rest) yield rest;
}

// --- frames and stacks: equal ones are one object

const known = { frames: new Map(), stacks: new Map() };

function once(table, key, make) {
  if (!table.has(key)) table.set(key, make(table.size + 1));
  return table.get(key);
}

// A frame of a record, with what is shown of it. null: there is none.
export function frameOf(frame) {
  if (!frame) return null;
  const { module = "", file = "", line = 0, offset = 0, address, kernel, inlined, app } = frame;
  const name = frame.function || (module ? `${baseName(module)}+0x${offset.toString(16)}` : address || "?");
  const key = [name, module, file, line, kernel, inlined, app].join("\n");
  return once(known.frames, key, (nr) => ({ nr, name, module, file, line, kernel, inlined, app }));
}

// Innermost frame first. same: of stacks that differ only in lines.
export function stackOf(frames) {
  const all = (frames || []).map(frameOf);
  return once(known.stacks, all.map((frame) => frame.nr).join(), () =>
    ({ frames: all, same: all.map(({ name, module }) => `${name}\n${module}`).join("\n") }));
}

// --- records

// Most of a block's text are its stacks, from chain to samples, which lists do not need. Quotes in texts have a backslash, so
// these are the members of the record.
function readHead(line) {
  const begin = line.search(/,"(chain|samples)":\[/);
  const end = line.lastIndexOf('],"stack_quality":');
  return JSON.parse(begin < 0 || end < begin ? line : line.slice(0, begin) + line.slice(end + 1));
}

// The whole record; block.head lacks its stacks.
export function recordOf(block) {
  return JSON.parse(block.line);
}

export function timeOf({ running_ns, runnable_ns, blocked_ns } = {}) {
  const all = { running: running_ns, runnable: runnable_ns, ...blocked_ns };
  return STATES.map((state) => all[state] || 0);
}

// Wall time in µs of the begin of the delay.
function realTime({ start, start_delay_ns = 0 }) {
  if (!start) return 0;
  return Math.floor(Date.parse(start.slice(0, 19) + start.slice(29)) * 1000 + Number(start.slice(20, 26)) - start_delay_ns / 1000) || 0;
}

// mark: serve's number of the record, and whether it was read.
function addBlock(head, line, mark) {
  const { cause = {}, duration_ns = 0, start_delay_ns = 0, delay_ns = start_delay_ns + duration_ns } = head;
  const block = {
    head, line, cause, id: head.id || `block-${report.nameless++}`, sig: cause.signature || "", hang: head.type === "hang",
    delay: delay_ns, real: realTime(head), time: timeOf(head.time), ...mark,
  };
  const before = head.id ? report.byId.get(head.id) : undefined;
  if (before && !isLater(block, before)) return;
  report.blocks = before ? report.blocks.filter((one) => one !== before) : report.blocks;
  report.blocks.push(block);
  report.byId.set(block.id, block);
}

// A hang that goes on, or that has ended, is the same block.
// Parts come in any order: the newest records, then the worst, then older ones.
function isLater(block, before) {
  return before.hang && (!block.hang || block.delay > before.delay);
}

// Reads whole lines. Returns what serve says of all of them.
export function readLines(text) {
  let part = null;
  let mark = {};
  for (const line of text.split("\n")) {
    if (!line) continue;
    try {
      const record = readHead(line);
      if (record.type === "block" || record.type === "hang") addBlock(record, line, mark);
      else if (record.type === "summary") report.summaries.push(record);
      else if (record.seq) mark = record;
      else if (record.end) part = record;
    } catch {
      report.badLines++;
    }
  }
  return part;
}

// --- faults

function newFault(sig) {
  return { sig, blocks: [], cnt: 0, loaded: 0, total: 0, max: 0, p50: 0, behind: 0, hangs: 0, worst: null, time: [], text: "" };
}

function addToFault(fault, block) {
  fault.blocks.push(block);
  fault.hangs += block.hang ? 1 : 0;
  fault.total += block.delay;
  fault.behind += block.head.behind || 0;
  if (!fault.worst || block.delay > fault.worst.delay) fault.worst = block;
}

function quantile(sorted, part) {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] : 0;
}

// What the list shows of a fault, for these of its blocks (loaded: their delay). null: none.
export function faultOf(fault, blocks) {
  if (!blocks.length) return null;
  const ret = newFault(fault.sig);
  for (const block of blocks) addToFault(ret, block);
  const delays = blocks.map((block) => block.delay).sort((a, b) => a - b);
  ret.cnt = blocks.length;
  ret.loaded = ret.total;
  ret.max = delays[delays.length - 1];
  ret.p50 = quantile(delays, 0.5);
  ret.time = STATES.map((_, state) => blocks.reduce((sum, block) => sum + block.time[state], 0));
  return ret;
}

// Each record has its sentence and names; a search looks in all of them.
export function searchText({ head, cause, id }) {
  const { process, thread, loop, unit, container } = head;
  const frame = frameOf(cause.frame);
  return [cause.summary, cause.signature, cause.kind, cause.what, frame && frame.name, process, thread, loop, unit, container,
    id].filter(Boolean).join("\n").toLowerCase();
}

// Forgets these blocks.
export function forget(isGone) {
  for (const block of report.blocks) if (isGone(block)) report.byId.delete(block.id);
  report.blocks = report.blocks.filter((block) => !isGone(block));
}

// Forgets everything, before it is read again.
export function forgetAll() {
  Object.assign(report, { blocks: [], summaries: [], byId: new Map(), badLines: 0 });
}
