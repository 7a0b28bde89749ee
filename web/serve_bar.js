// SPDX-License-Identifier: GPL-2.0-or-later
// The bar under the head: which list, what is unread or muted, what the server does, and troubles.

import { byId, button, el } from "./dom.js";
import { count, plural } from "./format.js";
import { askDeleteAll } from "./serve_actions.js";
import { filter, state } from "./state.js";

const bar = el("nav.serve-bar");
const troubles = el("div.troubles");

function viewButton(view, label) {
  const ret = button(label, () => {
    filter({ view });
    bar.update();
  });
  ret.dataset.view = view;
  ret.classList.toggle("on", state.view === view);
  ret.setAttribute("aria-pressed", String(state.view === view));
  return ret;
}

function muteRow([sig, blocks], server) {
  return el("p.mute-row", el("span.fn", sig), el("span.dim", plural(blocks, "block")), button("Unmute", () => {
    byId("keys").close();
    server.mute(sig, false);
  }));
}

function showMuted(info, server) {
  const dialog = byId("keys");
  dialog.replaceChildren(el("h2", "Muted faults"), el("p.dim", "Their blocks are kept and counted, but not shown."),
    info.muted.map((mute) => muteRow(mute, server)),
    el("div.dialog-buttons", button(state.showMuted ? "Hide them in the list" : "Show them in the list", () => {
      filter({ showMuted: !state.showMuted });
      dialog.close();
      bar.update();
    }), button("Close", () => dialog.close())));
  dialog.showModal();
}

// What the server does: a word, and the class of its dot.
function activity(info, lost) {
  if (lost) return ["no connection: is the server still running?", "bad"];
  if (!info) return ["connecting…", ""];
  if (info.gone) return ["the directory is gone: waiting for it", "bad"];
  if (info.deleting) return ["deleting…", "busy"];
  if (info.unparsed) return [`reading, ${count(info.unparsed)} left`, "busy"];
  return ["live", "live"];
}

function troubleTexts(info) {
  return [
    info.damage ? `Damaged records were left out. ${info.damage}${info.odd > 1 ? `, and ${count(info.odd - 1)} more` : ""}.` : null,
    info.unsaved ? `What is read and muted cannot be kept in the directory: ${info.unsaved}.` : null,
    info.readonly ? `The directory cannot be written, so nothing can be deleted: ${info.readonly}.` : null,
  ].filter(Boolean);
}

export function say(error) {
  const text = el("p.lost", error.message);
  text.append(button("Close", () => text.remove()));
  troubles.append(text);
}

// Shows the state of the server. info: as /events has it, or null.
export function showBar(info, lost, server) {
  const [word, kind] = activity(info, lost);
  const dot = el("i.live-dot");
  if (kind) dot.classList.add(kind);
  bar.update = () => showBar(info, lost, server);
  bar.replaceChildren(...[
    el("span.segments", viewButton("newest", "Newest"), viewButton("faults", "Faults")),
    info && info.unread ? el("b.unread-count", `${count(info.unread)} unread`) : el("span.dim", "all read"),
    info && info.unread ? button("Mark all read", () => server.readAll()) : null,
    info && info.muted.length ? button(`${plural(info.muted.length, "fault")} muted (${plural(info.hidden, "block")})`,
      () => showMuted(info, server)) : null,
    el("span.space"),
    el("span.activity", dot, word),
    info && info.blocks && !info.readonly ? button("Delete all…", () => askDeleteAll(info.blocks, server)) : null,
  ].filter(Boolean));
  for (const old of troubles.querySelectorAll(".of-state")) old.remove();
  if (info) troubles.prepend(...troubleTexts(info).map((text) => el("p.lost.of-state", text)));
}

export function startBar() {
  byId("map").before(bar, troubles);
}
