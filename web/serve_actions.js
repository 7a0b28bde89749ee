// SPDX-License-Identifier: GPL-2.0-or-later
// What can be done with a block or a fault: share, mute, delete.

import { blockActions } from "./block.js";
import { byId, button, el } from "./dom.js";
import { faultActions } from "./fault.js";
import { count, duration, plural } from "./format.js";
import { addKey } from "./keys.js";
import { currentBlock, currentFault, state } from "./state.js";

// Asks before something that cannot be undone.
export function confirmFirst(title, text, label, action) {
  const dialog = byId("keys");
  const yes = button(label, () => {
    dialog.close();
    action();
  });
  yes.classList.add("danger");
  const no = button("Cancel", () => dialog.close());
  dialog.replaceChildren(el("h2", title), el("p", text), el("div.dialog-buttons", yes, no));
  dialog.showModal();
  no.focus();
}

function shareButtons(block, server) {
  return [
    button("JSON", () => server.save(block, "json"), "The record as a file"),
    button("Log", () => server.save(block, "log"), "BlockCanary's log as a file"),
    server.hasZip() ? button("Zip", () => server.save(block, "zip"), "Record and log in one file") : null,
  ];
}

function muteButton(sig, server) {
  const isMuted = state.muted.has(sig);
  return sig ? button(isMuted ? "Unmute fault" : "Mute fault", () => server.mute(sig, !isMuted),
    isMuted ? "Show blocks of this fault again (m)" : "Hide blocks of this fault, also later ones (m)") : null;
}

function askDelete(block, server) {
  confirmFirst("Delete this block?", `${duration(block.delay)}: ${block.cause.summary || "the cause is not known"} Its record and its log are removed from the files.`,
    "Delete", () => server.remove(block));
}

export function askDeleteAll(blocks, server) {
  confirmFirst("Delete all blocks?", `${plural(blocks, "block")}, the summaries of the runs, and the logs are removed from the files, also those that are ` +
    "muted or not loaded here. What a trace finds from now on stays.", `Delete ${count(blocks)}`, () => server.removeAll());
}

// server: { mute(sig, on), save(block, as), remove(block), removeAll(), hasZip() }
export function startActions(server) {
  blockActions.push(
    (block) => el("span.actions", el("span.dim", "Share"), shareButtons(block, server)),
    (block) => muteButton(block.sig, server),
    (block) => button("Delete", () => askDelete(block, server), "Delete the record and its log (d)"));
  faultActions.push((fault) => muteButton(fault.sig, server));
  addKey("d", "serve: delete the block", () => {
    if (currentBlock()) askDelete(currentBlock(), server);
  });
  addKey("m", "serve: mute the fault, or show it again", () => {
    const fault = currentFault();
    if (fault && fault.sig) server.mute(fault.sig, !state.muted.has(fault.sig));
  });
}
