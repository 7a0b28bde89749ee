// SPDX-License-Identifier: GPL-2.0-or-later
// A bar of time by state, and its legend.

import { el, stateClass, stateMark, stateWord } from "./dom.js";
import { duration, percent } from "./format.js";
import { STATES } from "./losses.js";

function parts(time, delay) {
  const ret = time.map((ns, state) => ({ ns, word: STATES[state] }));
  const known = time.reduce((sum, ns) => sum + ns, 0);
  // Before the dispatch began, its thread was ready and waited for a CPU.
  if (delay > known) ret.push({ ns: delay - known, word: "late" });
  return ret.filter((part) => part.ns > 0);
}

// delay: the time of the whole bar; the part without a state is the wait before the begin.
export function stateBar(time, delay, small) {
  const bar = el(small ? "div.bar.small" : "div.bar");
  const all = parts(time, delay);
  const whole = all.reduce((sum, part) => sum + part.ns, 0);
  for (const part of all) {
    const piece = el(`i.${stateClass(part.word)}`);
    piece.style.width = `${(100 * part.ns) / whole}%`;
    piece.title = `${stateWord(part.word)}: ${duration(part.ns)}`;
    bar.append(piece);
  }
  return bar;
}

export function stateLegend(time, delay) {
  const all = parts(time, delay).sort((a, b) => b.ns - a.ns);
  const whole = all.reduce((sum, part) => sum + part.ns, 0);
  return el("p.legend", all.map((part) =>
    stateMark(part.word, el("b", duration(part.ns)), el("span.dim", percent(part.ns, whole)))));
}
