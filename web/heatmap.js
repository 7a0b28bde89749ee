// SPDX-License-Identifier: GPL-2.0-or-later
// Blocks over time: x is the time of day, y the delay (log), the colour their number. Dragging selects an area.

import { report } from "./data.js";
import { byId, colorOf, el } from "./dom.js";
import { clock, duration, plural, roundDuration, zoneOf, day } from "./format.js";
import { filter, onChange, state } from "./state.js";
import { hideTip, showTip } from "./tip.js";

const LEFT = 58;
const RIGHT = 14;
const TOP = 8;
const BOTTOM = 20;
const CELL_X = 8;
const CELL_Y = 8;
const STEPS_S = [1e-6, 1e-5, 1e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900,
  1800, 3600, 7200, 14400, 43200, 86400, 604800];

const view = { width: 0, height: 0, from: 0, to: 1, low: 0, high: 1, zone: 0, cells: new Map(), drag: null };

function fit() {
  const timed = report.blocks.filter((block) => block.real && block.delay);
  const range = (values) => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  let [from, to] = range(timed.map((block) => block.real));
  const [low, high] = range(timed.map((block) => block.delay));
  if (!timed.length) return false;
  const margin = Math.max((to - from) * 0.015, 1000);
  [from, to] = [from - margin, to + margin];
  Object.assign(view, { from, to, low: Math.log10(low) - 0.08, high: Math.log10(high) + 0.12, zone: zoneOf(timed[0].head.start) });
  return true;
}

const toX = (us) => LEFT + ((us - view.from) / (view.to - view.from)) * (view.width - LEFT - RIGHT);
const toY = (ns) => view.height - BOTTOM - ((Math.log10(ns) - view.low) / (view.high - view.low)) * (view.height - TOP - BOTTOM);
const fromX = (x) => view.from + ((x - LEFT) / (view.width - LEFT - RIGHT)) * (view.to - view.from);
const fromY = (y) => 10 ** (view.low + ((view.height - BOTTOM - y) / (view.height - TOP - BOTTOM)) * (view.high - view.low));

function cellOf(x, y) {
  return [LEFT + Math.floor((x - LEFT) / CELL_X) * CELL_X, TOP + Math.floor((y - TOP) / CELL_Y) * CELL_Y];
}

function collect(blocks) {
  view.cells = new Map();
  for (const block of blocks) {
    if (!block.real || !block.delay) continue;
    const [x, y] = cellOf(toX(block.real), toY(block.delay));
    const key = `${x},${y}`;
    if (!view.cells.has(key)) view.cells.set(key, { x, y, count: 0, own: 0, max: 0 });
    const cell = view.cells.get(key);
    cell.count++;
    cell.own += block.sig === state.sig ? 1 : 0;
    cell.max = Math.max(cell.max, block.delay);
  }
}

function axes(g) {
  g.font = "11px system-ui, sans-serif";
  g.strokeStyle = colorOf("line");
  g.fillStyle = colorOf("dim");
  g.lineWidth = 1;
  g.textAlign = "right";
  g.textBaseline = "middle";
  const wide = view.high - view.low > 2.4;
  let last = Infinity;
  for (let power = Math.floor(view.low); power <= view.high; power++)
    for (const digit of wide ? [1] : [1, 2, 5]) {
      const y = Math.round(toY(digit * 10 ** power)) + 0.5;
      if (y < TOP + 4 || y > Math.min(view.height - BOTTOM, last - 16)) continue;
      last = y;
      g.beginPath();
      g.moveTo(LEFT, y);
      g.lineTo(view.width - RIGHT, y);
      g.stroke();
      g.fillText(roundDuration(digit * 10 ** power), LEFT - 8, y);
    }
  const step = STEPS_S.find((s) => (view.to - view.from) / 1e6 / s <= (view.width - LEFT) / 110) || 604800;
  const digits = step < 0.001 ? 6 : step < 1 ? 3 : undefined;
  g.textAlign = "center";
  g.textBaseline = "alphabetic";
  for (let us = Math.ceil(view.from / 1e6 / step) * step * 1e6; us <= view.to; us += step * 1e6)
    g.fillText(step >= 86400 ? day(us, view.zone) : clock(us, view.zone, digits), toX(us), view.height - 5);
}

