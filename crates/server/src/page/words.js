// What the page says about an ask. No DOM here, no clock: `now` is given.

import { clock, folder, plain, span, visible } from "./text.js";

/** The name of the agent, with its subagents, as a line: `Claude Code › tester`. */
export const asker = (ask) => [ask.agent || "A program", ...(ask.request.parents ?? [])].map(visible).join(" › ");

/** What a session is called. */
export function sessionName(session) {
  const last = session.cwd?.split("/").filter(Boolean).pop();
  return visible(session.title || last || session.agent || "a program");
}

const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** The file an input is about, if it names one. */
const fileOf = (input) => input?.file_path ?? input?.filePath ?? input?.path;

/** `+12 −3`, counted in a diff. */
export function diffCount(diff) {
  const lines = diff.split("\n");
  const plus = lines.filter((line) => line.startsWith("+") && !line.startsWith("+++")).length;
  const minus = lines.filter((line) => line.startsWith("-") && !line.startsWith("---")).length;
  return `+${plus} −${minus}`;
}

/** One line that says what is asked. `row` has room for the payload; a card shows it below. */
export function headline(request, { row = false } = {}) {
  const { kind, input, toolName } = request;
  if (kind === "question") {
    const { questions } = request;
    if (questions.length === 1) return visible(questions[0].question);
    return row
      ? `${questions.length} questions: ${questions.map((q) => visible(q.header)).join(", ")}`
      : `${questions.length} questions`;
  }
  if (kind === "form") {
    const { title, fields } = request.form;
    return title ? visible(title) : `Fill in ${count(fields.length, "field")}`;
  }
  if (typeof input?.command === "string") return row ? `Run ${visible(input.command)}` : "Run a command";
  const file = fileOf(input);
  if (request.preview && typeof file === "string") return `Edit ${visible(file)}  ${diffCount(request.preview)}`;
  if (typeof file === "string") return `${visible(toolName)} ${visible(file)}`;
  if (!row || input == null || Object.keys(input).length === 0) return `Use ${visible(toolName)}`;
  return `Use ${visible(toolName)}: ${visible(plain(Object.values(input)[0]))}`;
}

/** Which colours and mark an ask has: one of the five states. */
export function tone(ask) {
  if (ask.state === "settled") return ["approved", "answered"].includes(ask.settlement) ? "approved" : "denied";
  if (ask.state === "closed") return ask.closing === "answered_late" ? "approved" : "expired";
  return ask.parked ? "parked" : "pending";
}

export const MARK = { pending: "●", approved: "✓", denied: "✕", expired: "◷", parked: "‖" };

/** The words for an ask that still waits. */
export function waiting(ask, ageText) {
  if (ask.state === "submitted") return "Sent, the tool is looking at it";
  if (ask.state === "queued") return `Agent went on without it, ${ageText}: you can still answer`;
  return ask.parked ? `Parked, ${ageText}: your answer starts it again` : `Waiting for you, ${ageText}`;
}

const SURFACE = {
  web: "in the browser", terminal: "in the terminal", push: "from a notification", chat: "in chat",
  agent_terminal: "in the agent's terminal", api: "through the API",
};

/** Who decided: `Ana in the browser`, `rule read-only`. */
export function decider(who) {
  switch (who.by) {
    case "person": return `${visible(who.name)} ${SURFACE[who.surface] ?? ""}`.trim();
    case "grant": return "a remembered approval";
    case "rule": return `rule ${visible(who.name)}`;
    case "earlier": return "your answer to the same ask before";
    default: return "unknown";
  }
}

/** How far the decision has come. */
export function delivery(ask) {
  const way = ask.delivery;
  if (!way) return null;
  switch (way.delivery) {
    case "accepted":
      if (ask.request.origin === "caller") return "saved, not fetched yet";
      return ask.parked ? "saved, the agent is being started" : "saved, not sent yet";
    case "delivering":
    case "delivered": return "sent, not confirmed";
    case "acknowledged": return "agent has it";
    case "unknown": return "agent died before confirming: it may or may not have acted";
    case "undeliverable": return way.movedTo ? "given to the same ask, asked again" : "could not reach the agent";
    case "not_run": return way.because === "asked_anew"
      ? "changed by a hook of the agent: did not run, asked again as it is now"
      : "blocked by a hook or a rule of the agent, did not run";
    default: return null;
  }
}

const SCOPE = { once: "once", session: "for this session", always: "always" };

/** What the person did, without who and when. */
function deed(ask) {
  const done = ask.response;
  switch (ask.settlement) {
    case "approved": {
      const edited = done?.editedInput === undefined ? "" : " with changes";
      return `Approved${edited}${done?.scope ? ` ${SCOPE[done.scope]}` : ""}`;
    }
    case "denied": return done?.reason ? `Denied: “${visible(done.reason)}”` : "Denied";
    case "declined": return done?.reason ? `Declined: “${visible(done.reason)}”` : "Declined";
    case "answered": return answered(ask);
    default: return "Settled";
  }
}

