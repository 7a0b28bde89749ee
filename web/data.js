// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the lines of JSON in the page (user/export/report/html.h) and groups blocks by fault.

import { baseName } from "./format.js";

const KERNEL = 1;
const INLINED = 2;
const APP = 4;

export const report = {
  states: [], texts: [""], frames: [null], stacks: [[]], threads: [{}],
  blocks: [], faults: [], summaries: [], bySignature: new Map(), byId: new Map(),
  version: "", cut: 0, complete: false, badLines: 0, nameless: 0, part: null,
};

// Data may come in parts (serve), each with its own numbers from 1 on. own has, by them, the numbers in the report; null:
// the first part, which has the same ones.
const TABLES = ["texts", "frames", "stacks", "threads"];
const NONE = { texts: [""], frames: [null], stacks: [[]], threads: [{}] };
const keyOf = {
  texts: (text) => text,
  frames: (frame) => [frame.name, frame.module, frame.file, frame.line, frame.kernel, frame.inlined, frame.app].join("\n"),
  stacks: (frames) => frames.map((frame) => frame.nr).join(),
  threads: (thread) => JSON.stringify(thread),
};
let own = null;
let numbers = {}; // of each table: keys to numbers
let last = null; // the block that later lines complete

function beginPart() {
  own = report.complete ? Object.fromEntries(TABLES.map((table) => [table, [0]])) : null;
  report.complete = false;
}

function numberOf(table, value) {
  const all = report[table];
  if (!numbers[table]) numbers[table] = new Map(all.slice(1).map((one, i) => [keyOf[table](one), i + 1]));
  const key = keyOf[table](value);
  if (!numbers[table].has(key)) {
    numbers[table].set(key, all.length);
    all.push(value);
  }
  return numbers[table].get(key);
}

function addTo(table, value) {
  if (own) own[table].push(numberOf(table, value));
  else report[table].push(value);
}

function find(table, nr) {
  return report[table][own ? own[table][nr] : nr];
}

function addFrame(fn, module, file, line, flags, offset) {
  const path = find("texts", module);
  const name = find("texts", fn) || (path ? `${baseName(path)}+${offset || "0x0"}` : offset || "?");
  addTo("frames", {
    name, module: path || "", file: find("texts", file) || "", line,
    kernel: Boolean(flags & KERNEL), inlined: Boolean(flags & INLINED), app: Boolean(flags & APP),
    nr: report.frames.length,
  });
}

// The places of numbers in the lists of a block.
const IN_LISTS = {
  parts: { 3: "frames" },
  w: { 3: "stacks", 4: "texts" },
  spans: { 4: "texts", 5: "texts", 6: "texts", 7: "stacks", 8: "stacks" },
  ticks: { 1: "stacks" },
  chain: { 3: "texts", 4: "texts", 9: "texts", 10: "texts", 11: "stacks", 12: "stacks" },
};

function renumber(block) {
  if (!own) return;
  block.o = own.threads[block.o || 0];
  block.frame = own.frames[block.frame || 0];
  for (const [list, places] of Object.entries(IN_LISTS))
    for (const row of block[list] || [])
      for (const [at, table] of Object.entries(places)) row[at] = own[table][row[at]] || 0;
}

// The other fields of a block's record: read when they are shown.
export function restOf(block) {
  if (!block.rest) block.rest = block.restLine ? JSON.parse(block.restLine)[1] : {};
  return block.rest;
}

// A hang that goes on, or that has ended, is the same block.
// Parts come in any order: the newest records, then the worst, then older ones.
function isNewer(block) {
  const known = block.known ? report.byId.get(block.id) : undefined;
  if (!known) return true;
  if (!known.hang || (block.hang && block.delay <= known.delay)) return false;
  report.blocks = report.blocks.filter((one) => one !== known);
  return true;
}

function addBlock(block) {
  renumber(block);
  block.thread = report.threads[block.o || 0] || {};
  block.delay = block.delay || 0;
  block.sig = block.sig || "";
  block.known = Boolean(block.id);
  block.id = block.id || `block-${report.nameless++}`;
  last = block;
  if (!isNewer(block)) return;
  report.blocks.push(block);
  report.byId.set(block.id, block);
}

function takeLine(line) {
  if (line.startsWith('["x"')) {
    if (last) last.restLine = line;
    return;
  }
  const [kind, ...values] = JSON.parse(line);
  switch (kind) {
    case "s": addTo("texts", values[0]); break;
    case "f": addFrame(...values); break;
    case "k": addTo("stacks", values[0].map((nr) => find("frames", nr)).filter(Boolean)); break;
    case "o": addTo("threads", values[0]); break;
    case "b": addBlock(values[0]); break;
    case "r": report.summaries.push(values[0]); break;
    case "q": if (last) [last.seq, last.read] = [values[0], Boolean(values[1])]; break;
    case "part": report.part = values; break;
    case "jankbpf-report": [, report.version, report.states] = values; beginPart(); break;
    case "end": report.complete = true; report.cut += values[1]; break;
    default: break; // of a later version
  }
}

// The name of a frame for people, without C++ arguments.
export function frameName(nr) {
  const frame = report.frames[nr || 0];
  return frame ? frame.name : "";
}

function newFault(sig) {
  return { sig, blocks: [], cnt: 0, loaded: 0, total: 0, max: 0, p50: 0, behind: 0, hangs: 0, worst: null, time: [], text: "" };
}

function addToFault(fault, block) {
  fault.blocks.push(block);
  fault.hangs += block.hang ? 1 : 0;
  fault.total += block.delay;
  fault.behind += block.behind || 0;
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
  ret.time = report.states.map((_, state) => blocks.reduce((sum, block) => sum + block.time[state], 0));
  return ret;
}

// Each record has its sentence and names; a search looks in all of them.
export function searchText(block) {
  const { process, thread, loop, unit, container } = block.thread;
  return [block.say, block.sig, block.kind, block.what, frameName(block.frame), process, thread, loop, unit, container,
    block.id].filter(Boolean).join("\n").toLowerCase();
}

export function read(text) {
  let at = 0;
  while (at < text.length) {
    let end = text.indexOf("\n", at);
    if (end < 0) end = text.length;
    if (end > at) {
      try {
        takeLine(text.slice(at, end));
      } catch {
        report.badLines++;
      }
    }
    at = end + 1;
  }
  group();
}

function group() {
  report.bySignature = new Map();
  for (const block of report.blocks) {
    if (!report.bySignature.has(block.sig)) report.bySignature.set(block.sig, newFault(block.sig));
    report.bySignature.get(block.sig).blocks.push(block);
  }
}

// Forgets these blocks.
export function forget(isGone) {
  for (const block of report.blocks) if (isGone(block)) report.byId.delete(block.id);
  report.blocks = report.blocks.filter((block) => !isGone(block));
  group();
}

// Forgets everything, before it is read again.
export function forgetAll() {
  for (const table of TABLES) report[table] = [...NONE[table]];
  Object.assign(report, { blocks: [], summaries: [], byId: new Map(), cut: 0, complete: false, badLines: 0 });
  [own, numbers, last] = [null, {}, null];
  group();
}

// The place to blame, as its frame has it.
export function blamed(block) {
  return report.frames[block.frame || 0];
}
