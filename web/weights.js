// SPDX-License-Identifier: GPL-2.0-or-later
// Wall time of blocks by state, system call and stack, to the nanosecond: as user/export/report/weights.c.

import { recordOf, stackOf } from "./data.js";
import { STATES } from "./losses.js";

const RUNNING = 0;
const RUNNABLE = 1;

export function stateOf(word) {
  const state = STATES.indexOf(word);
  return state < 0 ? STATES.indexOf("other") : state;
}

export function isTick({ ns, state }) {
  return !ns && stateOf(state) === RUNNING;
}

// Ticks share the running time. The account of time is exact: a span that is longer is cut to it, what it has more is time
// without a stack.
function partsOf(block) {
  const { samples = [] } = recordOf(block);
  const left = [...block.time];
  const ticks = samples.filter(isTick).length;
  const ret = [];
  const add = (state, most, cnt, { stack, syscall }) => {
    const ns = Math.min(most, left[state]);
    left[state] -= ns;
    if (ns) ret.push({ state, ns, cnt, stack: stackOf(stack), syscall: syscall || "", longest: ns });
  };
  let tick = 0;
  const untilTick = () => Math.floor((block.time[RUNNING] * tick) / ticks);
  for (const sample of samples) {
    const state = stateOf(sample.state);
    const { ns = 0, runnable_ns = 0 } = sample;
    const late = state === RUNNABLE ? 0 : Math.min(runnable_ns, ns);
    if (isTick(sample)) {
      const from = untilTick();
      tick++;
      add(RUNNING, untilTick() - from, 1, sample);
    } else {
      add(state, ns - late, 1, sample);
      add(RUNNABLE, late, ns === late ? 1 : 0, sample);
    }
  }
  left.forEach((ns, state) => add(state, ns, 0, {}));
  return ret;
}

// Equal ones as one, with the stack of the longest; the longest first.
function merge(parts) {
  const sums = new Map();
  for (const part of parts) {
    const key = `${part.state} ${part.syscall}\n${part.stack.same}`;
    const sum = sums.get(key);
    if (!sum) {
      sums.set(key, { ...part });
      continue;
    }
    sum.ns += part.ns;
    sum.cnt += part.cnt;
    if (part.longest > sum.longest) Object.assign(sum, { longest: part.longest, stack: part.stack });
  }
  return [...sums.values()].sort((a, b) => b.ns - a.ns || a.state - b.state);
}

export function weightsOf(blocks) {
  for (const block of blocks) if (!block.weights) block.weights = merge(partsOf(block));
  return merge(blocks.flatMap((block) => block.weights));
}
