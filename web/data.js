// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the lines of JSON in the page (user/export/report/html.h) and groups blocks by fault.

import { baseName } from "./format.js";

const KERNEL = 1;
const INLINED = 2;
const APP = 4;

export const report = {
  states: [], texts: [""], frames: [null], stacks: [[]], threads: [{}],
  blocks: [], faults: [], summaries: [], bySignature: new Map(), byId: new Map(),
  version: "", cut: 0, complete: false, badLines: 0,
};

function addFrame(fn, module, file, line, flags, offset) {
  const text = report.texts;
  const name = text[fn] || (module ? `${baseName(text[module])}+${offset || "0x0"}` : offset || "?");
  report.frames.push({
    name, module: text[module] || "", file: text[file] || "", line,
    kernel: Boolean(flags & KERNEL), inlined: Boolean(flags & INLINED), app: Boolean(flags & APP),
    nr: report.frames.length,
  });
}

// The other fields of a block's record: read when they are shown.
export function restOf(block) {
  if (!block.rest) block.rest = block.restLine ? JSON.parse(block.restLine)[1] : {};
  return block.rest;
}

function addBlock(block) {
  block.thread = report.threads[block.o || 0] || {};
  block.delay = block.delay || 0;
  block.sig = block.sig || "";
  block.nr = report.blocks.length;
  block.known = Boolean(block.id);
  block.id = block.id || `block-${block.nr}`;
  report.blocks.push(block);
  report.byId.set(block.id, block);
}

function takeLine(line) {
  if (line.startsWith('["x"')) {
    if (report.blocks.length) report.blocks[report.blocks.length - 1].restLine = line;
    return;
  }
  const [kind, ...values] = JSON.parse(line);
  switch (kind) {
    case "s": report.texts.push(values[0]); break;
    case "f": addFrame(...values); break;
    case "k": report.stacks.push(values[0].map((nr) => report.frames[nr]).filter(Boolean)); break;
    case "o": report.threads.push(values[0]); break;
    case "b": addBlock(values[0]); break;
    case "r": report.summaries.push(values[0]); break;
    case "jankbpf-report": [, report.version, report.states] = values; break;
    case "end": report.complete = true; report.cut = values[1]; break;
    default: break; // of a later version
  }
}

// The name of a frame for people, without C++ arguments.
export function frameName(nr) {
  const frame = report.frames[nr || 0];
  return frame ? frame.name : "";
}

function newFault(sig) {
  return { sig, blocks: [], total: 0, max: 0, p50: 0, behind: 0, hangs: 0, worst: null, time: [], text: "" };
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

// What the list shows of a fault, for these of its blocks. null: none.
export function faultOf(fault, blocks) {
  if (!blocks.length) return null;
  const ret = newFault(fault.sig);
  for (const block of blocks) addToFault(ret, block);
  const delays = blocks.map((block) => block.delay).sort((a, b) => a - b);
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
  for (const block of report.blocks) {
    if (!report.bySignature.has(block.sig)) report.bySignature.set(block.sig, newFault(block.sig));
    report.bySignature.get(block.sig).blocks.push(block);
  }
}

// The place to blame, as its frame has it.
export function blamed(block) {
  return report.frames[block.frame || 0];
}
