// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `jankbpf serve`: reads the newest records, and follows the server's state.

import { forget, forgetAll, read, report } from "./data.js";
import { byId } from "./dom.js";
import { listText } from "./list.js";
import { pageTitle, startPage } from "./page.js";
import { getLines, listenToServer, post, save } from "./serve_api.js";
import { say, showBar, startBar } from "./serve_bar.js";
import { markNewest, setOlder, startNewest } from "./serve_newest.js";
import { startActions } from "./serve_actions.js";
import { currentBlock, filter, onChange, readAddress, state } from "./state.js";

const FAR = 2000; // records behind: the newest are read anew
const REFRESH_MS = 500; // between two changes of the list by new blocks

// first, next: numbers of the first record here, and of the first that the server had not yet.
const known = { info: null, lost: "", version: 0, first: 0, next: 0, busy: false, again: false, waiting: false, refreshed: 0 };

function showInfo() {
  const { info } = known;
  pageTitle.prefix = info && info.unread ? `(${info.unread}) ` : "";
  pageTitle.text = info ? `jankbpf ${info.dir}` : "jankbpf serve";
  document.title = document.title.replace(/^(\(\d+\) )?/, pageTitle.prefix);
  showBar(info, known.lost);
}

async function loadNewest() {
  const text = await getLines("");
  forgetAll();
  read(text);
  const [first, end, older, , version] = report.part;
  Object.assign(known, { first, next: end, version });
  setOlder(older, loadOlder);
  filter({}, true);
  readAddress();
}

async function loadOlder() {
  await attempt(async () => {
    read(await getLines(`?before=${known.first}`));
    const [first, , older] = report.part;
    known.first = first;
    setOlder(older, loadOlder);
    filter({}, true);
  });
}

// A trace may find many blocks a second.
function refreshSoon() {
  if (known.waiting) return;
  known.waiting = true;
  setTimeout(() => {
    known.waiting = false;
    known.refreshed = Date.now();
    filter({}, true);
  }, Math.max(0, known.refreshed + REFRESH_MS - Date.now()));
}

async function loadNewer() {
  read(await getLines(`?after=${known.next - 1}`));
  const [, end] = report.part;
  const some = end > known.next;
  known.next = Math.max(end, known.next);
  refreshSoon();
  return some;
}

async function attempt(action) {
  try {
    await action();
  } catch (error) {
    say(error);
  }
}

// Reads what the page lacks. One at a time: a change meanwhile is looked at afterwards.
async function catchUp() {
  known.again = true;
  if (known.busy) return;
  known.busy = true;
  while (known.again) {
    known.again = false;
    await attempt(async () => {
      const { info } = known;
      if (info.version !== known.version || info.next - known.next > FAR) await loadNewest();
      else while (known.next < known.info.next && (await loadNewer()));
    });
  }
  known.busy = false;
}

function setMuted(signatures) {
  const same = signatures.length === state.muted.size && signatures.every((sig) => state.muted.has(sig));
  state.muted = new Set(signatures);
  if (!same) filter({}, true);
}

function onState(info) {
  known.info = info;
  setMuted(info.muted.map(([sig]) => sig));
  showInfo();
  if (info.version !== known.version || info.next > known.next) catchUp();
}

function markRead(block) {
  if (!block || block.read || !block.seq) return;
  block.read = true;
  markNewest();
  attempt(() => post(`/read?seq=${block.seq}`));
}

// Nothing else may read the list until the page has done the same as the server.
async function change(path, after) {
  await attempt(async () => {
    known.busy = true;
    try {
      known.version = (await post(path)).version;
      after();
    } finally {
      known.busy = false;
    }
  });
  if (known.again) catchUp();
}

const server = {
  info: () => known.info,
  hasZip: () => Boolean(known.info && known.info.zip),
  save: (block, as) => attempt(() => save(block, as)),
  mute: (sig, on) => attempt(async () => {
    await post(`/mute?sig=${encodeURIComponent(sig)}&on=${on ? 1 : 0}`);
    if (on) state.muted.add(sig);
    else state.muted.delete(sig);
    filter({});
  }),
  remove: (block) => change(`/delete?seq=${block.seq}`, () => {
    const at = state.newest.indexOf(block);
    forget((one) => one === block);
    const next = state.newest[at + 1] || state.newest[at - 1];
    filter(state.view === "newest" && next ? { sig: next.sig, id: next.id } : { id: null });
  }),
  removeAll: () => {
    const upto = known.info.next - 1;
    return change(`/delete?upto=${upto}`, () => {
      forget((block) => block.seq <= upto);
      setOlder(0, loadOlder);
      report.summaries = [];
      filter({ id: null });
    });
  },
  readAll: () => attempt(async () => {
    const upto = known.info.next - 1;
    await post(`/read?upto=${upto}`);
    for (const block of report.blocks) if (block.seq <= upto) block.read = true;
    filter({}, true);
  }),
};

async function start() {
  state.view = "newest";
  listText.empty = "No block was recorded yet. This page shows the first one as soon as a trace writes it here.";
  document.title = "jankbpf serve";
  byId("data").remove(); // of a report
  startBar(server);
  startNewest();
  startActions(server);
  showInfo();
  startPage();
  onChange((changed) => {
    if (changed.select) markRead(currentBlock());
  });
  await attempt(loadNewest);
  markRead(currentBlock());
  listenToServer(onState, (lost) => {
    known.lost = lost;
    showInfo();
  });
  document.documentElement.dataset.ready = "1";
}

start();
