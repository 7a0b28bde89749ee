// SPDX-License-Identifier: GPL-2.0-or-later
// The dispatch and the threads it waited for, a lane each, on one axis of time. Dragging zooms.

import { stackOf, timeOf } from "./data.js";
import { button, el, stateClass, stateMark } from "./dom.js";
import { duration, pidText, plural, roundDuration } from "./format.js";
import { STATES } from "./losses.js";
import { frameList } from "./stacks.js";
import { showTip, hideTip } from "./tip.js";
import { isTick, stateOf } from "./weights.js";

const SPANS = 60; // that are drawn: the longest
const TICKS = 60;

// "for /var/lib/x on vda1", "for unix /run/x.sock (postgres, pid 612)"
function objectText({ path, peer, target, lock, device, peer_task: task, binder_code: code }) {
  const object = path || peer || target || lock;
  const there = task ? `${task.comm || "?"}, pid ${pidText(task.pid)}${code === undefined ? "" : `, binder call ${code}`}` : "";
  if (!object) return there && `for ${there}`;
  return `for ${object}${path && device ? ` on ${device}` : ""}${there && ` (${there})`}`;
}

// As wait__add_phrase of user/export/values.c: "for pipe, fd 7, 250 ms at most"
function waitText({ waited_for: waited, syscall }) {
  if (!waited) return "";
  const { futex_owner: owner, fd, timeout_ns, bytes } = waited;
  return [objectText(waited),
    owner && `held by ${owner.comm || "a thread"} (its tid ${owner.tid})`,
    fd !== undefined && `fd ${fd}`,
    timeout_ns !== undefined && `${duration(timeout_ns)} ${(syscall || "").includes("nanosleep") ? "asked for" : "at most"}`,
    bytes !== undefined && `${bytes} bytes`].filter(Boolean).join(", ");
}

const wordOf = ({ state }) => STATES[stateOf(state)];

function details(title, facts, stacks) {
  return el("div.picked", el("h4", title), facts.filter(Boolean).map((fact) => el("p", fact)),
    stacks.filter(([, stack]) => stack && stack.length).map(([name, stack]) => el("div", name ? el("p.dim", name) : null, frameList(stackOf(stack)))));
}

function spanDetails(span) {
  const { ns = 0, runnable_ns, syscall, waker, stack } = span;
  const waited = waitText(span);
  return details(stateMark(wordOf(span), el("b", duration(ns))), [
    syscall && `System call ${syscall}${waited ? `, ${waited}` : ""}.`,
    waker && `${waker.comm || "?"} (${waker.tid})${waker.softirq ? ", soft interrupt" : ""} ended the wait.`,
    runnable_ns && `${duration(Math.min(runnable_ns, ns))} of it after the wake-up, waiting for a CPU.`,
  ], [["", stack], ["The thread that ended the wait was in:", waker && waker.stack]]);
}

const roleText = ({ role }, above) => ({ held: "held the lock", awaited: "is awaited" }[role] || `woke ${above}`);

function linkDetails(link) {
  const waited = waitText(link);
  return details(el("span", `${link.comm || "?"} (${pidText(link.tid)}) `, roleText(link, "it")), [
    link.process && `Process ${link.process}, pid ${pidText(link.pid)}.`,
    `Mostly ${wordOf(link).replace("_", " ")}${link.syscall ? ` in ${link.syscall}` : ""}${waited ? `, ${waited}` : ""}; ` +
    `it shares ${duration(link.ns)} with the thread above it.`,
  ], [["", link.stack], ["At the wake-up it was in:", link.wake_stack]]);
}

// --- lanes: { label, note, pieces: [{ from, to, word, tip, pick }] }

function piece(from, to, word, what, pick) {
  return { from, to, word, tip: () => [stateMark(word, el("b", duration(to - from))), what ? el("div", what) : null], pick };
}

// An even spread: the first of each of `most` parts.
function spread(list, most) {
  return list.filter((_, i) => list.length <= most || !i || Math.floor((i * most) / list.length) !== Math.floor(((i - 1) * most) / list.length));
}

function spanPieces(span, due) {
  const { t_ns, ns = 0, runnable_ns = 0, syscall } = span;
  const [begin, end, late] = [t_ns - due, t_ns - due + ns, Math.min(runnable_ns, ns)];
  const pick = () => spanDetails(span);
  const ret = [piece(begin, end - late, wordOf(span), [syscall, waitText(span)].filter(Boolean).join(", "), pick)];
  if (late) ret.push(piece(end - late, end, "runnable", "woken, waited for a CPU", pick));
  return ret;
}

// more: how many spans are not drawn.
function ownLane({ start_delay_ns: late = 0, duration_ns = 0, thread, tid, samples = [] }, due) {
  const spans = samples.filter((sample) => !isTick(sample)).sort((a, b) => (b.ns || 0) - (a.ns || 0) || a.t_ns - b.t_ns);
  const more = Math.max(0, spans.length - SPANS);
  const pieces = [more ? piece(late, late + duration_ns, "unseen", "on a CPU, or in spans that are too short to be drawn")
    : piece(late, late + duration_ns, "running", "on a CPU")];
  if (late) pieces.push(piece(0, late, "late", "woken; waited until the dispatch began"));
  pieces.push(...spans.slice(0, SPANS).sort((a, b) => a.t_ns - b.t_ns).flatMap((span) => spanPieces(span, due)));
  const ticks = spread(samples.filter(isTick), TICKS).map(({ t_ns, stack }) => ({ t: t_ns - due, stack }));
  return { label: thread || "?", note: `${tid || ""} dispatch`, pieces, ticks, more };
}

// above: the name of the thread that waited for this one.
function linkLane(link, above, due) {
  const known = timeOf(link.time).map((ns, state) => ({ ns, word: STATES[state] })).filter((part) => part.ns);
  const sum = known.reduce((all, part) => all + part.ns, 0);
  const pieces = [];
  const pick = () => linkDetails(link);
  let at = link.t_ns - due;
  const end = at + link.ns;
  for (const part of known.sort((a, b) => b.ns - a.ns)) {
    pieces.push(piece(at, at + part.ns, part.word, known.length > 1 ? "in all; the order is not known" : link.syscall, pick));
    at += part.ns;
  }
  if (link.ns > sum) pieces.push(piece(at, end, sum ? "unseen" : wordOf(link), sum ? "not seen" : link.syscall, pick));
  return { label: link.comm || "?", note: `${pidText(link.tid)} ${roleText(link, above)}`, pieces, ticks: [], end };
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

export function timeline(record) {
  const { start_ns = 0, start_delay_ns = 0, duration_ns = 0, chain = [] } = record;
  const due = start_ns - start_delay_ns;
  const lanes = [ownLane(record, due)];
  for (const link of chain) lanes.push(linkLane(link, lanes[lanes.length - 1].label, due));
  const { more } = lanes[0];
  const ends = lanes.flatMap((lane) => lane.pieces.flatMap((one) => [one.from, one.to]));
  const whole = { from: Math.min(0, ...ends), to: Math.max(start_delay_ns + duration_ns, 1, ...ends) };
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
  return [el("div.timeline", rows, reset, picked),
    more ? el("p.dim", `${plural(more, "shorter span")} off the CPU are not drawn; grey is time on the CPU, or theirs.`) : null];
}
