// SPDX-License-Identifier: GPL-2.0-or-later
// A block as text, and the clipboard.

import { button } from "./dom.js";
import { duration } from "./format.js";
import { STATES } from "./losses.js";

export function frameText(frame) {
  const place = frame.file ? `${frame.file}:${frame.line}` : frame.module;
  return `${frame.app ? "  → " : "    "}${frame.name}${place ? `  ${place}` : ""}`;
}

export function stackText(frames) {
  return frames.map(frameText).join("\n");
}

function weightText({ state, ns, cnt, stack, syscall }) {
  return `${duration(ns)} ${STATES[state]}${syscall ? ` in ${syscall}` : ""}, ${cnt} ${cnt === 1 ? "sample" : "samples"}\n${stackText(stack.frames)}`;
}

export function blockText({ head, cause, id, delay, sig, time }, weights) {
  const { start, process, thread, pid, tid, loop } = head;
  return [
    `${duration(delay)}  ${cause.summary || "The cause is not known."}`,
    `${start || ""}  ${process || "?"} ${pid || ""}, thread ${thread || "?"} ${tid || ""}, ${loop || ""}`,
    `signature ${sig || "none"}, id ${id}`,
    time.map((ns, state) => (ns ? `${STATES[state]} ${duration(ns)}` : "")).filter(Boolean).join(", "),
    "",
    ...weights.map(weightText),
  ].join("\n");
}

function copyOld(text) {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy"); // where there is no navigator.clipboard
  area.remove();
  return done;
}

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOld(text);
  }
}

// A button that copies what text() gives, and says so.
export function copyButton(label, text) {
  const ret = button(label, async () => {
    ret.textContent = (await toClipboard(text())) ? "Copied" : "Not allowed";
    setTimeout(() => { ret.textContent = label; }, 1200);
  });
  return ret;
}
