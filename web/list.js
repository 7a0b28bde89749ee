// SPDX-License-Identifier: GPL-2.0-or-later
// The list of faults, the worst first.

import { frameOf, report } from "./data.js";
import { byId, el, titled } from "./dom.js";
import { count, duration } from "./format.js";
import { onChange, select, sortBy, state } from "./state.js";
import { stateBar } from "./bar.js";

const SHOWN = 500;

export const listText = { empty: "The records have no block: nothing took longer than the threshold." };

const COLUMNS = [
  ["total", "Total", "Sum of the delays"],
  ["blocks", "Blocks", "Number of blocks"],
  ["p50", "p50", "Half of the blocks took less"],
  ["max", "Max", "The longest delay"],
  ["behind", "Behind", "Clients and timers that waited meanwhile"],
];

function header() {
  return el("div.list-head", COLUMNS.map(([key, label, title]) => {
    const on = state.sort === key;
    const ret = el(on ? "button.on" : "button", label, on ? (state.descending ? " ↓" : " ↑") : "");
    ret.type = "button";
    ret.dataset.sort = key;
    ret.addEventListener("click", () => sortBy(key));
    return titled(ret, title);
  }));
}

function figures(fault) {
  return el("div.figures",
    el("b", duration(fault.total)),
    el("span", count(fault.cnt)),
    el("span", duration(fault.p50)),
    el("span", duration(fault.max)),
    el("span", fault.behind ? count(fault.behind) : "–"));
}

function row(fault) {
  const { worst } = fault;
  const frame = frameOf(worst.cause.frame);
  const unread = fault.blocks.filter((block) => block.read === false).length;
  const ret = el("button.fault",
    figures(fault),
    el("div.say", worst.cause.summary || "The cause is not known."),
    el("div.where", el("span.fn", frame ? frame.name : worst.cause.kind || "unknown"),
      el("span", worst.head.process || "?"),
      unread ? el("span.badge", `${count(unread)} unread`) : null,
      fault.hangs ? el("span.hang", `${count(fault.hangs)} not ended`) : null),
    stateBar(fault.time, fault.loaded, true));
  ret.type = "button";
  ret.dataset.sig = fault.sig;
  ret.addEventListener("click", () => select(fault.sig, null));
  return ret;
}

function mark() {
  for (const node of byId("faults").querySelectorAll(".fault")) {
    const on = node.dataset.sig === state.sig;
    node.classList.toggle("on", on);
    node.setAttribute("aria-current", String(on));
    if (on) node.scrollIntoView({ block: "nearest" });
  }
}

function show() {
  const parts = state.faults.slice(0, SHOWN).map(row);
  if (!parts.length)
    parts.push(el("p.empty", report.blocks.length ? "Nothing matches. Esc clears the search and the selection."
      : listText.empty));
  if (state.faults.length > SHOWN)
    parts.push(el("p.empty", `${count(state.faults.length - SHOWN)} faults more: search to see them.`));
  byId("faults").replaceChildren(header(), ...parts);
}

export function startList() {
  onChange((change) => {
    if (state.view !== "faults") return;
    if (change.filter) show();
    mark();
  });
}
