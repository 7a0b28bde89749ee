// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks as text: the time of each, and its frames with the innermost first.

import { report } from "./data.js";
import { button, el, stateMark } from "./dom.js";
import { baseName, duration, percent, plural } from "./format.js";

const SHOWN = 4;

export function frameRow(frame) {
  const place = frame.file ? `${frame.file}:${frame.line}` : frame.module;
  const classes = ["li", frame.app ? "app" : "", frame.kernel ? "kernel" : "", frame.inlined ? "inlined" : ""];
  const ret = el(classes.filter(Boolean).join("."), el("span.fn", frame.name), el("span.place", frame.file
    ? `${baseName(frame.file)}:${frame.line}` : baseName(frame.module)));
  ret.title = place;
  return ret;
}

export function frameList(stack) {
  const frames = report.stacks[stack || 0];
  return frames && frames.length ? el("ol.frames", frames.map(frameRow)) : el("p.dim", "No stack.");
}

function stackOf([state, ns, cnt, stack, syscall], whole) {
  return el("div.stack",
    el("h4", stateMark(report.states[state], el("b", duration(ns)), el("span.dim", percent(ns, whole))),
      syscall ? el("span.dim", `in ${report.texts[syscall]}`) : null,
      cnt > 1 ? el("span.dim", plural(cnt, "sample")) : null),
    frameList(stack));
}

// weights: those of a block or of several, the longest first.
export function stackTexts(weights) {
  const whole = weights.reduce((sum, [, ns]) => sum + ns, 0);
  const list = el("div.stacks", weights.slice(0, SHOWN).map((weight) => stackOf(weight, whole)));
  if (weights.length > SHOWN) {
    const more = button(`Show ${weights.length - SHOWN} more`, () => {
      more.replaceWith(...weights.slice(SHOWN, 200).map((weight) => stackOf(weight, whole)));
    });
    list.append(more);
  }
  return list;
}

// Sums the weights of blocks by state, stack and system call.
export function sumWeights(blocks) {
  if (blocks.length === 1) return blocks[0].w;
  const sums = new Map();
  for (const block of blocks)
    for (const [state, ns, cnt, stack, syscall] of block.w) {
      const key = (stack * 64 + state) * 4096 + syscall;
      const sum = sums.get(key);
      if (sum) {
        sum[1] += ns;
        sum[2] += cnt;
      } else sums.set(key, [state, ns, cnt, stack, syscall]);
    }
  return [...sums.values()].sort((a, b) => b[1] - a[1]);
}
