// SPDX-License-Identifier: GPL-2.0-or-later
// Builds elements. All text is data from traced programs: it is set as textContent, never as markup.

export function byId(id) {
  return document.getElementById(id);
}

// el("p.note", "text", child, …): a tag with classes, and its content. null is left out.
export function el(what, ...content) {
  const [tag, ...classes] = what.split(".");
  const ret = document.createElement(tag || "div");
  if (classes.length) ret.className = classes.join(" ");
  for (const part of content.flat()) {
    if (part === null || part === undefined || part === "") continue;
    ret.append(part instanceof Node ? part : document.createTextNode(String(part)));
  }
  return ret;
}

export function button(label, action, title) {
  const ret = el("button.plain", label);
  ret.type = "button";
  if (title) ret.title = title;
  ret.addEventListener("click", action);
  return ret;
}

export function titled(node, title) {
  node.title = title;
  return node;
}

// A section with its heading; null without content.
export function section(title, note, ...content) {
  const parts = content.flat().filter((part) => part !== null && part !== undefined);
  if (!parts.length) return null;
  return el("section.part", el("h3", title, note ? el("span.note", note) : null), parts);
}

export function colorOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export function stateClass(word) {
  return `state-${word}`;
}

// Words that are no states of the records.
const WORDS = { late: "before the begin", unseen: "not seen" };

export function stateWord(word) {
  return WORDS[word] || word.replace("_", " ");
}

// The square of a state's colour with its word.
export function stateMark(word, ...more) {
  return el("span.mark", el(`i.${stateClass(word)}`), el("span", stateWord(word), ...more));
}
