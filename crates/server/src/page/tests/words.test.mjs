import assert from "node:assert/strict";
import test from "node:test";
import * as words from "../words.js";

const opened = "2026-01-31T14:00:00Z";
const now = Date.parse("2026-01-31T14:04:00Z");
const approval = (more = {}) => ({
  kind: "approval", toolName: "Bash", input: { command: "rm -rf dist\nnpm run build" }, offeredScopes: [], origin: "agent",
  hold: { afterMs: 600_000, then: "park" }, canPark: true, ...more,
});
const ask = (more = {}) => ({ agent: "scripted", state: "open", openedAt: opened, parked: false, request: approval(), ...more });
const ana = { by: "person", name: "Ana", surface: "web" };

test("a headline says what is asked", () => {
  assert.equal(words.headline(approval(), { row: true }), "Run rm -rf dist ⏎ npm run build");
  assert.equal(words.headline(approval()), "Run a command");
  const edit = approval({ toolName: "Edit", input: { file_path: "src/auth.rs" }, preview: "--- a\n+++ b\n+x\n+y\n-z" });
  assert.equal(words.headline(edit), "Edit src/auth.rs  +2 −1");
  assert.equal(words.headline(approval({ toolName: "Deploy", input: { to: "live\u202E" } }), { row: true }), "Use Deploy: live⟨U+202E⟩");
  assert.equal(words.headline({ kind: "question", questions: [{ header: "Store", question: "Which store?" }] }), "Which store?");
  const two = { kind: "question", questions: [{ header: "Store" }, { header: "Deploy" }] };
  assert.equal(words.headline(two, { row: true }), "2 questions: Store, Deploy");
  assert.equal(words.headline({ kind: "form", form: { fields: [{}] } }), "Fill in 1 field");
});

test("a receipt says who, and how far it has come", () => {
  const settled = ask({ state: "settled", settlement: "approved", response: { ...ana, action: "approve", scope: "once" } });
  const at = (delivery) => words.receipt({ ...settled, delivery: { delivery } });
  assert.equal(at("accepted"), "✓ Approved once, Ana in the browser, saved, not sent yet");
  assert.equal(at("delivered"), "✓ Approved once, Ana in the browser, sent, not confirmed");
  assert.equal(at("acknowledged"), "✓ Approved once, Ana in the browser, agent has it");
  assert.match(at("unknown"), /may or may not have acted/);
  assert.match(words.receipt({ ...settled, respondedAt: "2026-01-31T14:02:00Z" }), /, \d\d:02$/);
});

test("refusals, answers and ends have their own words", () => {
  const denied = ask({ state: "settled", settlement: "denied", response: { ...ana, action: "deny", reason: "use pnpm" } });
  assert.equal(words.receipt(denied), "✕ Denied: “use pnpm”, Ana in the browser");
  const question = { ...approval(), kind: "question", questions: [{ id: "s", header: "Store" }, { id: "k", header: "Key", secret: true }] };
  const answered = ask({ state: "settled", settlement: "answered", request: question,
    response: { ...ana, action: "answer", answers: [{ questionId: "s", labels: ["SQLite"] }, { questionId: "k", other: "hush" }] } });
  assert.equal(words.receipt(answered), "✓ Answered Store: SQLite; Key: ••••, Ana in the browser");
  const expired = ask({ state: "closed", closing: "expired", request: approval({ deadline: "2026-01-31T14:10:00Z" }) });
  assert.equal(words.receipt(expired), "◷ Nobody answered in 10 min, not run");
  assert.match(words.receipt(ask({ state: "closed", closing: "cancelled" })), /^◷ Cancelled: .*not run$/);
});

test("silence is spelled out", () => {
  assert.equal(words.holdWords(ask(), now), "No answer: parks in 6 min. Nothing runs.");
  assert.equal(words.holdWords(ask({ request: approval({ canPark: false }) }), now), "No answer: it keeps waiting. Nothing runs.");
  const deny = ask({ request: approval({ hold: { afterMs: 600_000, then: "deny" } }) });
  assert.equal(words.holdWords(deny, now), "No answer: agent is told in 6 min that nobody answered. Nothing runs.");
  assert.match(words.holdWords(ask({ parked: true }), now), /^It waits for your answer\./);
});

test("the loser is told who was first", () => {
  const winner = { ...ana, action: "deny", at: "2026-01-31T14:03:57Z" };
  assert.equal(words.lost(winner, "Ben", now), "Ana denied this 3 s before you. Your text is kept.");
  assert.match(words.lost(winner, "Ana", now), /^You denied this already, in the browser, at \d\d:03\./);
  assert.match(words.lost({ by: "rule", name: "no-rm", action: "deny", at: opened }, "Ben", now), /^Rule no-rm denied this 4 min before you\./);
});

test("an empty inbox counts who is working", () => {
  assert.equal(words.nothing([{ state: "running" }, { state: "idle" }]), "Nothing waits for you. 1 agent is working.");
  assert.equal(words.nothing([]), "Nothing waits for you. No agent is working.");
});

test("a remembered rule is literal", () => {
  const { rule, until } = words.ruleWords({ scope: "session", rule: "exact_input", toolName: "Bash", inputDigest: "x" });
  assert.equal(`${rule}, ${until}`, "Bash with exactly this input, until this session ends");
});
