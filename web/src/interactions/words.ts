// What a screen says about an ask. No clock here: `now` is given.

import type {
  AgentBox,
  AgentState,
  Answer,
  CallDecision,
  Decider,
  Effect,
  InTerminal,
  InteractionRequest,
  InteractionResponse,
  KnownBy,
  Layer,
  NotRun,
  Question,
  Risk,
  Rule,
  Scope,
  Session,
  Surface,
  TerminalAnswer,
  Winner,
} from "../api/generated";
import type { Ask } from "../session/ask";
import { countDiff } from "../text/diff";
import { clock, folder, span } from "../text/time";
import { brief, plain, visible } from "../text/visible";

export type Tone = "pending" | "approved" | "denied" | "expired" | "parked";

/** Which colours and mark an ask has. */
export function tone(ask: Ask): Tone {
  switch (ask.state) {
    case "settled":
      return ask.settlement === "approved" || ask.settlement === "answered" ? "approved" : "denied";
    case "closed":
      return ask.closing === "answered_late" ? "approved" : "expired";
    case "open":
    case "queued":
    case "submitted":
      return ask.parked ? "parked" : "pending";
  }
}

export const MARK: Record<Tone, string> = { pending: "●", approved: "✓", denied: "✕", expired: "◷", parked: "‖" };
export const TONE_CLASS: Record<Tone, string> = {
  pending: "tone-pending",
  approved: "tone-approved",
  denied: "tone-denied",
  expired: "tone-expired",
  parked: "tone-parked",
};

export const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

const record = (value: unknown): Record<string, unknown> =>
  value !== null && typeof value === "object" ? (value as Record<string, unknown>) : {};

/** The one tool whose `command` a shell runs, as the drivers of all agents name it. */
const SHELL = "Bash";

/** The shell line of a call by an agent. Other tools may have a `command`, too: it is a field like any other. */
export function shellLine(toolName: string | null | undefined, input: unknown): string | null {
  const { command } = record(input);
  return toolName === SHELL && typeof command === "string" ? command : null;
}

/** An agent's driver says which tool is called. Tools of servers and programs have the names that those chose. */
const isCall = (request: InteractionRequest): boolean =>
  request.kind === "approval" && (request.origin === "agent" || request.origin === "attached");

/** The shell line that an ask would run. */
export const lineOf = (request: InteractionRequest): string | null =>
  isCall(request) ? shellLine(request.toolName, request.input) : null;

/** The agent's own plan. The gateway says what is one: any tool may have a field of that name. */
export function planOf(request: InteractionRequest): string | null {
  if (request.kind !== "approval" || !request.isPlan) return null;
  const { plan } = record(request.input);
  return typeof plan === "string" ? plan : null;
}

export function fileOf(input: unknown): string | null {
  const { file_path, filePath, path } = record(input);
  const file = file_path ?? filePath ?? path;
  return typeof file === "string" ? file : null;
}

/** A file as one names it in the folder where the call runs. */
export function fileName(file: string, folder: string | null | undefined): string {
  const inside = folder && file.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : file;
  return brief(inside.startsWith("/") ? file : inside);
}

/** Longer commands are shown below their headline, with numbers. */
const SHORT = 240;

/** A command that is its own headline: one line that is read at a glance. */
export const isShort = (command: string): boolean => !command.includes("\n") && command.length <= SHORT;

/** The program and what it is told to do, without what it is done to: `aws s3 rm --recursive`. */
function gist(command: string): string {
  const words = command.trim().split(/\s+/);
  const end = words.findIndex((word, at) => at > 0 && !/^[-\w]+$/.test(word));
  return words.slice(0, end < 0 ? 4 : Math.min(Math.max(end, 1), 4)).join(" ");
}

