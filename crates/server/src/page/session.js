// One session: what was said and done, the ask that waits, and room to write.

import { api, follow } from "./api.js";
import { isOpen } from "./asks.js";
import { el, payload, prose, put, shown } from "./dom.js";
import { mayAnswer, refreshSessions, session } from "./live.js";
import { clock, folder, plain } from "./text.js";
import { apply, emptyTranscript } from "./transcript.js";
import * as words from "./words.js";

const EVENTS = [
  "session_opened", "user_message", "text_delta", "thinking_delta", "tool_call_start", "tool_call_delta", "tool_call_end",
  "tool_result", "interaction_request", "interaction_response", "interaction_update", "interaction_closed", "late_answer",
  "grant_added", "grant_revoked", "session_status", "error", "done",
];
const QUIET = ["idle", "ended", "detached", "parked"];

/** @param {string} id @param {{dock: HTMLElement, onLeave: () => void}} where */
export function openSession(id, { dock, onLeave }) {
  let transcript = emptyTranscript();
  let nodes = [];
  const dirty = new Set();
  const name = el("h1");
  const place = el("p", { class: "who" });
  const list = el("div", { class: "transcript" });
  const scroll = el("div", { class: "scroll", tabIndex: 0, "aria-label": "Transcript" }, list);
  const note = el("p", { class: "field-error", role: "alert" });
  const said = el("p", { class: "note", role: "status" });
  const text = el("textarea", { rows: 2, placeholder: "Write to the agent", "aria-label": "Message to the agent", onkeydown: onKey });
  const sendButton = el("button", { class: "solid", onclick: send }, "Send");
  const stopButton = el("button", { class: "outlined", onclick: stop }, "Stop");
  const composer = el("div", { class: "composer" }, note, said, el("div", { class: "row" }, text, sendButton, stopButton));
  const node = el("main", { class: "session" },
    el("header", { class: "session-head" }, el("button", { class: "quiet back", "aria-label": "Back to the inbox", onclick: onLeave }, "‹"),
      el("div", {}, name, place)),
    scroll, el("div", { class: "bottom" }, dock, composer));

  function draw() {
    const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
    for (const index of [...dirty].sort((a, b) => a - b)) {
      const fresh = drawItem(transcript.items[index]);
      if (nodes[index]) nodes[index].replaceWith(fresh);
      else list.append(fresh);
      nodes[index] = fresh;
    }
    dirty.clear();
    if (atEnd) scroll.scrollTop = scroll.scrollHeight;
    update();
  }
  let frame = 0;
  const take = (event) => {
    for (const index of apply(transcript, event)) dirty.add(index);
    frame ||= requestAnimationFrame(() => { frame = 0; draw(); });
  };
  const unfollow = follow(() => `/v1/sessions/${encodeURIComponent(id)}/events?after=${transcript.seq}`, {
    ...Object.fromEntries(EVENTS.map((type) => [type, take])),
    resume: ({ resume, head }) => {
      if (resume !== "gap") return;
      transcript = { ...emptyTranscript(), seq: head };
      nodes = [];
      dirty.clear();
      put(list, el("p", { class: "note" }, "What came before is no longer kept here."));
    },
  }, () => {});

  /** The state of the agent is told by the events first, by the list of sessions for those who start late. */
  function update() {
    const known = session(id);
    put(name, known ? words.sessionName(known) : "Session");
    const told = transcript.seq > 0 ? transcript.agent : known?.state ?? "idle";
    const waits = transcript.items.some((item) => item.kind === "ask" && item.ask.state === "open" && item.ask.request.origin === "agent");
    const agent = told === "running" && waits ? "waiting" : told;
    put(place, known ? [known.agent || "a program", known.cwd ? `, ${folder(known.cwd)}` : "", `, ${words.AGENT[agent] ?? agent}`] : "");
    stopButton.hidden = QUIET.includes(agent);
    composer.hidden = !mayAnswer() || agent === "ended" || known?.agent === "";
  }

  async function send() {
    const message = text.value.trim();
    if (!message) return;
    sendButton.disabled = true;
    note.textContent = said.textContent = "";
    try {
      await api.say(id, message);
      text.value = "";
    } catch (problem) {
      note.textContent = `Not sent: ${problem.message} Your text is kept.`;
    } finally {
      sendButton.disabled = false;
    }
  }
  async function stop() {
    note.textContent = said.textContent = "";
    try {
      const { cancelled } = await api.interrupt(id);
      if (cancelled.length) said.textContent = `Stopped. ${cancelled.length === 1 ? "Its open ask is" : `Its ${cancelled.length} open asks are`} cancelled.`;
      refreshSessions();
    } catch (problem) {
      note.textContent = problem.message;
    }
  }
  function onKey(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    // On a phone Enter is the only way to a new line.
    if (matchMedia("(pointer: coarse)").matches && !event.ctrlKey) return;
    event.preventDefault();
    send();
  }

  update();
  return { node, update, dispose() { unfollow(); cancelAnimationFrame(frame); } };
}

