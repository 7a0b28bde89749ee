// SPDX-License-Identifier: GPL-2.0-or-later
// What is selected and filtered. The address has the selection, so that a link shows the same.

import { faultOf, report, searchText } from "./data.js";

export const state = {
  search: "", // lower case
  area: null, // of the heat map: { from, to } in µs, { low, high } in ns
  sort: "total",
  descending: true,
  sig: null,
  id: null, // of the block that is shown; null: the fault
  faults: [], // that are shown, sorted
  blocks: [], // that are shown
  view: "faults", // what the list shows; serve also has "newest" and "longest", the blocks of newest
  newest: [],
  figures: null, // of each signature, if not all of its blocks are loaded: { cnt, total, max, p50 }
  muted: new Set(), // signatures whose blocks are hidden
  showMuted: false,
};

const listeners = [];

// Calls listener({ filter, select }) after each change.
export function onChange(listener) {
  listeners.push(listener);
}

function tell(change) {
  for (const listener of listeners) listener(change);
}

const values = {
  total: (fault) => fault.total,
  blocks: (fault) => fault.cnt,
  p50: (fault) => fault.p50,
  max: (fault) => fault.max,
  behind: (fault) => fault.behind,
  last: (fault) => fault.worst.real || 0,
};

function isInArea(block, area) {
  return !area || (block.real >= area.from && block.real <= area.to && block.delay >= area.low && block.delay <= area.high);
}

function isFound(block) {
  if (!state.search) return true;
  if (block.text === undefined) block.text = searchText(block);
  return state.search.split(/\s+/).every((word) => block.text.includes(word));
}

export function sortFaults() {
  const value = values[state.sort];
  const sign = state.descending ? -1 : 1;
  state.faults.sort((a, b) => sign * (value(a) - value(b)) || b.total - a.total || b.max - a.max);
}

// True if the list shows only a part of the blocks, by search or by the map.
export function isFiltered() {
  return Boolean(state.search || state.area);
}

function refilter() {
  state.blocks = report.blocks.filter((block) => (state.showMuted || !state.muted.has(block.sig)) && isFound(block) &&
    isInArea(block, state.area));
  if (state.view !== "faults") state.newest = [...state.blocks].sort(state.view === "newest" ? (a, b) => b.seq - a.seq : (a, b) => b.delay - a.delay);
  const bySig = new Map();
  for (const block of state.blocks) {
    if (!bySig.has(block.sig)) bySig.set(block.sig, []);
    bySig.get(block.sig).push(block);
  }
  state.faults = [...bySig].map(([sig, blocks]) => faultOf({ sig }, blocks));
  if (state.figures && !isFiltered()) for (const fault of state.faults) Object.assign(fault, state.figures.get(fault.sig));
  sortFaults();
}

export function currentFault() {
  return state.faults.find((fault) => fault.sig === state.sig) || null;
}

export function currentBlock() {
  return state.id === null ? null : report.byId.get(state.id) || null;
}

// --- the address

function writeAddress() {
  const words = [];
  if (state.sig !== null) words.push(`sig=${encodeURIComponent(state.sig)}`);
  if (state.id !== null) words.push(`id=${encodeURIComponent(state.id)}`);
  const hash = words.length ? `#${words.join("&")}` : "";
  if (hash && hash !== location.hash) history.replaceState(null, "", hash);
}

export function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  const block = words.has("id") ? report.byId.get(words.get("id")) : undefined;
  if (block) select(block.sig, block.id);
  else if (report.blocks.some(({ sig }) => sig === words.get("sig"))) select(words.get("sig"), null);
}

// --- changes

export function select(sig, id) {
  if (sig === state.sig && id === state.id) return;
  state.sig = sig;
  state.id = id;
  writeAddress();
  tell({ select: true });
}

// quiet: the details stay as they are.
export function filter(change, quiet) {
  Object.assign(state, change);
  refilter();
  const lost = !currentFault() || (state.id !== null && !currentBlock());
  if (!currentFault()) {
    state.sig = state.faults.length ? state.faults[0].sig : null;
    state.id = null;
  }
  if (lost && state.id !== null) state.id = null;
  tell({ filter: true, select: !quiet || lost });
}

export function sortBy(key) {
  state.descending = state.sort === key ? !state.descending : true;
  state.sort = key;
  sortFaults();
  tell({ filter: true });
}

// The next fault of the list, or the next block of the fault.
export function step(by) {
  const fault = currentFault();
  if (state.view !== "faults") return stepNewest(by);
  if (state.id !== null && fault) {
    const blocks = sortedBlocks(fault);
    const at = blocks.findIndex((block) => block.id === state.id);
    const next = blocks[Math.max(0, Math.min(blocks.length - 1, at + by))];
    if (next) select(state.sig, next.id);
  } else if (state.faults.length) {
    const at = state.faults.indexOf(fault);
    select(state.faults[Math.max(0, Math.min(state.faults.length - 1, at + by))].sig, null);
  }
  return undefined;
}

function stepNewest(by) {
  const at = state.newest.findIndex((block) => block.id === state.id);
  const next = state.newest[Math.max(0, Math.min(state.newest.length - 1, at + by))];
  if (next) select(next.sig, next.id);
}

export function sortedBlocks(fault) {
  if (!fault.sorted) fault.sorted = [...fault.blocks].sort((a, b) => b.delay - a.delay);
  return fault.sorted;
}