/** Of a long command: how long it is, and what it ends with, or what is marked in it. */
export function ending(command: string, marked: string[]): { lead: string; words: string[] } {
  const whole = command.trimEnd();
  const lines = whole.split("\n").length;
  const lead =
    lines > 1 ? `Run a ${lines}-line script.` : `Run a command of ${command.length.toLocaleString("en")} characters.`;
  if (marked.length > 0) {
    const words = [...new Set(marked.map(gist))].map(brief);
    const lastLine = whole.lastIndexOf("\n") + 1;
    const isAtEnd = marked.every(
      (mark) => whole.lastIndexOf(mark) >= (lines > 1 ? lastLine : whole.length - mark.length),
    );
    const shown = words.length > 3 ? [...words.slice(0, 3), `${words.length - 3} more`] : words;
    return { lead: `${lead} It ${isAtEnd ? "ends with" : "has"}`, words: shown };
  }
  const last = whole.split("\n").pop() ?? "";
  return { lead: `${lead} It ends with`, words: [brief(lines > 1 ? gist(last) : last.slice(-60))] };
}

/** Who wrote the words, the title and the diff of an ask: a program by its name, a tool by its own. */
export function author(request: InteractionRequest): string {
  switch (request.origin) {
    case "agent":
    case "attached":
      return "Agent";
    case "tool":
      return brief(request.toolName);
    case "caller":
      return request.askedBy ? `Program ${brief(request.askedBy.name)}` : "A program";
  }
}

/** Which drawing stands for an ask. */
export function kindIcon(
  request: InteractionRequest,
): "ask" | "form" | "plan" | "shell" | "edit" | "read" | "fetch" | "tool" {
  switch (request.kind) {
    case "question":
      return "ask";
    case "form":
      return "form";
    case "approval": {
      if (planOf(request) !== null) return "plan";
      if (!isCall(request)) return "tool";
      if (lineOf(request) !== null) return "shell";
      if (request.preview) return "edit";
      if (fileOf(request.input) !== null) return "read";
      return typeof record(request.input).url === "string" ? "fetch" : "tool";
    }
  }
}

/**
 * One line that says what will happen: the tool and its input, and never what the asker says about them. An ask that cannot be
 * told, such as one of a newer gateway's kind, must not take the page with it.
 */
