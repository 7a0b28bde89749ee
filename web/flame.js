// SPDX-License-Identifier: GPL-2.0-or-later
// Flame graph of wall time, on and off the CPU. The outermost function is on top; the width is time; the colours are
// the states in which it passed.

import { button, el, stateMark } from "./dom.js";
import { duration, percent } from "./format.js";
import { STATES } from "./losses.js";
import { withTip } from "./tip.js";

const ROW = 19;
const LEAST = 0.0015; // of the width
const DEPTH_MAX = 400;

function newNode(name, frame, parent) {
  return { name, frame, parent, ns: 0, times: new Map(), children: new Map(), state: 0 };
}

function childOf(node, key, name, frame) {
  if (!node.children.has(key)) node.children.set(key, newNode(name, frame, node));
  return node.children.get(key);
}

function addTime(node, state, ns) {
  node.ns += ns;
  node.times.set(state, (node.times.get(state) || 0) + ns);
}

function treeOf(weights) {
  const root = newNode("all", null, null);
  for (const { state, ns, stack: { frames }, syscall } of weights) {
    let node = root;
    addTime(node, state, ns);
    for (let i = Math.min(frames.length, DEPTH_MAX) - 1; i >= 0; i--) {
      node = childOf(node, `${frames[i].name}\n${frames[i].module}`, frames[i].name, frames[i]);
      addTime(node, state, ns);
    }
    const word = STATES[state].replace("_", " ") + (syscall ? ` in ${syscall}` : "");
    addTime(childOf(node, `\n${state} ${syscall}`, frames.length ? word : `${word}, no stack`, null), state, ns);
  }
  return root;
}

// The program's own functions stand out.
function strengthOf(node) {
  if (!node.frame) return 65;
  if (node.frame.app) return 100;
  return node.frame.kernel ? 45 : 72;
}

// The state's colour; of several states, a part of the width for each.
function paint(box, node) {
  const parts = [...node.times].filter(([, ns]) => ns > node.ns * 0.02).sort((a, b) => b[1] - a[1]);
  const sum = parts.reduce((all, [, ns]) => all + ns, 0);
  let at = 0;
  const stops = parts.map(([state, ns]) => {
    const from = at;
    at += (100 * ns) / sum;
    return `color-mix(in srgb, var(--${STATES[state]}) ${strengthOf(node)}%, var(--mix)) ${from}% ${at}%`;
  });
  box.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
}

function tipOf(node, root) {
  const { frame } = node;
  const times = [...node.times].sort((a, b) => b[1] - a[1]).slice(0, 5);
  return [el("b", node.name), frame && (frame.file || frame.module)
    ? el("div.dim", frame.file ? `${frame.file}:${frame.line}` : frame.module) : null,
  el("div", `${duration(node.ns)}, ${percent(node.ns, root.ns)}`),
  ...times.map(([state, ns]) => el("div", stateMark(STATES[state], duration(ns))))];
}

function boxOf(node, root, depth, from, width, zoom) {
  const classes = ["button"];
  if (!node.frame) classes.push(node.parent ? "leaf" : "root");
  else if (node.frame.app) classes.push("app");
  const ret = el(classes.join("."), node.name);
  ret.type = "button";
  ret.tabIndex = -1;
  if (node.parent) paint(ret, node);
  ret.style.left = `${from * 100}%`;
  ret.style.width = `${width * 100}%`;
  ret.style.top = `${depth * ROW}px`;
  ret.addEventListener("click", () => zoom(node));
  return withTip(ret, () => tipOf(node, root));
}

// Boxes of a node and what it called, as [node, depth, from, width].
function layout(focus) {
  const boxes = [];
  const path = [];
  for (let node = focus.parent; node; node = node.parent) path.unshift(node);
  for (const node of path) boxes.push([node, boxes.length, 0, 1]);
  const place = (node, depth, from, width) => {
    boxes.push([node, depth, from, width]);
    let at = from;
    for (const child of [...node.children.values()].sort((a, b) => b.ns - a.ns)) {
      const part = (width * child.ns) / node.ns;
      if (part >= LEAST) place(child, depth + 1, at, part);
      at += part;
    }
  };
  if (focus.ns) place(focus, path.length, 0, 1);
  return boxes;
}

export function flameGraph(weights) {
  const root = treeOf(weights);
  const graph = el("div.flame");
  const reset = button("Show all", () => zoom(root));
  function zoom(focus) {
    const boxes = layout(focus);
    graph.replaceChildren(...boxes.map(([node, depth, from, width]) => boxOf(node, root, depth, from, width, zoom)));
    graph.style.height = `${(1 + Math.max(0, ...boxes.map(([, depth]) => depth))) * ROW}px`;
    reset.hidden = focus === root;
  }
  zoom(root);
  return el("div.flame-frame", graph, reset);
}
