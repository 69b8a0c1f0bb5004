// The list: what waits, oldest first, and the sessions. Nobody approves from a row.

import { api } from "./api.js";
import { el, freshId, put } from "./dom.js";
import { live, mayAnswer, refreshSessions, session, waitingAsks } from "./live.js";
import { age } from "./text.js";
import * as words from "./words.js";

/** @param {(path: string) => void} go */
export function openInbox(go) {
  const offline = el("p", { class: "offline", role: "status", hidden: true }, "Not connected. What you see may be old. Trying again…");
  const asks = el("ul", { class: "rows" });
  const empty = el("p", { class: "empty" });
  const sessions = el("ul", { class: "rows" });
  const newSession = newSessionForm(go);
  const heading = el("h2", { class: "over" }, "Waiting");
  const sessionHead = el("div", { class: "row over" }, el("h2", {}, "Sessions"), el("span", { class: "gap" }), newSession.button);
  const node = el("nav", { class: "side", "aria-label": "Inbox" },
    el("header", { class: "brand" }, el("a", { href: "/" }, "Holdstead"), el("span", { class: "gap" }), el("span", { class: "soft", title: "Version" })),
    offline, heading, asks, empty, sessionHead, newSession.panel, sessions);

  function update(current) {
    const now = Date.now();
    const open = waitingAsks();
    const { me } = live;
    node.querySelector(".brand .soft").textContent = me ? me.name : "";
    offline.hidden = live.connected;
    heading.textContent = open.length ? `Waiting for you: ${open.length}` : "Waiting for you";
    rows(asks, open, (ask) => ask.request.interactionId, (ask) => askRow(ask, now), current);
    empty.hidden = open.length > 0 || !live.ready;
    empty.textContent = words.nothing(live.sessions);
    newSession.button.hidden = !mayAnswer();
    rows(sessions, live.sessions, (one) => one.sessionId, sessionRow, current);
  }
  return { node, update };
}

/** Rows are kept by id, so that a focused one keeps its focus while the list changes around it. */
function rows(list, items, idOf, draw, current) {
  const known = new Map([...list.children].map((row) => [row.dataset.id, row]));
  const wanted = items.map((item) => {
    const id = idOf(item);
    const { href, className, parts } = draw(item);
    const row = known.get(id) ?? el("li", {}, el("a", {}));
    const link = row.firstChild;
    const text = JSON.stringify([href, className, parts.map((part) => [part.className, part.textContent])]);
    row.dataset.id = id;
    if (row.dataset.text !== text) {
      row.dataset.text = text;
      Object.assign(link, { href, className: `ask-row ${className}` });
      put(link, parts);
    }
    if (id === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    return row;
  });
  const same = wanted.length === list.children.length && wanted.every((row, at) => list.children[at] === row);
  if (!same) {
    const focused = document.activeElement;
    list.replaceChildren(...wanted);
    if (focused !== document.activeElement && list.contains(focused)) focused.focus();
  }
}

function askRow(ask, now) {
  const tone = words.tone(ask);
  const home = session(ask.sessionId) ?? { title: ask.sessionTitle, agent: ask.agent };
  const place = [words.sessionName(home), ...(ask.request.parents ?? [])].join(" › ");
  return {
    href: `/#${ask.request.interactionId}`,
    className: tone,
    parts: [el("span", { class: "mark" }, words.MARK[tone]), el("span", { class: "what" }, words.headline(ask.request, { row: true })),
      el("span", { class: "where" }, place), el("span", { class: "when" }, age(ask.openedAt, now))],
  };
}

function sessionRow(one) {
  const asks = one.openAsks ? `, ${one.openAsks} open` : "";
  return {
    href: `/sessions/${one.sessionId}`,
    className: "session-row",
    parts: [el("span", { class: "what" }, words.sessionName(one)), el("span", { class: "where" }, one.agent || "a program"),
      el("span", { class: "when" }, `${words.AGENT[one.state] ?? one.state}${asks}`)],
  };
}

function newSessionForm(go) {
  const [agentId, folderId] = [freshId(), freshId()];
  const agent = el("select", { id: agentId });
  const cwd = el("input", { id: folderId, type: "text", autocomplete: "off", spellcheck: false, placeholder: "the gateway's folder" });
  const note = el("p", { class: "field-error", role: "alert" });
  const start = el("button", { class: "solid", type: "submit" }, "Start");
  const panel = el("form", { class: "new-session", hidden: true, onsubmit: open },
    el("label", { for: agentId }, "Agent"), agent, el("label", { for: folderId }, "Folder"), cwd, note,
    el("div", { class: "row" }, start, el("button", { class: "quiet", type: "button", onclick: () => { panel.hidden = true; button.focus(); } }, "Back")));
  const button = el("button", { class: "outlined small", onclick: show }, "New session");

  async function show() {
    panel.hidden = false;
    agent.focus();
    try {
      const { agents } = await api.agents();
      put(agent, agents.map((name) => el("option", { value: name }, name)));
      note.textContent = agents.length ? "" : "No agent is set up here.";
    } catch (problem) {
      note.textContent = problem.message;
    }
  }
  async function open(event) {
    event.preventDefault();
    start.disabled = true;
    note.textContent = "";
    try {
      const opened = await api.openSession({ agent: agent.value, ...(cwd.value.trim() && { cwd: cwd.value.trim() }) });
      panel.hidden = true;
      await refreshSessions();
      go(`/sessions/${opened.sessionId}`);
    } catch (problem) {
      note.textContent = problem.message;
    } finally {
      start.disabled = false;
    }
  }
  return { button, panel };
}
