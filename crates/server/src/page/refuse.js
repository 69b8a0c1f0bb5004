// Deny and decline: one button, and where the agent can read it, room for a reason.

import { el } from "./dom.js";

/**
 * @param {import("./card.js").Desk} desk
 * @param {{word: string, question: string, response: (reason?: string) => object, stop?: boolean}} how
 */
export function refusal(desk, { word, question, response, stop = false }) {
  const reason = () => desk.draft.reason?.trim() || undefined;
  const refuse = (after) => desk.send(response(desk.request.capabilities.reason ? reason() : undefined), after);
  const plainButton = !desk.request.capabilities.reason;
  const text = el("textarea", {
    rows: 3, value: desk.draft.reason ?? "", "aria-label": question,
    oninput: () => { desk.draft.reason = text.value; desk.keep(); },
  });
  const panel = el("div", { class: "panel" },
    el("p", { class: "panel-title" }, question), text,
    el("div", { class: "row" },
      el("button", { class: "outlined decide", onclick: () => refuse() }, word),
      stop && el("button", { class: "outlined decide", onclick: () => refuse("stop") }, `${word} and stop the turn`),
      el("button", { class: "quiet", onclick: () => desk.panel(null) }, "Back")));
  panel.send = () => refuse();
  const open = () => { desk.panel(panel); text.focus(); };
  const button = el("button", { class: "outlined refuse", onclick: plainButton ? () => refuse() : open },
    plainButton ? word : `${word}…`);
  if (plainButton) button.classList.add("decide");
  return { button, open: plainButton ? () => button.focus() : open };
}
