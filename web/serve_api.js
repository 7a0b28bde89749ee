// SPDX-License-Identifier: GPL-2.0-or-later
// The requests to the server (user/serve/server.h). Each needs the token of the printed address, in a header.

import { wholeLines } from "./data.js";

const HEADER = "X-Jankbpf-Token"; // TOKEN_HEADER
const KEPT = "jankbpf-token"; // in the session of this tab, for reloads
const RETRY_MS = 3000;
const ANEW = "the server was started anew: open the address that it printed";
const NO_TOKEN = "this tab has no token: open the address that jankbpf serve printed, which ends with #token= and 32 digits";

let token = sessionStorage.getItem(KEPT);

// A browser sends what follows # to no server. It leaves the address bar, so that a copied address does not have it.
function takeToken() {
  const words = new URLSearchParams(location.hash.slice(1));
  if (!words.has("token")) return false;
  token = words.get("token");
  sessionStorage.setItem(KEPT, token);
  words.delete("token");
  history.replaceState(null, "", words.size ? `#${words}` : location.pathname);
  return true;
}

takeToken();
// An address with another token in the same tab changes only what follows #.
addEventListener("hashchange", () => {
  if (takeToken()) location.reload();
});

async function ask(path, method) {
  if (!token) throw new Error(NO_TOKEN);
  const answer = await fetch(path, {
    method: method || "GET", headers: { [HEADER]: token }, mode: "same-origin", redirect: "error", credentials: "omit", cache: "no-store",
  });
  if (answer.status === 403) throw new Error(ANEW);
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

// Records as JSON Lines; query: "", "?before=SEQ", "?after=SEQ" or "?worst=SEQ".
export async function getLines(query) {
  return (await ask(`/data${query}`)).text();
}

// The figures of all faults (user/serve/fault_list.h).
export async function getFaults() {
  return (await ask("/faults")).json();
}

// "/read?seq=1"; the answer is JSON.
export async function post(path) {
  return (await ask(path, "POST")).json();
}

// Saves a block as a file. A link could not send the token.
export async function save(block, as) {
  const answer = await ask(`/share?seq=${block.seq}&as=${as}`);
  const [, name] = answer.headers.get("Content-Disposition").match(/filename="([^"]+)"/);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// Each line is the whole state: of several only the newest counts.
async function readStates(answer, onState) {
  for await (const text of wholeLines(answer.body)) {
    const newest = text.split("\n").filter(Boolean).pop();
    if (newest) onState(JSON.parse(newest));
  }
}

// Calls onState with each state of the server, and onLost with why there is no connection, or "". Never returns.
export async function listenToServer(onState, onLost) {
  for (;;) {
    let why = "no connection: is the server still running?";
    try {
      const answer = await ask("/events");
      onLost("");
      await readStates(answer, onState);
    } catch (error) {
      if (!(error instanceof TypeError)) why = error.message; // of fetch: the connection failed
    }
    onLost(why);
    await new Promise((resolve) => { setTimeout(resolve, RETRY_MS); });
  }
}
