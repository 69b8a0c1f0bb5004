// The frame around every ask: who asks, what happens without an answer, sending, and what became of it.

import { api } from "./api.js";
import { approval } from "./approval.js";
import { isOpen } from "./asks.js";
import { el, prose, put } from "./dom.js";
import * as drafts from "./drafts.js";
import { form } from "./form.js";
import { live, learn, mayAnswer, refresh, session } from "./live.js";
import { question } from "./question.js";
import { age } from "./text.js";
import * as words from "./words.js";

const KINDS = { approval, question, form };
/** A card takes no decision this long after it appears, or after a key was pressed elsewhere. */
const INERT_MS = 400;

/**
 * @typedef {object} Desk what a kind of ask is given to work with
 * @property {object} request
 * @property {Record<string, any>} draft
 * @property {(replacer?: Function) => void} keep
 * @property {(response: object, after?: "stop") => void} send
 * @property {(panel: HTMLElement | null) => void} panel
 * @property {boolean} late the ask expired, and an answer goes as a message
 */

/**
 * @param {object} ask
 * @param {{onLeave: () => void, onMove: (by: number) => void, place: () => {at: number, of: number}}} where
 */
export function openCard(ask, { onLeave, onMove, place }) {
  const state = el("p", { class: "state", role: "status" });
  const nav = el("div", { class: "moves" });
  const who = el("p", { class: "who" });
  const title = el("h2");
  const body = el("div", { class: "card-body" });
  const notice = el("div", { class: "notice", role: "alert", hidden: true });
  const panelBox = el("div", {});
  const actions = el("div", { class: "actions" });
  const hold = el("p", { class: "hold" });
  const more = el("p", { class: "more", "aria-hidden": "true" }, "More below ↓");
  const node = el("section", { tabIndex: -1, onkeydown: onKey },
    el("header", { class: "card-head" }, el("div", { class: "row" }, state, el("span", { class: "gap" }), nav), who, title),
    body, more, el("footer", { class: "card-foot" }, notice, panelBox, actions, hold));

  let kind;
  let built = "";
  let sending = false;
  /** What was sent last, and its key: sending the same again counts once. */
  let attempt = { body: "", key: "" };
  const hasSpoken = () => !notice.hidden;

  let inertUntil = 0;
  let wake;
  const goInert = () => {
    inertUntil = performance.now() + INERT_MS;
    node.classList.add("inert");
    clearTimeout(wake);
    wake = setTimeout(() => node.classList.remove("inert"), INERT_MS);
  };
  const elsewhere = (event) => node.contains(event.target) || goInert();
  document.addEventListener("keydown", elsewhere, true);

  const watchMore = () => more.classList.toggle("on", body.scrollHeight - body.scrollTop - body.clientHeight > 8);
  body.addEventListener("scroll", watchMore, { passive: true });
  const sized = new ResizeObserver(watchMore);
  sized.observe(body);

  function say(text, ...buttons) {
    notice.hidden = !text;
    put(notice, text && el("p", {}, ...prose(text)), buttons);
  }

  function showPanel(panel) {
    put(panelBox, panel);
    actions.hidden = panel !== null;
    if (panel === null) node.focus();
    // A second click of a double click must not land on what has just appeared.
    else goInert();
  }

  async function send(response, after) {
    if (sending || performance.now() < inertUntil) return;
    const { interactionId, promptId } = ask.request;
    const sent = JSON.stringify({ promptId, ...response });
    if (attempt.body !== sent) attempt = { body: sent, key: crypto.randomUUID() };
    const clickedAt = Date.now();
    setSending(true);
    say("");
    try {
      const receipt = await api.respond(interactionId, { promptId, idempotencyKey: attempt.key, ...response });
      drafts.forget(promptId);
      if (after === "stop") await api.interrupt(ask.sessionId).catch(() => say("Denied. The turn could not be stopped: try Stop in the session."));
      if (receipt.late) say("It was too late to settle this. Your answer goes to the agent as a message.");
      const newer = await api.interaction(interactionId).catch(() => null);
      setSending(false);
      learn({ ...(newer ?? { ...ask, ...receipt, request: ask.request }), respondedAt: receipt.at });
    } catch (problem) {
      setSending(false);
      await explain(problem, clickedAt, () => send(response, after));
    }
  }

  function setSending(on) {
    sending = on;
    node.classList.toggle("sending", on);
    node.setAttribute("aria-busy", String(on));
  }

  async function explain(problem, clickedAt, retry) {
    if (problem.isUncertain) {
      say(`${problem.message} It is not known whether your answer arrived. Sending it again is safe: it counts once.`,
        el("button", { class: "outlined", onclick: retry }, "Retry"));
    } else if (problem.code === "lost" && problem.winner) {
      say(words.lost(problem.winner, live.me?.name, clickedAt));
    } else if (problem.code === "stale_prompt") {
      say("It was asked again meanwhile. Your text is kept: check it and send it again.");
    } else if (Object.keys(problem.fieldErrors).length > 0 && kind.errors) {
      kind.errors(problem.fieldErrors);
      say("Not sent yet: see what is marked.");
    } else {
      say(`Not sent. ${problem.message}`);
    }
    if (["lost", "stale_prompt", "dead"].includes(problem.code)) await refresh(ask.request.interactionId).catch(() => {});
    // News that came while it was being sent.
    update(live.asks.get(ask.request.interactionId) ?? ask);
  }

  /** Build what belongs to one showing, once: what is being typed must not be swept away by news. */
  function build() {
    const { request } = ask;
    // A question that expired can still be answered while its session lives: as a message.
    const late = ask.state === "closed" && ask.closing === "expired" && request.kind !== "approval"
      && session(ask.sessionId) !== undefined && session(ask.sessionId).state !== "ended";
    const draft = drafts.draft(request.promptId);
    const desk = { request, draft, late, keep: (replacer) => drafts.keep(request.promptId, replacer), send, panel: showPanel };
    const answerable = (isOpen(ask) || late) && mayAnswer();
    put(title, words.headline(request));
    kind = answerable || request.kind === "approval" ? KINDS[request.kind](desk) : { body: [questionsOnly(request)], actions: [], keys: {} };
    put(body,
      request.attempt > 1 && el("p", { class: "warn" }, `Asked again (attempt ${request.attempt})`, request.error ? ": " : "", ...prose(request.error ?? "")),
      request.mayHaveRun && el("p", { class: "warn" }, "This may already have run: the agent died before it confirmed an approval of the very same input."),
      late && answerable && el("p", {}, "It is too late to settle this, but the session goes on: what you send reaches the agent as a message."),
      kind.body,
      request.agentSays && el("p", { class: "says" }, el("span", { class: "soft" }, "Agent says: "), "“", ...prose(request.agentSays), "”"),
      request.decisionReason && el("p", { class: "says" }, el("span", { class: "soft" }, "Asked because: "), ...prose(request.decisionReason)));
    put(panelBox);
    actions.hidden = false;
    put(actions, answerable ? kind.actions : leftOver(draft));
    goInert();
  }

  /** What a person wrote and could not send stays readable. */
  function leftOver(draft) {
    const text = [draft.reason, draft.edited].filter(Boolean).join("\n\n");
    return [
      !mayAnswer() && isOpen(ask) && el("p", { class: "soft" }, "You may look at this, not answer it."),
      text && hasSpoken() && el("div", { class: "kept" }, el("p", { class: "soft" }, "Your text"), el("textarea", { readOnly: true, rows: 3, value: text })),
      place().of > 0 && !isOpen(ask) && el("button", { class: "outlined", onclick: () => onMove(1) }, "Next ask ›"),
      !isOpen(ask) && el("button", { class: "quiet", onclick: onLeave }, "Close"),
    ];
  }

  /** Show a newer view of the same ask. */
  function update(newer) {
    const before = ask.request.promptId;
    ask = newer;
    // Without values from the tool, what was typed for the last showing is still the best start.
    if (Object.keys(ask.request.initialValues ?? {}).length === 0) drafts.carry(before, ask.request.promptId);
    const key = `${ask.request.promptId} ${isOpen(ask) ? "open" : ask.state}`;
    if (key !== built && !sending) {
      built = key;
      build();
    }
    const now = Date.now();
    const tone = words.tone(ask);
    const over = ask.state === "settled" || ask.state === "closed";
    node.className = `card ${tone}${node.classList.contains("inert") ? " inert" : ""}${sending ? " sending" : ""}`;
    node.setAttribute("aria-label", `${words.headline(ask.request)}, ${tone}`);
    const line = over ? words.receipt(ask) : `${words.MARK[tone]} ${words.waiting(ask, age(ask.openedAt, now))}`;
    if (state.textContent !== line) state.textContent = line;
    put(who, words.origin(ask, session(ask.sessionId)));
    const short = ask.request.interactionId.slice(-4);
    put(hold, over ? "" : words.holdWords(ask, now), el("span", { class: "gap" }), el("span", { class: "mono" }, short));
    const { at, of } = place();
    const several = of > 1 || (of === 1 && at === 0);
    if (nav.dataset.shown !== `${at}/${of}`) {
      nav.dataset.shown = `${at}/${of}`;
      put(nav, several && [
        el("button", { class: "quiet", "aria-label": "The ask before", onclick: () => onMove(-1) }, "‹"),
        el("span", { class: "soft" }, at > 0 ? `${at} of ${of}` : `${of} more`),
        el("button", { class: "quiet", "aria-label": "The next ask", onclick: () => onMove(1) }, "›")],
        el("button", { class: "quiet leave", "aria-label": "Close, deciding nothing", onclick: onLeave }, "✕"));
    }
  }

  function onKey(event) {
    const typing = event.target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");
    if (event.key === "Escape") {
      // Leaves, never decides.
      if (panelBox.firstChild) showPanel(null);
      else onLeave();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      (panelBox.firstChild ? panelBox.firstChild.send : kind.send)?.();
    } else if (typing || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (event.key === "]" || event.key === "n") {
      onMove(1);
    } else if (event.key === "[") {
      onMove(-1);
    } else if (!isOpen(ask) || actions.hidden || !mayAnswer()) {
      return;
    } else if (/^[1-9]$/.test(event.key) && kind.digit) {
      kind.digit(Number(event.key));
    } else if (kind.keys[event.key.toLowerCase()]) {
      kind.keys[event.key.toLowerCase()]();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  update(ask);
  return {
    node,
    update,
    get id() { return ask.request.interactionId; },
    /** It says something that was not read yet, or is on its way. */
    get isBusy() { return sending || hasSpoken(); },
    /** What it said was read. */
    dismiss() { say(""); },
    dispose() {
      document.removeEventListener("keydown", elsewhere, true);
      sized.disconnect();
      clearTimeout(wake);
    },
  };
}

/** The questions or fields of an ask that can no longer be answered. */
function questionsOnly(request) {
  const lines = request.kind === "question"
    ? request.questions.map((q) => [q.question, q.options.map((option) => option.label)])
    : request.form.fields.map((field) => [field.label, (field.options ?? []).map((option) => option.label)]);
  return el("ul", { class: "plain" }, lines.map(([line, options]) => el("li", {}, ...prose(line),
    options.length > 0 && el("span", { class: "description" }, ...prose(options.join(" · "))))));
}
