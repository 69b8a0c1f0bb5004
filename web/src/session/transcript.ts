// A session's events, folded into what is read. Pure: the same events give the same transcript.

import type {
  AgentState,
  CallDecision,
  Event,
  InteractionRequest,
  InteractionUpdate,
  LeftOut,
  PermissionMode,
  Usage,
} from "../api/generated";
import { ruleWords } from "../interactions/words";
import { type Ask, isOpen } from "./ask";

interface Common {
  /** The event that began it: its name for as long as the session lives. */
  key: number;
  /** When it began. */
  at: string;
}

export type Item = Common &
  (
    | { kind: "user"; text: string; from: string }
    | { kind: "text" | "thinking"; messageId: string; text: string; parents: string[] }
    | ToolItem
    | { kind: "ask"; ask: Ask }
    | { kind: "error"; text: string }
    | {
        kind: "done";
        reason: "completed" | "interrupted" | "failed";
        /** Who stopped it. */
        by: string | null;
        /** When its turn began. */
        since: string | null;
        usage: Usage | null;
      }
    | { kind: "note"; text: string }
  );

export interface ToolItem {
  kind: "tool";
  toolCallId: string;
  name: string;
  parents: string[];
  /** Argument text as it arrives; it only grows, until the complete input replaces it. */
  streamed: string;
  /** Complete since then: from here on the call was decided about, and ran. */
  input?: { value: unknown; at: string };
  result?: { value: unknown; isError: boolean; at: string };
  /** What was decided about it without asking anybody. */
  decision?: CallDecision;
  /** The ask that this call waits for, where it is shown inside the tool's block. */
  ask?: Ask;
}

export interface Transcript {
  /** The last event that is in it. */
  seq: number;
  agent: AgentState;
  mode: PermissionMode;
  turnId: string | null;
  /** When the turn began that is under way. */
  turnSince: string | null;
  /** The last turn ended in an error, and nothing was said since. */
  failed: boolean;
  /** What of its folder's own files the agent's last process was started without. */
  leftOut: LeftOut | null;
  items: readonly Item[];
  /** Where a tool call or an ask stands among the items. */
  tools: ReadonlyMap<string, number>;
  asks: ReadonlyMap<string, number>;
}

export const emptyTranscript = (seq = 0): Transcript => ({
  seq,
  agent: "idle",
  mode: "default",
  turnId: null,
  turnSince: null,
  failed: false,
  leftOut: null,
  items: [],
  tools: new Map(),
  asks: new Map(),
});

/** What one batch changes: copied when first touched, so that nothing that was handed out is changed. */
interface Draft extends Omit<Transcript, "items" | "tools" | "asks"> {
  items: Item[];
  tools: Map<string, number>;
  asks: Map<string, number>;
  fresh: { tools: boolean; asks: boolean };
}

/** Folds a batch of events in. An event that was seen before changes nothing. */
export function fold(transcript: Transcript, events: readonly Event[]): Transcript {
  const news = events.filter((event) => event.seq > transcript.seq);
  if (news.length === 0) return transcript;
  const draft: Draft = {
    ...transcript,
    items: transcript.items.slice(),
    tools: transcript.tools as Map<string, number>,
    asks: transcript.asks as Map<string, number>,
    fresh: { tools: false, asks: false },
  };
  for (const event of news) {
    if (event.seq <= draft.seq) continue;
    draft.seq = event.seq;
    apply(draft, event);
  }
  const { fresh: _, ...next } = draft;
  return next;
}

