// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of the page around the list: totals, details, warnings.

import { report } from "./data.js";
import { byId, el } from "./dom.js";
import { clock, count, day, duration, plural, zoneOf } from "./format.js";
import { blockPage } from "./block.js";
import { losses } from "./facts.js";
import { faultPage } from "./fault.js";
import { redrawHeatmap, startHeatmap } from "./heatmap.js";
import { startKeys } from "./keys.js";
import { startList } from "./list.js";
import { currentBlock, currentFault, filter, isFiltered, onChange, readAddress, state } from "./state.js";

export const pageTitle = { prefix: "", text: "jankbpf report" };

// Of serve, while not all is loaded: functions that give { blocks, faults, delay } of all records, or null.
export const wholeOf = { now: () => null };

function period() {
  const timed = report.blocks.filter((block) => block.real);
  if (!timed.length) return "";
  const zone = zoneOf(timed[0].head.start);
  const [first, last] = timed.reduce(([a, b], block) => [Math.min(a, block.real), Math.max(b, block.real)], [Infinity, 0]);
  const days = [day(first, zone), day(last, zone)];
  return `${days[0]} ${clock(first, zone)} – ${days[1] === days[0] ? "" : `${days[1]} `}${clock(last, zone)}`;
}

// Not all is loaded: the counts are of all records, whatever is here.
function showWhole(whole) {
  const shown = isFiltered() ? [el("b", count(state.blocks.length)), " shown of "] : [];
  const loaded = el("span", `(${count(report.blocks.length)} loaded)`);
  loaded.title = "The lists and the map have the newest blocks and the longest of each fault; the counts are of all";
  byId("totals").replaceChildren(...shown, el("b", count(whole.blocks)), " blocks ", loaded, " · ", el("b", count(whole.faults)),
    whole.faults === 1 ? " fault · " : " faults · ", `${duration(whole.delay)} of delay · `, el("span.dim", period()));
}

function showTotals() {
  const whole = wholeOf.now();
  if (whole) {
    showWhole(whole);
    return;
  }
  const total = state.blocks.reduce((sum, block) => sum + block.delay, 0);
  const part = state.blocks.length < report.blocks.length ? ` of ${count(report.blocks.length)}` : "";
  const processes = new Set(state.blocks.map((block) => `${block.head.process} ${block.head.pid}`)).size;
  byId("totals").replaceChildren(el("b", `${count(state.blocks.length)}${part}`), " blocks · ",
    el("b", count(state.faults.length)), state.faults.length === 1 ? " fault · " : " faults · ",
    `${plural(processes, "process").replace("processs", "processes")} · ${duration(total)} of delay · `, el("span.dim", period()));
}

function warnings() {
  const ret = report.summaries.flatMap((summary) =>
    losses(summary.lost, summary.incomplete ? `${plural(summary.incomplete, "record")} of the run` : "the run"));
  if (report.torn) ret.push(el("p.lost", "This file is torn: its end is missing."));
  if (report.badLines) ret.push(el("p.lost", `${plural(report.badLines, "line")} of the data could not be read.`));
  return ret;
}

function showDetail() {
  const block = currentBlock();
  const fault = currentFault();
  const content = block ? blockPage(block, fault) : fault ? [...faultPage(fault), ...warnings()] : warnings();
  const detail = byId("detail");
  detail.replaceChildren(...content.filter(Boolean));
  detail.scrollTop = 0;
  document.title = pageTitle.prefix + (block ? `${duration(block.delay)} ${block.cause.summary || ""}` : pageTitle.text);
}

// Starts all parts, with the data that was read.
export function startPage() {
  onChange((change) => {
    if (change.filter) showTotals();
    if (change.select) showDetail();
  });
  startList();
  startHeatmap();
  startKeys(redrawHeatmap);
  filter({});
  readAddress();
  addEventListener("hashchange", readAddress);
}
