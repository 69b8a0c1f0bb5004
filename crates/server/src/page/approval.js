// May it run this? The input is shown as it is, whole.

import { diff, el, payload, shown, ticked } from "./dom.js";
import { refusal } from "./refuse.js";
import { isRounded, plain } from "./text.js";
import { ruleWords } from "./words.js";

/** The input, every part of it under its own name. */
function inputView(input) {
  if (input === null || typeof input !== "object" || Array.isArray(input)) return payload(plain(input));
  const { command, ...rest } = input;
  const isCommand = typeof command === "string";
  const parts = isCommand ? Object.entries(rest) : Object.entries(input);
  return el("div", {},
    isCommand && payload(command, "$ "),
    parts.length > 0 && el("dl", { class: "parts" },
      parts.map(([key, value]) => [el("dt", {}, ...shown(key)), el("dd", {}, payload(plain(value)))])),
    !isCommand && parts.length === 0 && el("p", { class: "soft" }, "It takes no input."));
}

/** Why this page must not approve, if it must not: nobody approves what they were not shown. */
export function obstacle(request) {
  if (request.input === undefined || request.input === null) return "The ask came without its input, so it cannot be approved.";
  if (isRounded(request.input)) {
    return "A number here is too large for a browser to show exactly. Approve it in a terminal: `holdstead answer`.";
  }
  return null;
}

/** @param {import("./card.js").Desk} desk */
export function approval(desk) {
  const { request } = desk;
  const why = obstacle(request);
  const isCommand = typeof request.input?.command === "string";
  const view = el("div", { class: "input" }, why !== null && request.input == null ? null : inputView(request.input));
  const body = [
    request.preview && [el("h3", {}, "The change, as the tool shows it"), diff(request.preview), el("h3", {}, "The input, as it would run")],
    view,
    why && el("p", { class: "warn" }, ...ticked(why)),
  ];

  const approve = el("button", { class: "solid decide", disabled: why !== null, onclick: () => desk.send({ action: "approve", scope: "once" }) },
    "Approve once");
  const refuse = refusal(desk, {
    word: "Deny", question: "What should it do instead? The agent reads this word for word.",
    response: (reason) => ({ action: "deny", reason }), stop: request.origin === "agent",
  });
  const offers = request.capabilities.scopes ? (request.offeredScopes ?? []).filter((offer) => offer.scope !== "once") : [];
  const rememberPanel = el("div", { class: "panel", tabIndex: -1 }, offers.map((offer) => {
    const { title, rule, until } = ruleWords(offer);
    return el("div", { class: "offer" },
      el("p", {}, "Saves this rule: ", el("strong", {}, rule), `, ${until}. The next such ask is approved without you.`),
      el("button", { class: "solid decide", onclick: () => desk.send({ action: "approve", scope: offer.scope }) }, title));
  }), el("div", { class: "row" }, el("button", { class: "quiet", onclick: () => desk.panel(null) }, "Back")));
  const remember = offers.length > 0 && why === null
    && el("button", { class: "outlined", onclick: () => { desk.panel(rememberPanel); rememberPanel.focus(); } }, "Remember…");
  const editing = request.capabilities.editInput && why === null ? editor(desk, view, isCommand) : null;
  const edit = editing && el("button", { class: "outlined", onclick: editing.open }, "Edit");

  return {
    body,
    actions: [approve, remember, edit, refuse.button],
    keys: {
      a: () => approve.focus(),
      d: refuse.open,
      ...(edit && { e: () => edit.click() }),
      ...(remember && { r: () => remember.click() }),
    },
  };
}

/** Change the input before approving it. The original stays in sight, struck through. */
function editor(desk, original, isCommand) {
  const before = JSON.stringify(desk.request.input);
  const text = el("textarea", { class: "mono", rows: 8, spellcheck: false, "aria-label": "The input, as JSON" });
  const note = el("p", { class: "field-error", role: "status" });
  let edited;
  const approve = el("button", { class: "solid decide", onclick: () => desk.send({ action: "approve", scope: "once", editedInput: edited }) },
    isCommand ? "Approve edited command" : "Approve edited input");
  const check = () => {
    let wrong = "";
    edited = undefined;
    try {
      const value = JSON.parse(text.value);
      if (isRounded(value)) wrong = "A number here is too large for a browser to send exactly.";
      else if (JSON.stringify(value) !== before) edited = value;
    } catch (error) {
      wrong = `Not JSON yet: ${error.message}`;
    }
    note.textContent = wrong;
    approve.disabled = edited === undefined;
    original.classList.toggle("struck", edited !== undefined);
  };
  text.oninput = () => { desk.draft.edited = text.value; desk.keep(); check(); };
  const panel = el("div", { class: "panel" }, el("p", { class: "panel-title" }, "Change the input. The agent is told that you did."), text, note,
    el("div", { class: "row" }, approve, el("button", { class: "quiet", onclick: () => { original.classList.remove("struck"); desk.panel(null); } }, "Back")));
  return {
    open: () => {
      text.value = desk.draft.edited ?? JSON.stringify(desk.request.input, null, 2);
      check();
      desk.panel(panel);
      text.focus();
    },
  };
}