function apply(draft: Draft, event: Event): void {
  const { at, seq } = event;
  switch (event.type) {
    case "session_opened":
      draft.mode = event.data.permissionMode;
      break;
    case "user_message":
      // Words that are said into a turn do not begin another.
      if (draft.turnId !== event.data.turnId) draft.turnSince = at;
      draft.turnId = event.data.turnId;
      draft.failed = false;
      add(draft, { kind: "user", key: seq, text: event.data.text, from: event.data.from, at });
      break;
    case "text_delta":
      speak(draft, "text", event.data, seq, at);
      break;
    case "thinking_delta":
      speak(draft, "thinking", event.data, seq, at);
      break;
    case "tool_call_start": {
      const { toolCallId, toolName, parents = [] } = event.data;
      index(draft, "tools", toolCallId);
      add(draft, { kind: "tool", key: seq, at, toolCallId, name: toolName, parents, streamed: "" });
      break;
    }
    case "tool_call_delta": {
      const { text } = event.data;
      onTool(draft, event.data.toolCallId, (tool) => (tool.input ? tool : { ...tool, streamed: tool.streamed + text }));
      break;
    }
    case "tool_call_end": {
      const { input, decision } = event.data;
      onTool(draft, event.data.toolCallId, (tool) => ({
        ...tool,
        input: { value: input, at },
        streamed: "",
        ...(decision && { decision }),
      }));
      break;
    }
    case "tool_result": {
      const { output, isError } = event.data;
      onTool(draft, event.data.toolCallId, (tool) => ({
        ...tool,
        result: { value: output, isError: isError === true, at },
      }));
      break;
    }
    case "interaction_request":
      request(draft, event.data, at, seq);
      break;
    case "interaction_response": {
      const response = event.data;
      onAsk(draft, response.interactionId, seq, (ask) => ({
        ...ask,
        ...(response.settlement
          ? { state: "settled", settlement: response.settlement }
          : { state: "submitted", submittedPromptId: response.promptId }),
        response,
        respondedAt: at,
      }));
      break;
    }
    case "interaction_update": {
      const change = event.data;
      onAsk(draft, change.interactionId, seq, (ask) => update(ask, change));
      break;
    }
    case "interaction_closed": {
      const { closing, by, inTerminal } = event.data;
      onAsk(draft, event.data.interactionId, seq, (ask) => ({
        ...ask,
        state: "closed",
        closing,
        closedBy: by,
        inTerminal,
      }));
      break;
    }
    // The inbox tells it; in its session the ask stays in its place.
    case "interaction_snoozed":
    case "interaction_unsnoozed":
      break;
    case "session_archived":
      add(draft, { kind: "note", key: seq, at, text: `${event.data.by} archived the session.` });
      break;
    case "session_unarchived":
      add(draft, { kind: "note", key: seq, at, text: `${event.data.by} brought the session back from the archive.` });
      break;
    case "late_answer": {
      const { interactionId, text, name } = event.data;
      onAsk(draft, interactionId, seq, (ask) =>
        ask.state === "queued" ? { ...ask, state: "closed", closing: "answered_late" } : ask,
      );
      add(draft, { kind: "user", key: seq, text, from: name, at });
      break;
    }
    case "session_status": {
      const { agent, message, pid, leftOut, by } = event.data;
      // Each start of a process says what it was started without.
      if (pid != null) draft.leftOut = leftOut ?? null;
      // The end of a session and that of its process say the same.
      const note = agent === draft.agent ? null : statusNote(agent, by ?? null, message ?? null);
      draft.agent = agent;
      if (note) add(draft, { kind: "note", key: seq, at, text: note });
      break;
    }
    case "error":
      add(draft, { kind: "error", key: seq, at, text: event.data.message });
      break;
    case "done":
      draft.turnId = null;
      draft.failed = event.data.reason === "failed";
      if (draft.agent !== "ended") draft.agent = "idle";
      add(draft, {
        kind: "done",
        key: seq,
        reason: event.data.reason,
        by: event.data.by ?? null,
        at,
        since: draft.turnSince,
        usage: event.data.usage ?? null,
      });
      draft.turnSince = null;
      break;
    case "grant_added":
      add(draft, { kind: "note", key: seq, at, text: `Remembered: ${ruleWords(event.data).replaceAll("\n", "; ")}` });
      break;
    case "variables_set": {
      const changes = Object.entries(event.data.variables).map(([name, value]) =>
        value === null ? `removed $${name}` : `set $${name} to ${String(value)}`,
      );
      add(draft, { kind: "note", key: seq, at, text: `${event.data.name} ${changes.join(", ")}.` });
      break;
    }
    case "session_initialised":
      for (const said of event.data.context ?? [])
        add(draft, {
          kind: "note",
          key: seq,
          at,
          text: `Holdstead told the agent (rule of ${said.layer}): ${said.words}`,
        });
      for (const rule of event.data.notKept ?? [])
        add(draft, {
          kind: "error",
          key: seq,
          at,
          text: `This agent cannot be kept from ending its turn: ${rule.text}`,
        });
      break;
    case "turn_end_blocked": {
      const { attempt, words } = event.data;
      add(draft, { kind: "note", key: seq, at, text: `A rule kept the turn from ending (${attempt}): ${words}` });
      break;
    }
    // They stand in an owner's own journal, which no screen follows.
    case "trust_added":
    case "trust_revoked":
    case "rules_file_changed":
      break;
    case "grant_revoked":
      if (event.data.why !== "revoked") break;
      add(draft, { kind: "note", key: seq, at, text: `${event.data.name} revoked a rule of this session.` });
      break;
    default:
      // A newer gateway may say more: what is not known is not shown, and breaks nothing.
      event satisfies never;
  }
}

