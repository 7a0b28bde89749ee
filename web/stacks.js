// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks as text: the time of each, and its frames with the innermost first.

import { button, el, stateMark } from "./dom.js";
import { baseName, duration, percent, plural } from "./format.js";
import { STATES } from "./losses.js";

const SHOWN = 4;

export function frameRow(frame) {
  const place = frame.file ? `${frame.file}:${frame.line}` : frame.module;
  const classes = ["li", frame.app ? "app" : "", frame.kernel ? "kernel" : "", frame.inlined ? "inlined" : ""];
  const ret = el(classes.filter(Boolean).join("."), el("span.fn", frame.name), el("span.place", frame.file
    ? `${baseName(frame.file)}:${frame.line}` : baseName(frame.module)));
  ret.title = place;
  return ret;
}

export function frameList({ frames }) {
  return frames.length ? el("ol.frames", frames.map(frameRow)) : el("p.dim", "No stack.");
}

function stackText({ state, ns, cnt, stack, syscall }, whole) {
  return el("div.stack",
    el("h4", stateMark(STATES[state], el("b", duration(ns)), el("span.dim", percent(ns, whole))),
      syscall ? el("span.dim", `in ${syscall}`) : null,
      cnt > 1 ? el("span.dim", plural(cnt, "sample")) : null),
    frameList(stack));
}

// weights: those of a block or of several, the longest first.
export function stackTexts(weights) {
  const whole = weights.reduce((sum, { ns }) => sum + ns, 0);
  const list = el("div.stacks", weights.slice(0, SHOWN).map((weight) => stackText(weight, whole)));
  if (weights.length > SHOWN) {
    const more = button(`Show ${weights.length - SHOWN} more`, () => {
      more.replaceWith(...weights.slice(SHOWN, 200).map((weight) => stackText(weight, whole)));
    });
    list.append(more);
  }
  return list;
}
