// SPDX-License-Identifier: GPL-2.0-or-later
// The box beside the pointer.

import { byId } from "./dom.js";

export function showTip(event, ...content) {
  const tip = byId("tip");
  tip.replaceChildren(...content.filter(Boolean));
  tip.hidden = false;
  const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const below = event.clientY + 18;
  const y = below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : below;
  tip.style.left = `${Math.max(4, x)}px`;
  tip.style.top = `${Math.max(4, y)}px`;
}

export function hideTip() {
  byId("tip").hidden = true;
}

// content() makes the nodes when the pointer comes.
export function withTip(node, content) {
  node.addEventListener("mousemove", (event) => showTip(event, ...content()));
  node.addEventListener("mouseleave", hideTip);
  return node;
}
