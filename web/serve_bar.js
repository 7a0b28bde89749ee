// SPDX-License-Identifier: GPL-2.0-or-later
// The bar under the head: which list, what is unread or muted, what the server does, and troubles.

import { byId, button, el } from "./dom.js";
import { count, plural } from "./format.js";
import { askDeleteAll } from "./serve_actions.js";
import { filter, state } from "./state.js";

const bar = el("nav.serve-bar");
const troubles = el("div.troubles");

// Made once, and only changed later: a click must not be lost when the state changes.
const parts = {
  newest: el("button.plain", "Newest"), longest: el("button.plain", "Longest"), faults: el("button.plain", "Faults"), unread: el("b.unread-count"),
  readAll: el("button.plain", "Mark all read"), load: el("button.plain"), muted: el("button.plain"), dot: el("i.live-dot"), word: el("span"),
  removeAll: el("button.plain", "Delete all…"),
};

const VIEWS = ["newest", "longest", "faults"];

function markView() {
  for (const view of VIEWS) {
    parts[view].classList.toggle("on", state.view === view);
    parts[view].setAttribute("aria-pressed", String(state.view === view));
  }
}

function muteRow({ signature, blocks }, server) {
  return el("p.mute-row", el("span.fn", signature), el("span.dim", plural(blocks, "block")), button("Unmute", () => {
    byId("keys").close();
    server.mute(signature, false);
  }));
}

function showMuted(info, server) {
  const dialog = byId("keys");
  dialog.replaceChildren(el("h2", "Muted faults"), el("p.dim", "Their blocks are kept and counted, but not shown."),
    ...info.muted.map((mute) => muteRow(mute, server)),
    el("div.dialog-buttons", button(state.showMuted ? "Hide them in the list" : "Show them in the list", () => {
      filter({ showMuted: !state.showMuted });
      dialog.close();
    }), button("Close", () => dialog.close())));
  dialog.showModal();
}

// What the server does: a word, and the class of its dot.
function activity(info, lost) {
  if (lost) return [lost, "bad"];
  if (!info) return ["connecting…", ""];
  if (info.gone) return ["the directory is gone: waiting for it", "bad"];
  if (info.deleting) return ["deleting…", "busy"];
  if (info.unparsed) return [`reading, ${count(info.unparsed)} left`, "busy"];
  return ["live", "live"];
}

function troubleTexts(info) {
  return [
    info.damage ? `Damaged records were left out. ${info.damage}${info.odd > 1 ? `, and ${count(info.odd - 1)} more` : ""}.` : null,
    info.left ? `${plural(info.left, "old block")} ${info.left === 1 ? "is" : "are"} left out, because the directory has more records than this server lists. ` +
      "They are counted; the longest are here. jankbpf report reads all." : null,
    info.unsaved ? `What is read and muted cannot be kept in the directory: ${info.unsaved}.` : null,
    info.readonly ? `The directory cannot be written, so nothing can be deleted: ${info.readonly}.` : null,
  ].filter(Boolean);
}

export function say(error) {
  const text = el("p.lost", error.message);
  text.append(button("Close", () => text.remove()));
  troubles.append(text);
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
  node.hidden = !text;
}

// Shows the state of the server. info: as /events has it, or null; lost: why there is no connection, or "".
export function showBar(info, lost) {
  const [word, kind] = activity(info, lost);
  const unread = info ? info.unread : 0;
  setText(parts.unread, info ? (unread ? `${count(unread)} unread` : "all read") : "");
  parts.unread.classList.toggle("none", !unread);
  parts.readAll.hidden = !unread;
  setText(parts.muted, info && info.muted.length ? `${plural(info.muted.length, "fault")} muted (${plural(info.hidden, "block")})` : "");
  parts.dot.className = kind ? `live-dot ${kind}` : "live-dot";
  setText(parts.word, word);
  parts.removeAll.hidden = !info || !info.blocks || Boolean(info.readonly);
  showTroubles(info ? troubleTexts(info) : []);
}

function showTroubles(texts) {
  const shown = [...troubles.querySelectorAll(".of-state")];
  if (shown.map((node) => node.textContent).join("\n") === texts.join("\n")) return;
  for (const node of shown) node.remove();
  troubles.prepend(...texts.map((text) => el("p.lost.of-state", text)));
}

// older: number of the server's records that are not loaded.
export function showOlder(older) {
  setText(parts.load, older ? `Load older (${plural(older, "record")})` : "");
  parts.load.title = "Their counts are in the figures; what the lists and the map show is loaded";
}

// server: as for startActions, and info(), readAll() and loadOlder().
export function startBar(server) {
  for (const view of VIEWS) {
    parts[view].dataset.view = view;
    parts[view].addEventListener("click", () => {
      filter({ view });
      markView();
    });
  }
  parts.load.addEventListener("click", () => server.loadOlder());
  parts.readAll.addEventListener("click", () => server.readAll());
  parts.muted.addEventListener("click", () => showMuted(server.info(), server));
  parts.removeAll.addEventListener("click", () => askDeleteAll(server.info().blocks, server));
  for (const node of Object.values(parts)) if (node.tagName === "BUTTON") node.type = "button";
  bar.append(el("span.segments", parts.newest, parts.longest, parts.faults), parts.unread, parts.readAll, parts.muted, parts.load, el("span.space"),
    el("span.activity", parts.dot, parts.word), parts.removeAll);
  markView();
  byId("map").before(bar, troubles);
}
