// SPDX-License-Identifier: GPL-2.0-or-later
// The dispatch and the threads it waited for, a lane each, on one axis of time. Dragging zooms.

import { report } from "./data.js";
import { button, el, stateClass, stateMark } from "./dom.js";
import { duration, pidText, roundDuration } from "./format.js";
import { frameList } from "./stacks.js";
import { showTip, hideTip } from "./tip.js";

const text = (nr) => report.texts[nr || 0] || "";

function spanOf([t, ns, state, runnable, syscall, waited, waker, wakerStack, stack]) {
  return { t, ns, state: report.states[state], runnable: Math.min(runnable, ns), syscall: text(syscall), waited: text(waited),
    waker: text(waker), wakerStack, stack };
}

function linkOf([role, pid, tid, comm, process, t, ns, state, time, syscall, waited, stack, wakeStack]) {
  return { role, pid, tid, comm: text(comm) || "?", process: text(process), t, ns, state: report.states[state], time,
    syscall: text(syscall), waited: text(waited), stack, wakeStack };
}

function details(title, facts, stacks) {
  return el("div.picked", el("h4", title), facts.filter(Boolean).map((fact) => el("p", fact)),
    stacks.filter(([, stack]) => stack).map(([name, stack]) => el("div", name ? el("p.dim", name) : null, frameList(stack))));
}

function spanDetails(span) {
  return details(stateMark(span.state, el("b", duration(span.ns))), [
    span.syscall && `System call ${span.syscall}${span.waited ? `, ${span.waited}` : ""}.`,
    span.waker && `${span.waker} ended the wait.`,
    span.runnable && `${duration(span.runnable)} of it after the wake-up, waiting for a CPU.`,
  ], [["", span.stack], ["The thread that ended the wait was in:", span.wakerStack]]);
}

const roleText = ({ role }, above) => ({ held: "held the lock", awaited: "is awaited" }[role] || `woke ${above}`);

function linkDetails(link) {
  return details(el("span", `${link.comm} (${pidText(link.tid)}) `, roleText(link, "it")), [
    link.process && `Process ${link.process}, pid ${pidText(link.pid)}.`,
    `Mostly ${link.state.replace("_", " ")}${link.syscall ? ` in ${link.syscall}` : ""}${link.waited ? `, ${link.waited}` : ""}; ` +
    `it shares ${duration(link.ns)} with the thread above it.`,
  ], [["", link.stack], ["At the wake-up it was in:", link.wakeStack]]);
}

// --- lanes: { label, note, pieces: [{ from, to, word, tip, pick }] }

function piece(from, to, word, what, pick) {
  return { from, to, word, tip: () => [stateMark(word, el("b", duration(to - from))), what ? el("div", what) : null], pick };
}

function ownLane(block) {
  const sd = block.sd || 0;
  const end = sd + (block.dur || 0);
  const pieces = [block.more ? piece(sd, end, "unseen", "on a CPU, or in spans that are too short to be drawn")
    : piece(sd, end, "running", "on a CPU")];
  if (sd) pieces.push(piece(0, sd, "late", "woken; waited until the dispatch began"));
  for (const span of block.spans.map(spanOf)) {
    const woken = span.t + span.ns - span.runnable;
    const pick = () => spanDetails(span);
    const what = [span.syscall, span.waited].filter(Boolean).join(", ");
    pieces.push(piece(span.t, woken, span.state, what, pick));
    if (span.runnable) pieces.push(piece(woken, span.t + span.ns, "runnable", "woken, waited for a CPU", pick));
  }
  const ticks = block.ticks.map(([t, stack]) => ({ t, stack }));
  return { label: block.thread.thread || "?", note: `${block.thread.tid || ""} dispatch`, pieces, ticks };
}

