// SPDX-License-Identifier: GPL-2.0-or-later
// The page of one block.

import { button, el, section } from "./dom.js";
import { clock, count, day, duration, percent, plural, zoneOf } from "./format.js";
import { frameOf, recordOf } from "./data.js";
import { stateBar, stateLegend } from "./bar.js";
import { blockText, copyButton } from "./copy.js";
import { facts, losses } from "./facts.js";
import { kindMark, whoChips } from "./fault.js";
import { flameGraph } from "./flame.js";
import { select, sortedBlocks } from "./state.js";
import { stackTexts } from "./stacks.js";
import { timeline } from "./timeline.js";
import { weightsOf } from "./weights.js";

// What serve adds: functions that make a node for a block.
export const blockActions = [];

function crumbs(block, fault, weights) {
  const blocks = fault ? sortedBlocks(fault) : [];
  const at = blocks.findIndex((one) => one.id === block.id);
  return el("nav.crumbs", button("← Fault", () => select(block.sig, null), "Esc"),
    at >= 0 ? el("span.dim", `block ${count(at + 1)} of ${count(blocks.length)}, by delay`) : null,
    el("span.space"),
    copyButton("Copy text", () => blockText(block, weights)),
    copyButton("Copy JSON", () => block.line),
    copyButton("Copy link", () => location.href));
}

function when(block) {
  const { start, threshold_ns, behind } = block.head;
  const zone = zoneOf(start);
  const parts = [];
  if (block.real) parts.push(`${day(block.real, zone)} ${clock(block.real, zone, 3)}`);
  if (threshold_ns) parts.push(`threshold ${duration(threshold_ns)}`);
  if (behind) parts.push(`${plural(behind, "client")} waited meanwhile`);
  if (block.cause.confidence) parts.push(`${percent(block.cause.confidence, 1)} sure`);
  return el("p.dim", parts.join(" · "));
}

function causes(block) {
  const parts = (block.cause.parts || []).slice(1).filter(({ share }) => share > 0.005);
  return parts.length ? el("p", el("span.dim", "Also: "), parts.map(({ kind, what, share, frame }) =>
    `${percent(share, 1)} ${[kind, what].filter(Boolean).join(" ").replace("_", " ")}${frame ? ` in ${frameOf(frame).name}` : ""}`).join(", ")) : null;
}

export function blockPage(block, fault) {
  const record = recordOf(block);
  const weights = weightsOf([block]);
  return [
    crumbs(block, fault, weights),
    el("div.title", kindMark(block), el("h2", el("span.delay", duration(block.delay)), " ",
      block.hang ? "so far, not ended. " : "", block.cause.summary || "The cause is not known.")),
    when(block),
    whoChips(block),
    blockActions.length ? el("p.actions", blockActions.map((make) => make(block))) : null,
    section("Where the time went", null, stateBar(block.time, block.delay), stateLegend(block.time, block.delay), causes(block)),
    section("Timeline", "each lane is a thread · click a part for its stack · drag to zoom", ...timeline(record)),
    section("Functions", "width: time · colour: what the thread did · click to zoom", flameGraph(weights)),
    section("Stacks", "innermost function first", stackTexts(weights)),
    facts(record),
    ...losses(record.lost, "this record"),
  ];
}