export function headline(request: InteractionRequest, place: "card" | "row" = "card"): string {
  try {
    return headlineOf(request, place === "row") ?? UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}

const UNKNOWN = "An ask that this page cannot show";

function headlineOf(request: InteractionRequest, isRow: boolean): string {
  switch (request.kind) {
    case "question": {
      const { questions } = request;
      const [first] = questions;
      if (questions.length === 1 && first) return brief(first.question);
      const words = count(questions.length, "question");
      return isRow ? `${words}: ${questions.map((one) => brief(one.header)).join(", ")}` : words;
    }
    case "form":
      return request.form.title ? brief(request.form.title) : `Fill in ${count(request.form.fields.length, "field")}`;
    case "approval": {
      const { input } = request;
      const command = lineOf(request);
      const marked = (request.marks ?? []).map((mark) => mark.text);
      if (command !== null && isShort(command)) return brief(command);
      if (command !== null) {
        const { lead, words } = ending(command, marked);
        const lines = command.split("\n");
        const between = lines.length > 2 ? ` … ${lines.length - 2} lines … ` : " … ";
        return isRow
          ? `${brief((lines[0] ?? "").slice(0, 40))}${between}${words.at(-1)}`
          : `${lead} ${words.join(" and ")}`;
      }
      if (planOf(request) !== null) return "Start this plan?";
      const tool = brief(request.toolName);
      const [first] = Object.values(record(input));
      const withFirst = (name: string) => (isRow && first !== undefined ? `${name}: ${brief(plain(first))}` : name);
      if (request.origin === "caller") return withFirst(`${author(request)} wants to run ${tool}`);
      if (request.origin === "tool") return isRow ? withFirst(tool) : `Agent asks for approval with ${tool}`;
      const file = fileOf(input);
      if (request.preview && file) return `Edit ${fileName(file, request.cwd)} ${countDiff(request.preview)}`;
      if (file) return `${tool} ${fileName(file, request.cwd)}`;
      const { url } = record(input);
      if (typeof url === "string") return `${tool} ${brief(url)}`;
      return withFirst(`Use ${tool}`);
    }
  }
}

/** A program that only asks: nobody hosts it, and nothing can be said to it. */
export const isProgram = (agent: string): boolean => agent === "caller";

/** The name of the agent, with its subagents: `Claude Code › tester`. */
export const asker = (agent: string, parents: string[] = []): string =>
  [isProgram(agent) ? "A program" : agent, ...parents].map(brief).join(" › ");

/** What runs in a session, and what it does: `Claude Code, working`. */
export const hosted = (agent: string, ...more: (string | null | undefined)[]): string =>
  [isProgram(agent) ? "a program" : visible(agent), ...more].filter(Boolean).join(", ");

export function sessionName(session: { title?: string | null; cwd?: string | null; agent: string }): string {
  const last = session.cwd?.split("/").filter(Boolean).pop();
  return brief(session.title || last || (isProgram(session.agent) ? "a program" : session.agent));
}

/** The names of sessions, each told from the others of its name: `shop-api · 3f2a`. */
export function namesApart(sessions: Session[]): Map<string, string> {
  const names = sessions.map(sessionName);
  return new Map(
    sessions.map((session, at) => {
      const name = names[at] ?? "";
      const isShared = names.indexOf(name) !== names.lastIndexOf(name);
      return [session.sessionId, isShared ? `${name} · ${visible(session.sessionId.slice(-4))}` : name];
    }),
  );
}

/** Where the ask comes from: `Claude Code › tester, ~/code/shop-api, in a bubblewrap box`. */
export function origin(request: InteractionRequest, agent: string, session: Session | null): string {
  const place = session?.cwd ? brief(folder(session.cwd)) : null;
  return [asker(agent, request.parents), place, session?.box && BOX[session.box.kind]].filter(Boolean).join(", ");
}

/** What keeps a hosted agent from the gateway's own. */
export const BOX: Record<AgentBox["kind"], string> = {
  bubblewrap: "in a bubblewrap box",
  landlock: "in a Landlock box",
  none: "without a box",
};

/** What that means, for whoever approves something. */
export function boxMeans(box: AgentBox | null | undefined): string | undefined {
  if (!box) return undefined;
  if (box.kind === "none") {
    return `What you approve can read this gateway's files, your token among them. No box: ${visible(box.why)}.`;
  }
  return "It cannot read this gateway's files and memory. Your other files and the network are open to it.";
}

/** The words for an ask that still waits. */
export function waiting(ask: Ask, age: string): string {
  if (ask.state === "submitted") return "Sent, the tool is looking at it";
  if (ask.state === "queued") return `Agent went on without it, ${age}: you can still answer`;
  if (ask.request.origin === "attached") return `Waiting for you, ${age}: here or in its terminal`;
  return ask.parked ? `Parked, ${age}: your answer starts it again` : `Waiting for you, ${age}`;
}

/** What was answered in the agent's own terminal. */
export const IN_TERMINAL: Record<TerminalAnswer, string> = {
  allowed: "allowed in the terminal",
  refused: "refused in the terminal",
  answered: "answered in the terminal",
  not_by_a_person: "decided by the program's own settings, or by another hook",
  not_said: "not asked in the terminal any more",
};

/** How we know. */
const KNOWN_BY: Record<KnownBy, string> = {
  record: "its own record says so",
  program: "the program says so",
  withdrawn: "the program took its question back",
  closed: "the terminal was closed",
  left_to_terminal: "nobody answered here in time, so it asks there alone",
};

/** An answer that the terminal was faster than. */
function tooLate(ask: Ask, { answer }: InTerminal): string {
  if (answer === "allowed") return "too late: it was allowed in the terminal and ran";
  const nothing = answer === "refused" && ask.request.kind === "approval" ? ", not run" : "";
  return `too late: it was ${IN_TERMINAL[answer]}${nothing}`;
}

export const SURFACE: Record<Surface, string> = {
  web: "in the browser",
  terminal: "in the terminal",
  push: "from a notification",
  chat: "in chat",
  agent_terminal: "in the agent's terminal",
  api: "through the API",
};

/** Who decided: `Ana in the browser`, `rule read-only`. */
export function decider(who: Decider): string {
  switch (who.by) {
    case "person":
      return `${visible(who.name)} ${SURFACE[who.surface] ?? ""}`.trim();
    case "grant":
      return "a remembered approval";
    case "rule":
      return `rule ${visible(who.name)}`;
    case "earlier":
      return "your answer to the same ask before";
  }
}

const NOT_RUN: Record<NotRun, string> = {
  blocked: "blocked by a hook or a rule of the agent, did not run",
  asked_anew: "changed by a hook of the agent: did not run, asked again as it is now",
  not_called_again: "did not run: the agent was started again, and did not make the call again",
};

/** How far the decision has come. */
export function delivery(ask: Ask): string | null {
  const way = ask.delivery;
  switch (way?.delivery) {
    case undefined:
      return null;
    case "accepted":
      if (ask.request.origin === "caller") return "saved, not fetched yet";
      return ask.parked ? "saved, the agent is being started" : "saved, not sent yet";
    case "delivering":
    case "delivered":
      return ask.request.origin === "attached" ? "sent: the terminal may have been faster" : "sent, not confirmed";
    case "acknowledged":
      return "agent has it";
    case "unknown":
      return "agent died before confirming: it may or may not have acted";
    case "undeliverable":
      if (way?.inTerminal) return tooLate(ask, way.inTerminal);
      return way?.movedTo ? "given to the same ask, asked again" : "could not reach the agent";
    case "not_run":
      return NOT_RUN[way.because];
  }
}

const SCOPE: Record<Scope, string> = {
  once: "once",
  session: "for this session",
  hour: "for an hour",
  always: "always",
};

const quoted = (word: string, reason: string | null | undefined) => (reason ? `${word}: “${brief(reason)}”` : word);

const DID: Record<string, string> = {
  approve: "approved",
  deny: "denied",
  submit: "answered",
  cancel: "declined",
};

/** What was done, without who and when. */
function deed(ask: Ask): string {
  if (ask.state !== "settled") return "";
  // The asker's own words about what was decided stand behind the decision, as theirs.
  const own = ask.settlement === "failed" ? null : summary(ask);
  const done = decided(ask);
  return own === null ? done : `${done}, “${brief(own)}”`;
}

function decided(ask: Extract<Ask, { state: "settled" }>): string {
  const done = ask.response;
  switch (ask.settlement) {
    case "approved": {
      if (done?.action !== "approve") return "Approved";
      // Nobody was asked: how far it reaches is said where it was remembered.
      if (done.by !== "person") return "Approved";
      return `Approved ${SCOPE[done.scope]}${done.editedInput === undefined ? "" : ", with changes"}`;
    }
    case "denied":
      return quoted("Denied", done?.action === "deny" ? done.reason : null);
    case "declined":
      return quoted("Declined", done?.action === "cancel" ? done.reason : null);
    case "answered":
      return answered(ask);
    case "failed": {
      const did = DID[done?.action ?? ""] ?? "answered";
      return quoted(`${did[0]?.toUpperCase()}${did.slice(1)}, but the tool failed`, ask.failure);
    }
  }
}

function answered({ request, response }: Ask): string {
  if (request.kind !== "question" || response?.action !== "submit" || !response.answers) return "Answered";
  const parts = response.answers.map((answer) => {
    const question = request.questions.find((one) => one.id === answer.questionId);
    return `${visible(question?.header || answer.questionId)}: ${given(question, answer).map(brief).join(", ")}`;
  });
  return `Answered ${parts.join("; ")}`;
}

const given = (question: Question | undefined, { labels = [], other }: Answer): string[] =>
  question?.secret ? ["••••"] : [...labels, ...(other ? [other] : [])];

/** What a summary can name: a form's values, answers by question, or the top of what was approved or refused. */
function named(request: InteractionRequest, response: InteractionResponse): Record<string, unknown> {
  switch (request.kind) {
    case "form": {
      const values = response.action === "submit" ? (response.input ?? {}) : {};
      const secrets = request.form.fields.filter((field) => field.type === "secret" && field.id in values);
      return { ...values, ...Object.fromEntries(secrets.map((field) => [field.id, "••••"])) };
    }
    case "question": {
      const answers = response.action === "submit" ? (response.answers ?? []) : [];
      const question = (id: string) => request.questions.find((one) => one.id === id);
      return Object.fromEntries(
        answers.map((one) => [one.questionId, given(question(one.questionId), one).join(", ")]),
      );
    }
    case "approval":
      return record(response.action === "approve" ? (response.editedInput ?? request.input) : request.input);
  }
}

/** The ask's own words for what was decided: `Deploy {{version}} to {{place}}`. */
export function summary({ request, response }: Pick<Ask, "request" | "response">): string | null {
  const template = request.completedView?.summaryTemplate;
  if (!template || !response) return null;
  const values: Record<string, unknown> = { action: DID[response.action], ...named(request, response) };
  return visible(
    template.replace(/\{\{([^{}]+)\}\}/g, (whole, id: string) =>
      Object.hasOwn(values, id) ? plain(values[id]) : whole,
    ),
  );
}

/** What becomes of an answer that comes too late. */
export function lateHint({ origin }: InteractionRequest): string {
  return origin === "caller"
    ? "It is too late to settle this: what you send is kept for the program that asked."
    : "It is too late to settle this, but the session goes on: what you send reaches the agent as a message.";
}

/** The button that sends it. */
export const sendLate = ({ origin }: InteractionRequest) => (origin === "caller" ? "Send late" : "Send as a message");

/** What became of it. */
export function sentLate({ origin }: InteractionRequest): string {
  return origin === "caller"
    ? "It was too late to settle this. Your answer is kept for the program that asked."
    : "It was too late to settle this. Your answer goes to the agent as a message.";
}

/** How an ask ended, as one line. */
export function receipt(ask: Ask): string {
  if (ask.state === "closed") return closed(ask);
  const { response, respondedAt } = ask;
  const parts = [deed(ask), response && decider(response), respondedAt && clock(respondedAt), delivery(ask)];
  if (ask.ranOtherThanApproved) {
    const ran =
      ask.ran === undefined || ask.ran === null
        ? ""
        : `: ${brief(shellLine(ask.request.toolName, ask.ran) ?? plain(ask.ran))}`;
    parts.push(`RAN OTHER THAN APPROVED${ran}`);
  }
  return parts.filter(Boolean).join(", ");
}

/** Why an ask closed without a decision. */
function closed(ask: Ask): string {
  if (ask.state !== "closed") return "";
  const nothing = ask.request.kind === "approval" ? ", not run" : "";
  switch (ask.closing) {
    case "answered_late":
      return "Answered late, sent to the agent as a message";
    case "withdrawn":
      return `Withdrawn by the program${nothing}`;
    case "cancelled":
      if (ask.inTerminal) {
        const { answer, knownBy } = ask.inTerminal;
        const words = IN_TERMINAL[answer];
        return `${words[0]?.toUpperCase()}${words.slice(1)}: ${KNOWN_BY[knownBy]}`;
      }
      return ask.closedBy
        ? `Cancelled: ${visible(ask.closedBy)} stopped it${nothing}`
        : `Cancelled: its turn was stopped, or the agent took it back${nothing}`;
    case "expired": {
      const { deadline, hold } = ask.request;
      const end = deadline
        ? Date.parse(deadline) - Date.parse(ask.openedAt)
        : hold.then === "deny"
          ? hold.afterMs
          : null;
      return `Nobody answered${end === null ? " in time" : ` in ${span(end)}`}${nothing}`;
    }
  }
}

/** What happens if nobody answers. */
export function holdWords(ask: Ask, now: number): string {
  const { hold, deadline, canPark, kind } = ask.request;
  const safe = kind === "approval" ? "Nothing runs." : "Nothing is chosen for you.";
  const left = (end: number) => (end - now > 1000 ? `in ${span(end - now)}` : "any moment");
  const closes = deadline ? ` Closes ${left(Date.parse(deadline))}.` : "";
  if (ask.parked || ask.state === "queued") return `It waits for your answer. ${safe}${closes}`;
  if (ask.request.origin === "attached") return `It waits here and in its terminal: the first answer counts.${closes}`;
  const at = left(Date.parse(ask.openedAt) + hold.afterMs);
  switch (hold.then) {
    case "deny":
      return `No answer: agent is told ${at} that nobody answered. ${safe}`;
    case "defer":
      return `No answer: agent goes on ${at} without it, you can answer later. ${safe}${closes}`;
    case "park":
      if (canPark) return `No answer: parks ${at}. ${safe}${closes}`;
      break;
    case "wait":
      break;
  }
  return `No answer: it keeps waiting. ${safe}${closes}`;
}

/** That something happens without an answer within the minute. */
export function holdSoon(ask: Ask, now: number): string | null {
  const { hold, deadline, canPark } = ask.request;
  if (ask.parked || ask.state !== "open") return null;
  const ends: [string, number][] = [];
  if (hold.then === "deny") ends.push(["ends", Date.parse(ask.openedAt) + hold.afterMs]);
  if (hold.then === "park" && canPark) ends.push(["parks", Date.parse(ask.openedAt) + hold.afterMs]);
  if (deadline) ends.push(["closes", Date.parse(deadline)]);
  const [word, end] = ends.sort((one, other) => one[1] - other[1])[0] ?? ["", Number.POSITIVE_INFINITY];
  return end - now < 60_000 ? `${word} in ${span(end - now)}` : null;
}

/** For the one who came second. */
export function lost(winner: Winner, me: string | undefined, clickedAt: number): string {
  const did = DID[winner.action] ?? "settled";
  if (winner.by === "person" && winner.name === me) {
    return `You ${did} this already, ${SURFACE[winner.surface] ?? "elsewhere"}, at ${clock(winner.at)}. Your text is kept.`;
  }
  const who = winner.by === "person" ? visible(winner.name) : decider(winner);
  const before = clickedAt - Date.parse(winner.at);
  const when = before >= 1000 ? `${span(before)} before you` : "just before you";
  return `${who[0]?.toUpperCase()}${who.slice(1)} ${did} this ${when}. Your text is kept.`;
}

/** The rules an approval would save, literally, one a line. */
export function ruleWords(rule: Rule): string {
  switch (rule.rule) {
    case "exact_input":
      return `${visible(rule.toolName)} with exactly this input`;
    case "key":
      return `${visible(rule.toolName)}: ${visible(rule.key)}`;
    case "lines":
      return rule.lines.map(visible).join("\n");
  }
}

/** What is sent to have exactly this offer saved. */
export const linesOf = (rule: Rule): string[] => (rule.rule === "lines" ? rule.lines : []);

/** What a risky part does: `it deletes`. */
const DOES: Record<Risk, string> = {
  deletes: "deletes",
  destroys: "destroys",
  forces: "overrides a check",
  rewrites: "rewrites what others may have",
  pipes_to_shell: "runs what another command prints",
  writes_outside: "writes outside the folder",
  runs_code: "runs code",
  sends: "sends or publishes",
  changes_machine: "changes the machine",
  credentials: "names credentials",
  listed: "has a word you listed",
  other: "has a risk that this page does not know",
};

/** The same, also for a risk of a newer gateway. */
export const does = (risk: Risk): string => DOES[risk] ?? DOES.other;

/** Whose rule it is. */
export const LAYER: Record<Layer, string> = {
  built_in: "built in",
  organisation: "your organisation's",
  person: "yours",
  project: "the project's",
  session: "this session's",
};

export const EFFECT: Record<Effect, string> = { allow: "allows", ask: "asks", deny: "denies" };

export const LIFETIME: Record<Scope, string> = {
  once: "for this one time",
  session: "until this session ends",
  hour: "for an hour",
  always: "until you revoke it",
};

export const AGENT: Record<AgentState, string> = {
  idle: "idle",
  running: "working",
  waiting: "waits for you",
  parking: "parking",
  parked: "parked",
  detached: "stopped",
  ended: "ended",
};

/** What was decided about a call without asking, and by what. */
export function decisionWords({ told, verdict, ...by }: CallDecision): string {
  const did = told === "denied" ? "Denied" : "Allowed";
  switch (by.by) {
    case "rules": {
      const rules = new Set(verdict.parts.flatMap((part) => (part.rule ? [visible(part.rule.text)] : [])));
      return `${did} by ${rules.size > 1 ? "rules" : "rule"}: ${[...rules].join("; ")}`;
    }
    case "grant":
      return `${did}: you approved this very input before`;
    case "mode":
      return `${did} by permission mode ${by.mode}`;
    case "agents_own":
      return `${did}: the agent's own business`;
  }
}
