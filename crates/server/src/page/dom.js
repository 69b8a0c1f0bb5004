// Elements. Data becomes text nodes only, never markup.

import { pieces, thirds } from "./text.js";

/**
 * @param {string} tag
 * @param {Record<string, unknown>} [props] `class`, `onclick` and other properties; with a dash, attributes
 * @param {...(Node|string|null|undefined|false)} children
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.includes("-") || key === "for" || key === "role") node.setAttribute(key, value === true ? "" : value);
    else node[key] = value;
  }
  put(node, ...children);
  return node;
}

/** Replace what is in a node. */
export function put(node, ...children) {
  node.replaceChildren(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Text with what cannot be seen shown and marked. */
export const shown = (text, how) =>
  pieces(String(text), how).map((piece) => (piece.marked ? el("mark", { class: "unseen" }, piece.text) : piece.text));

export const prose = (text) => shown(text, { prose: true });

/** Words with `code` in backticks, as problem details write them. */
export const ticked = (text) =>
  text.split("`").map((part, index) => (index % 2 ? el("code", {}, ...shown(part)) : part));

/** A payload, whole: of a long one the middle scrolls and both ends stay in sight. */
export function payload(text, lead = "") {
  const { head, middle, tail, between } = thirds(text);
  const pre = (part, props = {}) => el("pre", props, ...shown(part));
  const first = pre(head);
  if (lead) first.prepend(el("span", { class: "lead", "aria-hidden": "true" }, lead));
  if (middle === null) return el("div", { class: "payload" }, first);
  const label = `${between} more lines, they scroll`;
  return el("div", { class: "payload" }, first, el("p", { class: "between" }, label),
    pre(middle, { class: "middle", tabIndex: 0, "aria-label": label }), el("p", { class: "between" }, "the last lines"), pre(tail));
}

/** A diff, coloured by its first characters; the signs stay. */
export function diff(text) {
  const box = el("div", { class: "payload diff" });
  for (const line of text.split("\n")) {
    const kind = line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : line.startsWith("@@") ? "at" : "";
    box.append(el("pre", { class: kind }, ...shown(line || " ")));
  }
  return box;
}

let ids = 0;
/** An id for a label and its input. */
export const freshId = () => `f${++ids}`;
