// SPDX-License-Identifier: GPL-2.0-or-later
// Starts the page of a report, which has its data: records as JSON Lines, as gzip, as base64.

import { readLines, report, wholeLines } from "./data.js";
import { byId } from "./dom.js";
import { startPage } from "./page.js";

async function readData(node) {
  const chars = atob(node.textContent);
  const bytes = new Uint8Array(chars.length);
  for (let i = 0; i < chars.length; i++) bytes[i] = chars.charCodeAt(i);
  for await (const text of wholeLines(new Response(bytes).body.pipeThrough(new DecompressionStream("gzip")))) readLines(text);
}

async function start() {
  const data = byId("data");
  if (!window.DecompressionStream) {
    byId("totals").textContent = "This browser cannot unpack the data of this page (DecompressionStream): open it in one of 2023 or later.";
    return;
  }
  await readData(data).catch(() => { report.torn = true; });
  data.remove();
  startPage();
  document.documentElement.dataset.ready = "1";
}

start();
