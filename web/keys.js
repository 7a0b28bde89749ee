// SPDX-License-Identifier: GPL-2.0-or-later
// Keys, the search field, and the help.

import { byId, button, el } from "./dom.js";
import { currentFault, filter, select, sortBy, sortedBlocks, state, step } from "./state.js";

const KEYS = [
  ["j  ↓", "next fault, or next block of the fault"],
  ["k  ↑", "the one before"],
  ["Enter", "open the longest block of the fault"],
  ["Esc", "back to the fault; then clear search and selection"],
  ["/", "search: each word must be in sentence, function, process, loop, unit or signature"],
  ["s", "sort by total, blocks or the longest"],
  ["t", "light or dark"],
  ["?", "this help"],
];

const more = new Map();

// A key that only serve has.
export function addKey(key, what, action) {
  KEYS.splice(-2, 0, [key, what]);
  more.set(key, action);
}

function showHelp() {
  const dialog = byId("keys");
  dialog.replaceChildren(el("h2", "Keys"),
    el("dl", KEYS.flatMap(([key, what]) => [el("dt", el("kbd", key)), el("dd", what)])),
    el("p.dim", "A fault is all blocks with one signature. A block is a dispatch of an event loop that took longer than the threshold. ",
      "On the map, click a cell or drag to keep only those blocks. The address of the page holds what is selected."),
    button("Close", () => dialog.close()));
  dialog.showModal();
}

function open() {
  const fault = currentFault();
  if (fault && state.id === null) select(fault.sig, sortedBlocks(fault)[0].id);
}

function back() {
  if (state.id !== null) return select(state.sig, null);
  if (!state.search && !state.area) return undefined;
  byId("search").value = "";
  return filter({ search: "", area: null });
}

function nextSort() {
  const keys = ["total", "blocks", "max"];
  sortBy(keys[(keys.indexOf(state.sort) + 1) % keys.length]);
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function onSearchKey(event) {
  if (event.key === "Escape") {
    if (event.target.value) {
      event.target.value = "";
      filter({ search: "" });
    } else event.target.blur();
  } else if (event.key === "Enter" || event.key === "ArrowDown") event.target.blur();
  else return;
  event.preventDefault();
}

export function startKeys(redraw) {
  const toggle = () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    redraw();
  };
  const actions = {
    j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
    Enter: open, Escape: back, "/": () => byId("search").focus(), s: nextSort, t: toggle, "?": showHelp,
  };
  const search = byId("search");
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting); // while the user types
    waiting = setTimeout(() => filter({ search: search.value.trim().toLowerCase() }), 80);
  });
  search.addEventListener("keydown", onSearchKey);
  byId("theme").addEventListener("click", toggle);
  byId("help").addEventListener("click", showHelp);
  addEventListener("keydown", (event) => {
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : more.get(event.key);
    const inField = event.target === search || byId("keys").open;
    const onButton = event.key === "Enter" && event.target.closest("button:not(.fault)");
    if (!action || inField || onButton || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
}