function answered(ask) {
  const { response, request } = ask;
  if (response?.answers && request.kind === "question") {
    const parts = response.answers.map(({ questionId, labels = [], other }) => {
      const question = request.questions.find((q) => q.id === questionId);
      const given = question?.secret ? "••••" : [...labels, ...(other ? [other] : [])].map(visible).join(", ");
      return `${visible(question?.header || questionId)}: ${given}`;
    });
    return `Answered ${parts.join("; ")}`;
  }
  return "Answered";
}

/** How an ask ended, as one line. */
export function receipt(ask) {
  const mark = MARK[tone(ask)];
  if (ask.state === "closed") return `${mark} ${closed(ask)}`;
  const parts = [deed(ask), ask.response && decider(ask.response), ask.respondedAt && clock(ask.respondedAt), delivery(ask)];
  return `${mark} ${parts.filter(Boolean).join(", ")}`;
}

/** Why an ask closed without a decision. */
export function closed(ask) {
  const nothing = ask.request.kind === "approval" ? ", not run" : "";
  if (ask.closing === "answered_late") return "Answered late, sent to the agent as a message";
  if (ask.closing === "cancelled") return `Cancelled: its turn was stopped, or the agent took it back${nothing}`;
  const { deadline, hold } = ask.request;
  const end = deadline ? Date.parse(deadline) - Date.parse(ask.openedAt) : hold.then === "deny" ? hold.afterMs : null;
  return `Nobody answered${end === null ? " in time" : ` in ${span(end)}`}${nothing}`;
}

/** What happens if nobody answers. */
export function holdWords(ask, now) {
  const { hold, deadline, canPark, kind } = ask.request;
  const safe = kind === "approval" ? "Nothing runs." : "Nothing is chosen for you.";
  const left = (end) => (end - now > 1000 ? `in ${span(end - now)}` : "any moment");
  const closes = deadline ? ` Closes ${left(Date.parse(deadline))}.` : "";
  if (ask.parked || ask.state === "queued") return `It waits for your answer. ${safe}${closes}`;
  const at = left(Date.parse(ask.openedAt) + hold.afterMs);
  switch (hold.then) {
    case "park": if (canPark) return `No answer: parks ${at}. ${safe}${closes}`; break;
    case "deny": return `No answer: agent is told ${at} that nobody answered. ${safe}`;
    case "defer": return `No answer: agent goes on ${at} without it, you can answer later. ${safe}${closes}`;
  }
  return `No answer: it keeps waiting. ${safe}${closes}`;
}

const DID = { approve: "approved", deny: "denied", submit: "answered", answer: "answered", cancel: "declined" };

/** For the one who came second. */
export function lost(winner, me, clickedAt) {
  const did = DID[winner.action] ?? "settled";
  if (winner.by === "person" && winner.name === me) {
    return `You ${did} this already, ${SURFACE[winner.surface] ?? "elsewhere"}, at ${clock(winner.at)}. Your text is kept.`;
  }
  const who = winner.by === "person" ? visible(winner.name) : decider(winner);
  const before = clickedAt - Date.parse(winner.at);
  const when = before >= 1000 ? `${span(before)} before you` : "just before you";
  return `${who[0].toUpperCase()}${who.slice(1)} ${did} this ${when}. Your text is kept.`;
}

/** What an approval would remember, literally. */
export function ruleWords(offer) {
  const until = { session: "until this session ends", always: "until you take it back" }[offer.scope] ?? "";
  const rule = offer.rule === "exact_input"
    ? `${visible(offer.toolName)} with exactly this input`
    : visible(plain(offer));
  return { title: `Approve and remember ${SCOPE[offer.scope]}`, rule, until };
}

export const AGENT = {
  idle: "idle", running: "working", waiting: "waits for you", parking: "parking", parked: "parked",
  detached: "stopped unexpectedly", ended: "ended",
};

/** For an inbox with nothing in it. */
export function nothing(sessions) {
  const working = sessions.filter((session) => session.state === "running").length;
  const who = working === 0 ? "No agent is working." : `${count(working, "agent")} ${working === 1 ? "is" : "are"} working.`;
  return `Nothing waits for you. ${who}`;
}

/** Where the ask comes from: `Claude Code › tester, ~/code/shop-api`. */
export function origin(ask, session) {
  const place = session?.cwd ? visible(folder(session.cwd)) : ask.sessionTitle && visible(ask.sessionTitle);
  return [asker(ask), place].filter(Boolean).join(", ");
}
