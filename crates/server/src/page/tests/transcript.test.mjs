import assert from "node:assert/strict";
import test from "node:test";
import { apply, emptyTranscript } from "../transcript.js";

/** Events in order, numbered from 1. */
function folded(...events) {
  const transcript = emptyTranscript();
  events.forEach(([type, data], at) => apply(transcript, { seq: at + 1, at: `t${at + 1}`, type, data }));
  return transcript;
}
const text = (messageId, words) => ["text_delta", { messageId, text: words }];

test("deltas of one message are joined until something comes between", () => {
  const { items } = folded(text("m1", "Hel"), text("m1", "lo"), text("m2", "Next"),
    ["thinking_delta", { messageId: "m2", text: "hm" }], text("m2", "again"));
  assert.deepEqual(items.map((item) => [item.kind, item.text]), [["text", "Hello"], ["text", "Next"], ["thinking", "hm"], ["text", "again"]]);
});

test("a complete input replaces streamed argument text", () => {
  const call = { toolCallId: "c1" };
  const streamed = folded(["tool_call_start", { ...call, toolName: "Bash" }], ["tool_call_delta", { ...call, text: '{"com' }], ["tool_call_delta", { ...call, text: 'mand"' }]);
  assert.equal(streamed.items[0].streamed, '{"command"');
  const whole = folded(["tool_call_start", { ...call, toolName: "Bash" }], ["tool_call_delta", { ...call, text: '{"com' }],
    ["tool_call_end", { ...call, input: { command: "ls" } }], ["tool_result", { ...call, output: "a", isError: true }]);
  assert.deepEqual(whole.items, [{ kind: "tool", name: "Bash", parents: undefined, streamed: "", input: { command: "ls" }, output: "a", isError: true }]);
});

test("an event seen before changes nothing", () => {
  const transcript = folded(text("m1", "a"));
  assert.deepEqual(apply(transcript, { seq: 1, type: "text_delta", data: { messageId: "m1", text: "a" } }), []);
  assert.equal(transcript.items[0].text, "a");
});

test("an ask stays at its place from request to receipt", () => {
  const ask = { interactionId: "int_1", promptId: "p1" };
  const transcript = folded(["interaction_request", ask], text("m1", "later"),
    ["interaction_response", { ...ask, by: "person", name: "Ana", action: "approve", settlement: "approved" }],
    ["interaction_update", { ...ask, change: "delivery", delivery: "acknowledged" }]);
  assert.equal(transcript.items.length, 2);
  const [{ ask: seen }] = transcript.items;
  assert.deepEqual([seen.state, seen.settlement, seen.delivery.delivery, seen.openedAt, seen.respondedAt], ["settled", "approved", "acknowledged", "t1", "t3"]);
});

test("asking again opens the same ask with a new prompt", () => {
  const transcript = folded(["interaction_request", { interactionId: "int_1", promptId: "p1", attempt: 1 }],
    ["interaction_response", { interactionId: "int_1", promptId: "p1" }],
    ["interaction_request", { interactionId: "int_1", promptId: "p2", attempt: 2 }]);
  assert.equal(transcript.items.length, 1);
  assert.deepEqual([transcript.items[0].ask.state, transcript.items[0].ask.request.promptId, transcript.items[0].ask.response], ["open", "p2", undefined]);
});

test("a late answer to a queued ask closes it and reads as a message", () => {
  const ask = { interactionId: "int_1", promptId: "p1" };
  const { items } = folded(["interaction_request", ask], ["interaction_update", { ...ask, change: "queued", message: "" }],
    ["late_answer", { ...ask, name: "Ana", text: "> Which?\nSQLite" }]);
  assert.equal(items[0].ask.closing, "answered_late");
  assert.equal(items[1].from, "Ana");
});

test("the agent's state is the last one told", () => {
  const transcript = folded(["session_status", { agent: "running" }], ["session_status", { agent: "parked" }]);
  assert.equal(transcript.agent, "parked");
  assert.match(transcript.items[0].text, /^Parked/);
});