// above: the name of the thread that waited for this one.
function linkLane(link, above) {
  const known = link.time.map((ns, state) => ({ ns, word: report.states[state] })).filter((part) => part.ns);
  const sum = known.reduce((all, part) => all + part.ns, 0);
  const pieces = [];
  const pick = () => linkDetails(link);
  let at = link.t;
  for (const part of known.sort((a, b) => b.ns - a.ns)) {
    pieces.push(piece(at, at + part.ns, part.word, known.length > 1 ? "in all; the order is not known" : link.syscall, pick));
    at += part.ns;
  }
  if (link.ns > sum) pieces.push(piece(at, link.t + link.ns, sum ? "unseen" : link.state, sum ? "not seen" : link.syscall, pick));
  return { label: link.comm, note: `${pidText(link.tid)} ${roleText(link, above)}`, pieces, ticks: [],
    end: link.t + link.ns };
}

function niceStep(range, most) {
  const least = range / most;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least) || power * 10;
}

function axis(from, to) {
  const ret = el("div.axis");
  const step = niceStep(to - from, 8);
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const mark = el("span", t ? roundDuration(t) : "0");
    mark.style.left = `${(100 * (t - from)) / (to - from)}%`;
    if (t > to - (to - from) * 0.03) mark.classList.add("end");
    ret.append(mark);
  }
  return ret;
}

function placed(node, from, to, domain) {
  const range = domain.to - domain.from;
  const a = Math.max(from, domain.from);
  const b = Math.min(to, domain.to);
  if (b < a || a > domain.to || b < domain.from) return null;
  node.style.left = `${(100 * (a - domain.from)) / range}%`;
  node.style.width = `max(1px, ${(100 * (b - a)) / range}%)`;
  return node;
}

function laneRow(lane, domain, pick) {
  const track = el("div.track");
  for (const one of lane.pieces) {
    const node = placed(el(`i.${stateClass(one.word)}`), one.from, one.to, domain);
    if (!node) continue;
    node.addEventListener("mousemove", (event) => showTip(event, ...one.tip().filter(Boolean)));
    node.addEventListener("mouseleave", hideTip);
    if (one.pick) node.addEventListener("click", () => pick(one.pick()));
    track.append(node);
  }
  for (const tick of lane.ticks) {
    const node = placed(el("i.tick"), tick.t, tick.t, domain);
    if (!node) continue;
    node.title = "A sample of the running thread";
    node.addEventListener("click", () => pick(details("Sample of the running thread", [], [["", tick.stack]])));
    track.append(node);
  }
  if (lane.end !== undefined) {
    const arrow = placed(el("i.wake"), lane.end, lane.end, domain);
    if (arrow) track.append(arrow);
  }
  return el("div.lane", el("div.lane-name", el("b", lane.label), el("span.dim", lane.note)), track);
}

// Dragging across the lanes calls zoom(from, to) with parts of the width.
function listen(node, zoom) {
  let begin = null;
  const at = (event) => {
    const box = node.querySelector(".track").getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  node.addEventListener("mousedown", (event) => { begin = event.target.closest(".track") ? at(event) : null; });
  node.addEventListener("mouseup", (event) => {
    const end = at(event);
    if (begin !== null && Math.abs(end - begin) > 0.02) zoom(Math.min(begin, end), Math.max(begin, end));
    begin = null;
  });
}

export function timeline(block) {
  const lanes = [ownLane(block)];
  for (const link of block.chain || []) lanes.push(linkLane(linkOf(link), lanes[lanes.length - 1].label));
  const ends = lanes.flatMap((lane) => lane.pieces.flatMap((one) => [one.from, one.to]));
  const whole = { from: Math.min(0, ...ends), to: Math.max(block.delay, 1, ...ends) };
  const rows = el("div.lanes");
  const picked = el("div");
  const reset = button("Show all", () => show(whole));
  function show(domain) {
    rows.replaceChildren(...lanes.map((lane) => laneRow(lane, domain, (node) => picked.replaceChildren(node))),
      el("div.lane", el("div.lane-name"), axis(domain.from, domain.to)));
    reset.hidden = domain === whole;
    rows.domain = domain;
  }
  listen(rows, (a, b) => {
    const { from, to } = rows.domain;
    show({ from: from + a * (to - from), to: from + b * (to - from) });
  });
  show(whole);
  return el("div.timeline", rows, reset, picked);
}
