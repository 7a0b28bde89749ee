// SPDX-License-Identifier: GPL-2.0-or-later
// The requests to the server (user/serve/server.h). It refuses changes without the header.

async function textOf(answer) {
  const text = await answer.text();
  if (answer.status === 403) throw new Error("The server was started anew: open the address that it printed.");
  if (!answer.ok) throw new Error(text);
  return text;
}

// Lines of data; query: "", "?before=SEQ" or "?after=SEQ".
export async function getLines(query) {
  return textOf(await fetch(`/data${query}`));
}

// "/read?seq=1"; the answer is JSON.
export async function post(path) {
  return JSON.parse(await textOf(await fetch(path, { method: "POST", headers: { "X-Jankbpf": "1" } })));
}

export function shareAddress(block, as) {
  return `/share?seq=${block.seq}&as=${as}`;
}

// Calls onState with each state of the server, and onLost(true) while there is no connection.
export function listenToServer(onState, onLost) {
  const events = new EventSource("/events");
  events.addEventListener("message", (event) => onState(JSON.parse(event.data)));
  events.addEventListener("open", () => onLost(false));
  events.addEventListener("error", () => onLost(true));
}