function draw() {
  const canvas = byId("heatmap");
  const scale = devicePixelRatio || 1;
  view.width = canvas.clientWidth;
  view.height = canvas.clientHeight;
  canvas.width = view.width * scale;
  canvas.height = view.height * scale;
  const g = canvas.getContext("2d");
  g.scale(scale, scale);
  if (!fit()) return;
  axes(g);
  collect(state.area || state.search ? state.blocks : report.blocks);
  const most = Math.max(1, ...[...view.cells.values()].map((cell) => cell.count));
  const [own, all] = [colorOf("accent"), colorOf("heat")];
  for (const cell of view.cells.values()) {
    g.globalAlpha = 0.4 + 0.6 * (Math.log(cell.count + 1) / Math.log(most + 1));
    g.fillStyle = cell.own ? own : all;
    g.fillRect(cell.x + 0.5, cell.y + 0.5, CELL_X - 1.5, CELL_Y - 1.5);
  }
  g.globalAlpha = 1;
  drawArea(g);
}

function drawArea(g) {
  const area = view.drag || state.area;
  if (!area) return;
  const [x, y] = [toX(area.from), toY(area.high)];
  g.strokeStyle = colorOf("accent");
  g.strokeRect(x, y, toX(area.to) - x, toY(area.low) - y);
}

function note() {
  const { area } = state;
  byId("map-note").replaceChildren(...(area
    ? [`${plural(state.blocks.length, "block")} of ${clock(area.from, view.zone, 3)} to ${clock(area.to, view.zone, 3)}, ` +
       `${duration(area.low)} to ${duration(area.high)}. Esc shows all.`]
    : [el("span", "Each cell: blocks at a time (across) with a delay (up). "), el("i.key-heat"), " all ",
      el("i.key-own"), " the selected fault. Drag to select."]));
}

function areaOf(a, b) {
  return { from: fromX(Math.min(a.x, b.x)), to: fromX(Math.max(a.x, b.x)), low: fromY(Math.max(a.y, b.y)), high: fromY(Math.min(a.y, b.y)) };
}

function cellArea(at) {
  const [x, y] = cellOf(at.x, at.y);
  return view.cells.has(`${x},${y}`) ? areaOf({ x: x - 1, y: y - 1 }, { x: x + CELL_X + 1, y: y + CELL_Y + 1 }) : null;
}

function tipOf(event) {
  const [x, y] = cellOf(event.offsetX, event.offsetY);
  const cell = view.cells.get(`${x},${y}`);
  if (!cell) return hideTip();
  return showTip(event, el("b", plural(cell.count, "block")), el("div", `${clock(fromX(x), view.zone, 3)}, up to ${duration(cell.max)}`),
    cell.own ? el("div.dim", `${cell.own} of the selected fault`) : null);
}

function listen(canvas) {
  let begin = null;
  canvas.addEventListener("mousedown", (event) => { begin = { x: event.offsetX, y: event.offsetY }; });
  canvas.addEventListener("mousemove", (event) => {
    if (!begin) return tipOf(event);
    view.drag = areaOf(begin, { x: event.offsetX, y: event.offsetY });
    return draw();
  });
  canvas.addEventListener("mouseleave", hideTip);
  addEventListener("mouseup", (event) => {
    if (!begin) return;
    const box = canvas.getBoundingClientRect();
    const end = { x: event.clientX - box.left, y: event.clientY - box.top };
    const moved = Math.hypot(end.x - begin.x, end.y - begin.y) > 5;
    const area = moved ? areaOf(begin, end) : cellArea(end);
    begin = null;
    view.drag = null;
    filter({ area });
  });
}

export function startHeatmap() {
  listen(byId("heatmap"));
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  onChange(() => {
    draw();
    note();
  });
}

export const redrawHeatmap = draw;
