// SPDX-License-Identifier: GPL-2.0-or-later
// The list of blocks, the newest or the longest first, with a mark at those that were not read.

import { frameOf, report } from "./data.js";
import { byId, button, el } from "./dom.js";
import { clock, count, day, duration, zoneOf } from "./format.js";
import { listText } from "./list.js";
import { onChange, select, state } from "./state.js";
import { stateBar } from "./bar.js";

const STEP = 200;

// first: number of the first record of those that are loaded without a gap.
const newest = { shown: STEP, older: 0, first: 0, loadOlder: null };

function row(block) {
  const zone = zoneOf(block.head.start);
  const frame = frameOf(block.cause.frame);
  const ret = el(block.read ? "button.fault.block" : "button.fault.block.unread",
    el("div.newest-head", el("i.dot"), el("b", duration(block.delay)),
      el("span.where-name", block.head.process || "?"),
      el("span.dim", block.real ? clock(block.real, zone, 3) : "?")),
    el("div.say", block.hang ? el("span.hang", "Has not ended. ") : null, block.cause.summary || "The cause is not known."),
    el("div.where", el("span.fn", frame ? frame.name : block.cause.kind || "unknown"),
      state.muted.has(block.sig) ? el("span.badge", "muted") : null),
    stateBar(block.time, block.delay, true));
  ret.type = "button";
  ret.dataset.id = block.id;
  ret.title = `${day(block.real, zone)} ${block.read ? "" : "not read yet"}`;
  ret.addEventListener("click", () => select(block.sig, block.id));
  return ret;
}

// Rows stay the same nodes, so that a click is not lost when the list grows.
const nodes = new WeakMap();

function rowOf(block) {
  const muted = state.muted.has(block.sig);
  const known = nodes.get(block);
  if (known && known.muted === muted) return known.node;
  const node = row(block);
  nodes.set(block, { node, muted });
  return node;
}

// Days stand between the rows.
function rowsOf(blocks) {
  const ret = [];
  let last = null;
  let gap = false;
  if (state.view === "longest") return blocks.map(rowOf);
  for (const block of blocks) {
    const date = day(block.real, zoneOf(block.head.start));
    if (!gap && newest.older && block.seq < newest.first) {
      gap = true;
      ret.push(el("p.day", "Older: only the longest of each fault are loaded"));
    }
    if (date && date !== last) ret.push(el("p.day", date));
    last = date || last;
    ret.push(rowOf(block));
  }
  return ret;
}

function sameDay(a, b) {
  return a && a.className === "day" && b.className === "day" && a.textContent === b.textContent;
}

// Makes the list's children these; those that it has already are not touched.
function replaceRows(list, wanted) {
  const kept = new Set(wanted);
  for (const node of [...list.children]) if (!kept.has(node) && node.className !== "day") node.remove();
  wanted.forEach((node, i) => {
    const there = list.children[i] || null;
    if (there !== node && !sameDay(there, node)) list.insertBefore(node, there);
  });
  while (list.children.length > wanted.length) list.lastChild.remove();
}

function more() {
  if (state.newest.length > newest.shown)
    return button(`Show more (${count(state.newest.length - newest.shown)})`, () => {
      newest.shown += STEP;
      show();
    });
  if (newest.older)
    return button(`Load older records (${count(newest.older)})`, () => newest.loadOlder());
  return null;
}

function mark() {
  for (const node of byId("faults").querySelectorAll(".block")) {
    const block = report.byId.get(node.dataset.id);
    const on = node.dataset.id === state.id;
    node.classList.toggle("on", on);
    node.classList.toggle("unread", Boolean(block) && !block.read);
    node.setAttribute("aria-current", String(on));
    if (on) node.scrollIntoView({ block: "nearest" });
  }
}

function show() {
  const parts = rowsOf(state.newest.slice(0, newest.shown));
  if (!parts.length)
    parts.push(el("p.empty", report.blocks.length ? "Nothing to show: all blocks are muted, or not found by the search. Esc clears the search."
      : listText.empty));
  const moreButton = more();
  if (moreButton) parts.push(el("p.empty", moreButton));
  replaceRows(byId("faults"), parts);
}

// older: how many records the server has before number `first`; load() brings some of them.
export function setOlder(older, first, load) {
  Object.assign(newest, { older, first, loadOlder: load });
}

export function markNewest() {
  if (state.view !== "faults") mark();
}

export function startNewest() {
  onChange((change) => {
    if (state.view === "faults") return;
    if (change.filter) show();
    mark();
  });
}
