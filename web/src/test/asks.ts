// Asks for tests and for the gallery.

import type { Form, Interaction, InteractionRequest, Question } from "../api/generated";

type Approval = Extract<InteractionRequest, { kind: "approval" }>;
type Common = Omit<InteractionRequest, "kind">;

const common: Common = {
  interactionId: "int_1",
  promptId: "prm_1",
  attempt: 1,
  origin: "agent",
  turnId: "trn_1",
  toolCallId: null,
  toolName: "Bash",
  input: null,
  inputDigest: "d1",
  hold: { afterMs: 600_000, then: "park" },
  canPark: true,
  capabilities: { reason: true, editInput: true, scopes: true },
};

export const approvalRequest = (change: Partial<Approval>): Approval => ({
  ...common,
  kind: "approval",
  input: { command: "rm -rf dist && npm run build" },
  offeredScopes: [
    { scope: "once", rule: "exact_input", toolName: "Bash", inputDigest: "d1" },
    { scope: "session", rule: "exact_input", toolName: "Bash", inputDigest: "d1" },
  ],
  agentSays: "Cleans the build folder",
  decisionReason: "no rule covers rm",
  ...change,
});

export const STORE: Question = {
  id: "store",
  header: "Store",
  question: "Where do the orders go?",
  options: [
    { label: "SQLite", description: "one file, no server" },
    { label: "PostgreSQL", description: "for a team" },
  ],
  multiSelect: false,
  allowOther: true,
};

export const questionRequest = (questions: Question[] = [STORE], change: Partial<Common> = {}): InteractionRequest => ({
  ...common,
  kind: "question",
  questions,
  toolName: "AskUserQuestion",
  ...change,
});

export const formRequest = (form: Form, change: Partial<Common> = {}): InteractionRequest => ({
  ...common,
  kind: "form",
  form,
  toolName: "release",
  ...change,
});

type State = Pick<Interaction, "state"> & Partial<Interaction>;

/** An ask in a state; open unless said otherwise. */
export const ask = (request: InteractionRequest, state: State = { state: "open" }): Interaction =>
  ({
    sessionId: "ses_1",
    sessionTitle: "shop-api",
    agent: "scripted",
    seq: 1,
    openedAt: new Date(Date.now() - 240_000).toISOString(),
    parked: false,
    request,
    ...state,
  }) as Interaction;
