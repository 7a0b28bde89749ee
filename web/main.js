// SPDX-License-Identifier: GPL-2.0-or-later
// Starts the page of a report, which has its data.

import { read } from "./data.js";
import { byId } from "./dom.js";
import { startPage } from "./page.js";

function start() {
  const data = byId("data");
  read(data.textContent);
  data.remove();
  startPage();
  document.documentElement.dataset.ready = "1";
}

start();