const DONE = { completed: "Done", interrupted: "Stopped by a person", failed: "Failed" };
const from = (item) => (item.parents?.length ? el("p", { class: "from" }, ...prose(item.parents.join(" › "))) : null);

function drawItem(item) {
  switch (item.kind) {
    case "user":
      return el("div", { class: "item user" }, el("p", { class: "from" }, ...prose(item.from), `, ${clock(item.at)}`), el("p", { class: "text" }, ...prose(item.text)));
    case "text":
      return el("div", { class: "item" }, from(item), el("p", { class: "text" }, ...prose(item.text)));
    case "thinking":
      return el("div", { class: "item thinking" }, from(item), el("p", { class: "text" }, ...prose(item.text)));
    case "tool": {
      const input = item.input === undefined ? item.streamed : plain(item.input?.command ?? item.input);
      return el("div", { class: "item tool" }, el("p", { class: "tool-name" }, ...shown([...(item.parents ?? []), item.name].join(" › "))),
        input && folded("Input", input, typeof item.input?.command === "string" ? "$ " : ""),
        item.output !== undefined && el("div", { class: item.isError ? "result wrong" : "result" },
          item.isError && el("p", { class: "field-error" }, "Failed"), folded("Result", plain(item.output) || "(no output)")));
    }
    case "ask": return drawAsk(item.ask);
    case "error": return el("div", { class: "item wrong" }, el("p", { class: "text" }, "Error: ", ...prose(item.text)));
    case "done": return el("p", { class: "note" }, `${DONE[item.reason] ?? item.reason}, ${clock(item.at)}`);
    default: return el("p", { class: "note" }, ...prose(item.text));
  }
}

/** Long machine text is one click away: the transcript stays readable. */
function folded(name, text, mark = "") {
  const lines = text.split("\n").length;
  if (lines <= 6) return payload(text, mark);
  return el("details", {}, el("summary", {}, `${name}, ${lines} lines`), payload(text, mark));
}

function drawAsk(ask) {
  const tone = words.tone(ask);
  const over = ask.state === "settled" || ask.state === "closed";
  const line = over ? words.receipt(ask) : isOpen(ask) ? `${words.MARK.pending} Waiting here ↓` : "● Sent, the tool is looking at it";
  const inputs = over && ask.request.completedView?.showInputs && ask.response?.input;
  return el("div", { class: `item receipt ${tone}` },
    el("a", { class: "what", href: `#${ask.request.interactionId}` }, words.headline(ask.request, { row: true })),
    el("p", { class: "state" }, line),
    inputs && el("dl", { class: "parts" }, Object.entries(inputs).map(([key, value]) => [el("dt", {}, ...shown(key)), el("dd", {}, ...shown(plain(value)))])));
}
