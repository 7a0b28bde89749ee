// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a fault: its blocks, and where their time went.

import { frameOf } from "./data.js";
import { el, section, stateClass } from "./dom.js";
import { clock, count, day, duration, plural, zoneOf } from "./format.js";
import { stateBar, stateLegend } from "./bar.js";
import { flameGraph } from "./flame.js";
import { select, sortedBlocks } from "./state.js";
import { STATES } from "./losses.js";
import { stackTexts } from "./stacks.js";
import { weightsOf } from "./weights.js";

const SHOWN = 100;

export function chip(label, value, title) {
  if (!value) return null;
  const ret = el("span.chip", el("span.dim", label), el("span.value", value));
  if (title) ret.title = title;
  return ret;
}

export function whoChips(block) {
  const frame = frameOf(block.cause.frame);
  const { process, exe, thread, loop, unit } = block.head;
  return el("p.chips",
    chip("function", frame && frame.name, frame && (frame.file ? `${frame.file}:${frame.line}` : frame.module)),
    chip("process", process, exe),
    chip("thread", thread),
    chip("loop", loop),
    chip("unit", unit),
    chip("signature", block.sig));
}

// Kinds of causes that are no states of the records.
const DERIVED_KINDS = ["filesystem", "terminal", "child"];

export function kindMark({ cause }) {
  const word = [cause.kind, cause.what].filter(Boolean).join(" · ") || "unknown";
  const kind = cause.kind === "cpu" || cause.kind === "kernel" ? "running" : cause.kind;
  const known = STATES.includes(kind) || DERIVED_KINDS.includes(kind);
  return el("span.kind", el(`i.${stateClass(known ? kind : "other")}`), word.replace("_", " "));
}

function figure(label, value) {
  return el("div", el("b", value), el("span.dim", label));
}

function blockRow(block) {
  const zone = zoneOf(block.head.start);
  const ret = el("button.block-row",
    el("b", duration(block.delay)),
    el("span.dim", block.real ? clock(block.real, zone, 3) : "?"),
    stateBar(block.time, block.delay, true),
    el("span.say", block.hang ? "Has not ended. " : "", block.cause.summary || "The cause is not known."));
  ret.type = "button";
  ret.dataset.id = block.id;
  ret.title = `${day(block.real, zone)} ${block.id}`;
  ret.addEventListener("click", () => select(block.sig, block.id));
  return ret;
}

function blockList(fault) {
  const blocks = sortedBlocks(fault);
  const list = el("div.block-list", blocks.slice(0, SHOWN).map(blockRow));
  if (blocks.length > SHOWN)
    list.append(el("p.empty", `${count(blocks.length - SHOWN)} shorter blocks more: select an area of the map above to see them.`));
  return list;
}

function loadedText(fault) {
  const loaded = fault.blocks.length;
  return loaded < fault.cnt ? `of the ${plural(loaded, "block")} that ${loaded === 1 ? "is" : "are"} loaded, of ${count(fault.cnt)}` : plural(loaded, "block");
}

// What serve adds: functions that make a node for a fault.
export const faultActions = [];

export function faultPage(fault) {
  const { worst } = fault;
  const weights = weightsOf(fault.blocks);
  return [
    el("div.title", kindMark(worst), el("h2", worst.cause.summary || "The cause is not known.")),
    whoChips(worst),
    faultActions.length ? el("p.actions", faultActions.map((make) => make(fault))) : null,
    el("div.figures-row", figure("total", duration(fault.total)), figure("blocks", count(fault.cnt)),
      figure("p50", duration(fault.p50)), figure("longest", duration(fault.max)),
      fault.behind ? figure("clients behind", count(fault.behind)) : null),
    section("Where the time went", loadedText(fault), stateBar(fault.time, fault.loaded), stateLegend(fault.time, fault.loaded)),
    section("Functions", "width: time · colour: what the thread did · click to zoom", flameGraph(weights)),
    section("Blocks", "the longest first · Enter opens one", blockList(fault)),
    section("Stacks", "of these blocks, innermost function first", stackTexts(weights)),
  ];
}