/** What happened, and whose doing it was. */
function statusNote(agent: AgentState, by: string | null, why: string | null): string | null {
  const because = why ? `: ${why.trim().replace(/\.$/, "")}` : "";
  switch (agent) {
    case "parked":
      return "Parked. The answer starts it again.";
    case "detached":
      if (by) return `${by} stopped the agent${because}.`;
      return why ? `The agent stopped${because}.` : "The agent's process stopped unexpectedly.";
    case "ended":
      return `${by ? `${by} ended the session` : "The session has ended"}${because}.`;
    case "idle":
    case "running":
    case "waiting":
    case "parking":
      return null;
  }
}

function add(draft: Draft, item: Item): void {
  draft.items.push(item);
}

/** Remembers where the item that is about to be added will stand. */
function index(draft: Draft, name: "tools" | "asks", id: string, at = draft.items.length): void {
  if (!draft.fresh[name]) {
    draft[name] = new Map(draft[name]);
    draft.fresh[name] = true;
  }
  draft[name].set(id, at);
}

/** Deltas of one message are one text, until something else comes between. */
function speak(
  draft: Draft,
  kind: "text" | "thinking",
  { messageId, text, parents = [] }: { messageId: string; text: string; parents?: string[] },
  key: number,
  at: string,
): void {
  const place = draft.items.length - 1;
  const last = draft.items[place];
  if (last && last.kind === kind && last.messageId === messageId) {
    draft.items[place] = { ...last, text: last.text + text };
  } else {
    add(draft, { kind, key, at, messageId, text, parents });
  }
}

function onTool(draft: Draft, id: string, change: (tool: ToolItem & Common) => ToolItem & Common): void {
  const at = draft.tools.get(id);
  const item = at === undefined ? undefined : draft.items[at];
  if (at === undefined || item?.kind !== "tool") return;
  draft.items[at] = change(item);
}

function onAsk(draft: Draft, id: string, seq: number, change: (ask: Ask) => Ask): void {
  const at = draft.asks.get(id);
  const item = at === undefined ? undefined : draft.items[at];
  if (at === undefined || !item || !("ask" in item) || !item.ask) return;
  draft.items[at] = { ...item, ask: { ...change(item.ask), seq } };
}

/** Asking again is a new prompt at the place of the first. */
function request(draft: Draft, data: InteractionRequest, at: string, seq: number): void {
  const ask: Ask = { state: "open", request: data, openedAt: at, parked: false, seq };
  const known = draft.asks.get(data.interactionId);
  if (known !== undefined) {
    onAsk(draft, data.interactionId, seq, (before) => ({ ...ask, openedAt: before.openedAt, parked: before.parked }));
    return;
  }
  const tool = data.presentation !== "questionnaire" && data.toolCallId ? draft.tools.get(data.toolCallId) : undefined;
  const item = tool === undefined ? undefined : draft.items[tool];
  if (tool !== undefined && item?.kind === "tool" && !item.ask) {
    draft.items[tool] = { ...item, ask };
    index(draft, "asks", data.interactionId, tool);
    return;
  }
  index(draft, "asks", data.interactionId);
  add(draft, { kind: "ask", key: seq, at, ask });
}

function update(ask: Ask, change: InteractionUpdate): Ask {
  switch (change.change) {
    case "settled":
      return { ...ask, state: "settled", settlement: change.settlement, failure: change.failure };
    case "queued":
      return { ...ask, state: "queued" };
    case "delivery":
      return { ...ask, delivery: change };
    case "in_terminal":
      return { ...ask, inTerminal: change.inTerminal };
    case "rule_saved":
      return ask;
    case "ran_other_than_approved":
      return { ...ask, ranOtherThanApproved: true, ran: change.ran };
    default:
      change satisfies never;
      return ask;
  }
}

/** The ask of this name, as the events tell it. Whether it is parked is a state of the agent. */
export function askIn(transcript: Transcript, id: string): Ask | null {
  const at = transcript.asks.get(id);
  const item = at === undefined ? undefined : transcript.items[at];
  if (!item || !("ask" in item) || !item.ask) return null;
  const { ask } = item;
  const isGone = transcript.agent === "parked" || transcript.agent === "parking";
  const parked = isGone && isOpen(ask) && ask.request.origin === "agent";
  return parked === ask.parked ? ask : { ...ask, parked };
}
