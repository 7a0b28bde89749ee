// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `jankbpf serve`: reads the newest records, and follows the server's state.

import { forget, forgetAll, readLines, report } from "./data.js";
import { byId } from "./dom.js";
import { listText } from "./list.js";
import { pageTitle, startPage, wholeOf } from "./page.js";
import { getFaults, getLines, listenToServer, post, save } from "./serve_api.js";
import { say, showBar, showOlder, startBar } from "./serve_bar.js";
import { markNewest, setOlder, startNewest } from "./serve_newest.js";
import { startActions } from "./serve_actions.js";
import { currentBlock, filter, onChange, readAddress, state } from "./state.js";

const FAR = 2000; // records behind: the newest are read anew
const REFRESH_MS = 500; // between two changes of the list by new blocks
const FIGURES_MS = 2000; // between two looks at the figures of all faults
const TEXT_MAX = 256 << 20; // characters of records: older ones are loaded by themselves up to there
const BLOCKS_MAX = 100000; // or up to there

// first, next: numbers of the first record here, and of the first that the server had not yet.
const known = { info: null, lost: "", version: 0, first: 0, next: 0, older: 0, text: 0, busy: false, again: false, waiting: false, refreshed: 0 };

// Of all records, while some are not loaded. rows: of the faults; asked: when the server was asked for them.
const whole = { rows: null, asked: 0, waiting: false };

function showInfo() {
  const { info } = known;
  pageTitle.prefix = info && info.unread ? `(${info.unread}) ` : "";
  pageTitle.text = info ? `jankbpf ${info.dir}` : "jankbpf serve";
  document.title = document.title.replace(/^(\(\d+\) )?/, pageTitle.prefix);
  showBar(info, known.lost);
}

function take(text) {
  known.text += text.length;
  return readLines(text);
}

function setLoaded(first, older) {
  Object.assign(known, { first, older });
  setOlder(older, first, loadOlder);
  showOlder(older);
}

// The figures are of all records, also of those that are not here.
async function loadFigures() {
  if (!known.older) {
    Object.assign(whole, { rows: null });
    state.figures = null;
    return;
  }
  whole.asked = Date.now();
  whole.rows = await getFaults();
  const all = whole.rows.reduce((sum, { blocks }) => sum + blocks, 0);
  if (report.blocks.length >= all) { // what is older is a hang that has ended, a summary, or loaded
    setLoaded(known.first, 0);
    await loadFigures();
    return;
  }
  const bySeq = new Map(report.blocks.map((block) => [block.seq, block.sig]));
  for (const row of whole.rows) row.sig = bySeq.get(row.worst);
  state.figures = new Map(whole.rows.map(({ sig, blocks, total_ns, max_ns, p50_ns }) =>
    [sig, { cnt: blocks, total: total_ns, max: max_ns, p50: p50_ns }]));
}

function figuresSoon() {
  if (whole.waiting || !known.older) return;
  whole.waiting = true;
  setTimeout(() => attempt(async () => {
    whole.waiting = false;
    await loadFigures();
    filter({}, true);
  }), Math.max(0, whole.asked + FIGURES_MS - Date.now()));
}

wholeOf.now = () => {
  if (!whole.rows) return null;
  const rows = whole.rows.filter(({ sig }) => state.showMuted || !state.muted.has(sig));
  const left = known.info ? known.info.left : 0;
  return { blocks: rows.reduce((sum, { blocks }) => sum + blocks, left), faults: rows.length,
    delay: rows.reduce((sum, { total_ns }) => sum + total_ns, 0) };
};

async function loadNewest() {
  const text = await getLines("");
  forgetAll();
  known.text = 0;
  const { first, end, older, version } = take(text);
  Object.assign(known, { next: end, version });
  setLoaded(first, older);
  if (older) {
    filter({}, true);
    take(await getLines(`?worst=${first}`));
  }
  await loadFigures();
  filter({}, true);
  readAddress();
}

async function loadPart() {
  const { version } = known;
  const text = await getLines(`?before=${known.first}`);
  if (version !== known.version) return; // the newest were read anew
  const { first, older } = take(text);
  setLoaded(first, older);
  await loadFigures();
  filter({}, true);
}

const loadOlder = () => attempt(loadPart);

// All is loaded if it is not too much for a page.
async function loadRest() {
  while (known.older && known.text < TEXT_MAX && report.blocks.length < BLOCKS_MAX && (await loadOlder()));
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
  const { end } = readLines(await getLines(`?after=${known.next - 1}`));
  const some = end > known.next;
  known.next = Math.max(end, known.next);
  refreshSoon();
  return some;
}

async function attempt(action) {
  try {
    await action();
    return true;
  } catch (error) {
    say(error);
    return false;
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
      if (info.version !== known.version || info.next - known.next > FAR) {
        await loadNewest();
        loadRest();
      }
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
  setMuted(info.muted.map(({ signature }) => signature));
  showInfo();
  figuresSoon();
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
      setLoaded(upto + 1, 0);
      Object.assign(whole, { rows: null });
      state.figures = null;
      report.summaries = [];
      filter({ id: null });
    });
  },
  loadOlder,
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
  loadRest();
  listenToServer(onState, (lost) => {
    known.lost = lost;
    showInfo();
  });
  document.documentElement.dataset.ready = "1";
}

start();
